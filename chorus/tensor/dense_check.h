// DenseCheck: is what the ranks hold of a product's result what the dense product says?
//
// Operands are whole numbers from -4 to 4, functions of their name and of the position in the whole
// array, so every rank can make any part of any operand for itself. Each rank works out, in f64 and
// by plain loops, the block of the dense product that it should hold:
//
//   C[I_X, K], X=2, on rank 1:   A[rows of its half, all J] . B[all J, all K]
//
// and compares. While no sum can leave the integers that the dtype holds, every element must be
// equal; beyond that the largest difference is held against the rounding of the steps.
// Thread safety: none; one rank.
#pragma once

#include <cstdint>
#include <string>

#include "chorus/base/status.h"
#include "chorus/shard/product.h"
#include "chorus/tensor/runtime.h"
#include "chorus/tensor/sharded_array.h"

namespace chorus {

// Element `global_index` (row-major) of the operand `name`: -4, -3, ..., 4.
double TrialNumber(std::string_view name, std::int64_t global_index);

// Outcome on all ranks together.
struct DenseCheck {
  std::int64_t checked = 0;   // elements compared
  std::int64_t elements = 0;  // that the ranks hold, copies counted each time
  std::int64_t wrong = 0;     // of the compared
  double largest_error = 0;
  double largest_value = 0;  // of the dense product
  double allowed = 0;        // the largest error that is right; 0: must be equal
  std::string first_wrong;   // "C[3, 5] on rank 1 is 7, want 8", of the lowest such rank

  bool right() const { return wrong == 0; }
};

// Compares `result`, which the chosen plan of `answer` has made of operands of TrialNumber. Does at
// most about `most_flops` operations a rank: where the block is larger, only indices at even
// distances along its dimensions are compared. A collective call on the runtime's ranks; the same
// outcome on all of them. Errors: those of the collectives.
Result<DenseCheck> CheckAgainstDense(Runtime& runtime, const Product& product,
                                     const ProductAnswer& answer, const DimSizes& sizes,
                                     const ShardedArray& result,
                                     Flops most_flops = Flops(std::int64_t{1} << 34));

}  // namespace chorus
