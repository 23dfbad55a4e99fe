// Copies of one block of an array along one of its dimensions: how a shard whose dimension is not
// the leading one becomes contiguous for a collective, and back.
//
//   whole  (outer, length, inner)           block (outer, count, inner), count <= length
//
//        length = 5, begin = 1, count = 2                 PackBlock
//        outer 0: | a0 a1 a2 a3 a4 |                 | a1 a2 |
//        outer 1: | b0 b1 b2 b3 b4 |     ------->    | b1 b2 |     each cell `inner` elements
//
// bytes read = bytes written = outer count inner sizeof(T). Thread safety: pure except for outputs.
#pragma once

#include <cstdint>

namespace chorus {

struct BlockShape {
  std::int64_t outer = 1;   // product of the sizes before the dimension
  std::int64_t length = 0;  // size of the dimension in `whole`
  std::int64_t inner = 1;   // product of the sizes after it
  std::int64_t begin = 0;   // first index of the block in the dimension
  std::int64_t count = 0;   // length of the block

  std::int64_t block_elements() const { return outer * count * inner; }
};

// T is float, double, or char: any elements at all, with inner counted in bytes.
// block = whole[:, begin : begin+count, :].
// REQUIRES: 0 <= begin, begin + count <= length; no overlap.
template <typename T>
void PackBlock(const BlockShape& shape, const T* whole, T* block);

// whole[:, begin : begin+count, :] = block; the rest of `whole` is untouched.
template <typename T>
void UnpackBlock(const BlockShape& shape, const T* block, T* whole);

}  // namespace chorus
