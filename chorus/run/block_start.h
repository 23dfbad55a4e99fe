// Where a block begins in a caller's buffer. Thread safety: pure.
#pragma once

#include <cstdint>

#include "chorus/run/executor.h"
#include "chorus/schedule/op.h"
#include "chorus/schedule/step.h"

namespace chorus {

// Elements before `block` in the buffer, by the layout of schedule/op.h. A rank holds one block of
// all_gather's `in` and of reduce_scatter's `out`, and all of the rest. REQUIRES: kIn or kOut.
inline std::int64_t BlockStart(OpKind op, BufferKind buffer, std::int64_t block,
                               const Binding& binding) {
  const bool is_in = buffer == BufferKind::kIn;
  const bool alone = op == (is_in ? OpKind::kAllGather : OpKind::kReduceScatter);
  return alone ? 0 : binding.block_offsets[static_cast<std::size_t>(block)];
}

}  // namespace chorus
