// Reduce: one pass over the values of several ranks.
//
//   source 0 (rank 0's)  | a0 a1 a2 ... |
//   source 1 (rank 1's)  | b0 b1 b2 ... |   ->   dst | (a0 op b0) op c0, ... |
//   source 2 (rank 2's)  | c0 c1 c2 ... |
//
// bytes read: sources x count, bytes written: count, whatever the number of sources; pairwise sums
// would read and write the destination again for each. Thread safety: pure except for dst.
#pragma once

#include <cstdint>
#include <span>

#include "chorus/base/dtype.h"
#include "chorus/base/reduce_op.h"
#include "chorus/kernel/kernel_set.h"

namespace chorus {

struct ReduceSource {
  const void* data = nullptr;  // (count)
  DType dtype = DType::kF32;
};

struct Reduction {
  ReduceOp op = ReduceOp::kSum;           // kAvg adds; the division is `divisor`
  std::span<const ReduceSource> sources;  // combined left to right: ((s0 op s1) op s2) ...
  void* dst = nullptr;                    // (count)
  DType dst_dtype = DType::kF32;
  std::int64_t count = 0;    // elements
  std::int64_t divisor = 1;  // the combined value is divided by it: truncating for integers
};

// dst[i] = (sources[0][i] op sources[1][i] op ...) / divisor, as ReduceOp defines each op.
// f16 and bf16 are combined in f32 and rounded once, when stored. One source and divisor 1 is a
// copy or a conversion. Both kernel sets give the same bits.
// REQUIRES: at least one source; divisor >= 1; all dtypes are the same, or all are f32 and one of
// f16, bf16; dst is exactly one of the sources with the same dtype, or overlaps none.
void Reduce(KernelSet set, const Reduction& reduction);

}  // namespace chorus
