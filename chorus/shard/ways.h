// Ways: every plan of a product as a program, with what it sends, computes, holds and takes.
//
// Numbers are those of rank 0, whose blocks are the largest, and of the busiest rank where blocks
// change ranks (MostSent): bytes as the runtime counts them, peak as its allocator does. Thread
// safety: pure.
#pragma once

#include <optional>
#include <vector>

#include "chorus/shard/plan_time.h"
#include "chorus/shard/product.h"

namespace chorus {

struct ProductWay {
  ChainPlan plan;
  StepProgram program;
  Bytes sent;
  Flops flops;
  Bytes peak;
  std::optional<PlanTime> time;  // on a machine
};

// The ways of `plans`, best first: by time one after another on a machine, else as `plans` are
// ordered; what is alike in that by bytes sent. Errors: as TimeOf; no way within the memory, with
// the least that would do.
Result<std::vector<ProductWay>> WaysOf(const Product& product, const std::vector<ChainPlan>& plans,
                                       const Mesh& mesh, const DimSizes& sizes, DType dtype,
                                       const WayLimits& limits);

}  // namespace chorus
