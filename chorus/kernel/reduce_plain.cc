#include "chorus/kernel/reduce_plain.h"

#include <algorithm>
#include <cstddef>

#include "chorus/kernel/convert.h"
#include "chorus/kernel/reduce_dispatch.h"

namespace chorus {
namespace {

// Bytes of accumulators that the user's function is given at most; two tiles stay in the
// first-level cache.
constexpr std::int64_t kTileBytes = 8192;

// Elements of a source as accumulators: where they lie if they are that already, else in `tile`.
const void* AsAccumulators(KernelSet set, const ReduceSource& source, std::int64_t begin,
                           std::int64_t count, DType accumulator, std::byte* tile) {
  const auto* data = static_cast<const std::byte*>(source.data) + begin * SizeOf(source.dtype);
  if (source.dtype == DType::kBool) {
    for (std::int64_t i = 0; i < count; ++i) tile[i] = std::byte{data[i] != std::byte{0}};
    return tile;
  }
  if (source.dtype == accumulator) return data;
  Convert(set, data, source.dtype, tile, accumulator, count);
  return tile;
}

}  // namespace

void ReducePlain(const ReduceArgs& r) {
  DispatchReduce(r, [](auto op, auto format, const ReduceArgs& same) {
    reduce_scalar::OneByOne<decltype(op), decltype(format)>(same, 0, same.count);
  });
}

void ReduceByUser(KernelSet set, const ReduceArgs& r) {
  alignas(64) std::byte left[kTileBytes];
  alignas(64) std::byte right[kTileBytes];
  const DType accumulator = AccumulatorOf(ElementOf(r));
  const std::int64_t tile = kTileBytes / SizeOf(accumulator);
  for (std::int64_t begin = 0; begin < r.count; begin += tile) {
    const std::int64_t count = std::min(tile, r.count - begin);
    const void* first = AsAccumulators(set, r.sources[0], begin, count, accumulator, left);
    if (first != left) Convert(set, first, accumulator, left, accumulator, count);
    for (const ReduceSource& source : r.sources.subspan(1)) {
      const void* next = AsAccumulators(set, source, begin, count, accumulator, right);
      r.user->combine(left, next, count, accumulator);
    }
    for (void* dst : r.dsts) {
      auto* place = static_cast<std::byte*>(dst) + begin * SizeOf(r.dst_dtype);
      Convert(set, left, accumulator, place, r.dst_dtype, count);
    }
  }
}

}  // namespace chorus
