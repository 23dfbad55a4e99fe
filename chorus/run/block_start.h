// Where a block begins in a caller's buffer, in elements. Thread safety: pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chorus/base/op_kind.h"
#include "chorus/run/executor.h"
#include "chorus/schedule/step.h"

namespace chorus {

// In a buffer of this rank. REQUIRES: kIn or kOut; the rank holds the block there.
inline std::int64_t BlockStart(BufferKind buffer, std::int64_t block, const Binding& binding) {
  const auto b = static_cast<std::size_t>(block);
  return buffer == BufferKind::kIn ? binding.in_offsets[b] : binding.out_offsets[b];
}

// In a buffer of whichever rank holds it, where every rank knows all counts. Blocks of all_to_all
// lie in the order of the rank at the other end; all others lie as they do here.
inline std::int64_t BlockStartAnywhere(OpKind op, std::int64_t group_size, BufferKind buffer,
                                       std::int64_t block, const Binding& binding) {
  if (op != OpKind::kAllToAll) return BlockStart(buffer, block, binding);
  const std::int64_t other = buffer == BufferKind::kIn ? block % group_size : block / group_size;
  return other * binding.block_elements[static_cast<std::size_t>(block)];
}

}  // namespace chorus
