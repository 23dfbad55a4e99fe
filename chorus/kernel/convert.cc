#include "chorus/kernel/convert.h"

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

void ConvertVectors(const void* x, DType from, void* y, DType to, std::int64_t count) {
  WithFormat(from, [&](auto in) {
    WithFormat(to, [&](auto out) {
      using In = decltype(in);
      using Out = decltype(out);
      const auto* source = static_cast<const typename In::Element*>(x);
      auto* target = static_cast<typename Out::Element*>(y);
      const auto lanes = static_cast<std::int64_t>(hn::Lanes(F32Tag()));
      std::int64_t i = 0;
      for (; i + lanes <= count; i += lanes) Out::Store(In::Load(source + i), target + i);
      for (; i < count; ++i) Out::StoreOne(In::LoadOne(source + i), target + i);
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace chorus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace chorus {
namespace {

HWY_EXPORT(ConvertVectors);

float LoadOne(const void* x, DType dtype, std::int64_t i) {
  if (dtype == DType::kF16) return FloatFromF16(static_cast<const std::uint16_t*>(x)[i]);
  if (dtype == DType::kBF16) return FloatFromBF16(static_cast<const std::uint16_t*>(x)[i]);
  return static_cast<const float*>(x)[i];
}

void StoreOne(float value, void* y, DType dtype, std::int64_t i) {
  if (dtype == DType::kF16) {
    static_cast<std::uint16_t*>(y)[i] = F16FromFloat(value);
  } else if (dtype == DType::kBF16) {
    static_cast<std::uint16_t*>(y)[i] = BF16FromFloat(value);
  } else {
    static_cast<float*>(y)[i] = value;
  }
}

}  // namespace

void Convert(KernelSet set, const void* x, DType from, void* y, DType to, std::int64_t count) {
  if (from == to) {
    if (count > 0 && x != y) std::memmove(y, x, static_cast<std::size_t>(count * SizeOf(from)));
  } else if (set == KernelSet::kFast) {
    HWY_DYNAMIC_DISPATCH(ConvertVectors)(x, from, y, to, count);
  } else {
    for (std::int64_t i = 0; i < count; ++i) StoreOne(LoadOne(x, from, i), y, to, i);
  }
}

}  // namespace chorus

#endif  // HWY_ONCE
