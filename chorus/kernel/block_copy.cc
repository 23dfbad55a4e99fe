#include "chorus/kernel/block_copy.h"

#include <algorithm>

namespace chorus {

template <typename T>
void PackBlock(const BlockShape& shape, const T* whole, T* block) {
  const std::int64_t run = shape.count * shape.inner;
  const std::int64_t stride = shape.length * shape.inner;
  const T* from = whole + shape.begin * shape.inner;
  for (std::int64_t o = 0; o < shape.outer; ++o)
    std::copy_n(from + o * stride, run, block + o * run);
}

template <typename T>
void UnpackBlock(const BlockShape& shape, const T* block, T* whole) {
  const std::int64_t run = shape.count * shape.inner;
  const std::int64_t stride = shape.length * shape.inner;
  T* to = whole + shape.begin * shape.inner;
  for (std::int64_t o = 0; o < shape.outer; ++o) std::copy_n(block + o * run, run, to + o * stride);
}

template void PackBlock(const BlockShape&, const float*, float*);
template void PackBlock(const BlockShape&, const double*, double*);
template void PackBlock(const BlockShape&, const char*, char*);
template void UnpackBlock(const BlockShape&, const float*, float*);
template void UnpackBlock(const BlockShape&, const double*, double*);
template void UnpackBlock(const BlockShape&, const char*, char*);

}  // namespace chorus
