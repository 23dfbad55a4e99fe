// Reduce: one pass over the values of several ranks, and Copy, the same with one rank.
//
//   source 0 (rank 0's)  | a0 a1 a2 ... |
//   source 1 (rank 1's)  | b0 b1 b2 ... |   ->   dsts | (a0 op b0) op c0, ... |
//   source 2 (rank 2's)  | c0 c1 c2 ... |
//
// bytes read: sources x count, bytes written: dsts x count, whatever the number of sources;
// pairwise sums would read and write the destination again for each. Thread safety: pure except for
// dsts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "chorus/base/dtype.h"
#include "chorus/base/reduce_op.h"
#include "chorus/base/reduction.h"
#include "chorus/kernel/kernel_set.h"

namespace chorus {

struct ReduceSource {
  const void* data = nullptr;  // (count)
  DType dtype = DType::kF32;
  bool scaled = false;  // of kPremulSum: multiplied by the factor first
};

struct ReduceArgs {
  ReduceOp op = ReduceOp::kSum;           // kAvg adds; the division is `divisor`
  std::span<const ReduceSource> sources;  // combined left to right: ((s0 op s1) op s2) ...
  std::span<void* const> dsts;            // each (count); all are given the same bits
  DType dst_dtype = DType::kF32;
  std::int64_t count = 0;    // elements
  std::int64_t divisor = 1;  // the combined value is divided by it: truncating for integers
  // Stores to the last so many dsts go past the caches: right where the results together are larger
  // than the last-level cache or are next read by another core. Ignored where those dsts lie
  // differently in their lines.
  std::size_t streamed = 0;
  double factor = 1;                    // of kPremulSum; rounded to the accumulator's dtype
  const UserReduction* user = nullptr;  // of kUser
};

// dst[i] = (sources[0][i] op sources[1][i] op ...) / divisor for each dst, as ReduceOp defines each
// op. f16, bf16 and f8 are combined in f32 and rounded once, when stored. One source and divisor 1
// is a copy or a conversion. Both kernel sets give the same bits. When it returns, streamed stores
// are ordered before all later stores of this thread.
// REQUIRES: at least one source and one dst; divisor >= 1; Supports(op, dtype); all dtypes are the
// same, or all are f32 and one of f16, bf16, f8e4m3, f8e5m2; each dst is exactly one of the sources
// with the same dtype, or overlaps none.
void Reduce(KernelSet set, const ReduceArgs& args);

// `bytes` of src to each dst, in one pass; the last `streamed` dsts as above. REQUIRES: at least
// one dst; none overlaps src.
void Copy(std::span<void* const> dsts, const void* src, std::int64_t bytes, std::size_t streamed);

}  // namespace chorus
