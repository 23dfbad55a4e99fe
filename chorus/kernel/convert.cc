#include "chorus/kernel/convert.h"

#include <cstring>

#include "chorus/kernel/small_float.h"
#include "chorus/kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "chorus/kernel/convert.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After it:
#include "chorus/kernel/convert-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace chorus {
namespace HWY_NAMESPACE {

// Returns how many elements were converted: all but what does not fill four vectors.
template <typename Format>
std::int64_t ConvertFours(const void* x, DType from, void* y, DType to, std::int64_t count) {
  const auto step = static_cast<std::int64_t>(4 * hn::Lanes(F32Tag()));
  std::int64_t i = 0;
  for (; i + step <= count; i += step) {
    Format::Store(Format::Load(x, i, from), y, i, to, /*streams=*/false);
  }
  return i;
}

std::int64_t ConvertVectors(const void* x, DType from, void* y, DType to, std::int64_t count) {
  switch (from == DType::kF32 ? to : from) {
    case DType::kF16:
      return ConvertFours<NarrowFormat<F16Vectors>>(x, from, y, to, count);
    case DType::kBF16:
      return ConvertFours<NarrowFormat<BF16Vectors>>(x, from, y, to, count);
    case DType::kF8E4M3:
      return ConvertFours<NarrowFormat<SmallVectors<F8E4M3Layout>>>(x, from, y, to, count);
    case DType::kF8E5M2:
      return ConvertFours<NarrowFormat<SmallVectors<F8E5M2Layout>>>(x, from, y, to, count);
    default:
      return 0;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chorus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace chorus {
namespace {

HWY_EXPORT(ConvertVectors);

template <typename Narrow>
void ConvertOneByOne(const void* x, DType from, void* y, std::int64_t begin, std::int64_t count) {
  using Element = typename Narrow::Element;
  if (from == DType::kF32) {
    for (std::int64_t i = begin; i < count; ++i) {
      static_cast<Element*>(y)[i] = Narrow::Narrow(static_cast<const float*>(x)[i]);
    }
  } else {
    for (std::int64_t i = begin; i < count; ++i) {
      static_cast<float*>(y)[i] = Narrow::Widen(static_cast<const Element*>(x)[i]);
    }
  }
}

}  // namespace

void Convert(KernelSet set, const void* x, DType from, void* y, DType to, std::int64_t count) {
  if (from == to) {
    if (count > 0 && x != y) std::memmove(y, x, static_cast<std::size_t>(count * SizeOf(from)));
    return;
  }
  std::int64_t begin = 0;
  if (set == KernelSet::kFast) begin = HWY_DYNAMIC_DISPATCH(ConvertVectors)(x, from, y, to, count);
  switch (from == DType::kF32 ? to : from) {
    case DType::kF16:
      return ConvertOneByOne<F16>(x, from, y, begin, count);
    case DType::kBF16:
      return ConvertOneByOne<BF16>(x, from, y, begin, count);
    case DType::kF8E4M3:
      return ConvertOneByOne<F8E4M3>(x, from, y, begin, count);
    case DType::kF8E5M2:
      return ConvertOneByOne<F8E5M2>(x, from, y, begin, count);
    default:
      return;
  }
}

}  // namespace chorus

#endif  // HWY_ONCE
