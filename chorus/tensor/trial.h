// Trial: a planned product carried out on ranks, timed, counted, and compared with the dense one.
//
// What `chorus explain --run` does on each rank. Thread safety: none; one rank.
#pragma once

#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/shard/product.h"
#include "chorus/tensor/dense_check.h"
#include "chorus/tensor/rank_report.h"
#include "chorus/tensor/runtime.h"

namespace chorus {

// The same on every rank.
struct Trial {
  // Medians over the runs; of each run the time of its slowest rank.
  Seconds total;
  std::vector<Seconds> op_times;  // one an operation of the program; waiting included
  std::vector<RankReport> ranks;
  DenseCheck check;  // of the last run

  // The result is that of the dense product, and every rank did in every run what was predicted.
  bool right() const;
};

// Runs answer.program `runs` times, after one run that is not timed, each begun by all ranks
// together. The operands hold whole numbers (TrialNumber); one that is a sum to be done is taken
// apart into addends that differ from rank to rank. A collective call.
// REQUIRES: runs >= 1. Errors: those of Executable::Load and Run.
Result<Trial> TryProduct(Runtime& runtime, const Product& product, const ProductAnswer& answer,
                         const DimSizes& sizes, DType dtype, int runs);

}  // namespace chorus
