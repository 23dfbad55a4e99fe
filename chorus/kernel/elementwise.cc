#include "chorus/kernel/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "chorus/kernel/elementwise.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace chorus {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Float = hn::ScalableTag<float>;

// Applies `vector` to whole vectors of x and y and `scalar` to what is left: out[i] = f(x[i],
// y[i]).
template <typename Vector, typename Scalar>
void Map(const float* x, const float* y, float* out, std::int64_t n, Vector vector, Scalar scalar) {
  const Float d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(vector(hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, out + i);
  }
  for (; i < n; ++i) out[i] = scalar(x[i], y[i]);
}

void AddF32(const float* a, const float* b, float* out, std::int64_t n) {
  Map(
      a, b, out, n, [](auto x, auto y) { return hn::Add(x, y); },
      [](float x, float y) { return x + y; });
}

void AxpyF32(float factor, const float* x, float* y, std::int64_t n) {
  const auto wide = hn::Set(Float(), factor);
  Map(
      x, y, y, n, [wide](auto a, auto b) { return hn::MulAdd(wide, a, b); },
      [factor](float a, float b) { return b + factor * a; });
}

void ScaleF32(float factor, const float* x, float* out, std::int64_t n) {
  const auto wide = hn::Set(Float(), factor);
  Map(
      x, x, out, n, [wide](auto a, auto) { return hn::Mul(wide, a); },
      [factor](float a, float) { return factor * a; });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace chorus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chorus {

HWY_EXPORT(AddF32);
HWY_EXPORT(AxpyF32);
HWY_EXPORT(ScaleF32);

template <typename T>
void AddTo(KernelSet set, const T* a, const T* b, T* out, std::int64_t n) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (set == KernelSet::kFast) return HWY_DYNAMIC_DISPATCH(AddF32)(a, b, out, n);
  }
  for (std::int64_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

template <typename T>
void Add(KernelSet set, const T* x, T* y, std::int64_t n) {
  AddTo(set, y, x, y, n);
}

template <typename T>
void Axpy(KernelSet set, T factor, const T* x, T* y, std::int64_t n) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (set == KernelSet::kFast) return HWY_DYNAMIC_DISPATCH(AxpyF32)(factor, x, y, n);
  }
  for (std::int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

template <typename T>
void Scale(KernelSet set, T factor, const T* x, T* out, std::int64_t n) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (set == KernelSet::kFast) return HWY_DYNAMIC_DISPATCH(ScaleF32)(factor, x, out, n);
  }
  for (std::int64_t i = 0; i < n; ++i) out[i] = factor * x[i];
}

template void Add(KernelSet, const float*, float*, std::int64_t);
template void Add(KernelSet, const double*, double*, std::int64_t);
template void AddTo(KernelSet, const float*, const float*, float*, std::int64_t);
template void AddTo(KernelSet, const double*, const double*, double*, std::int64_t);
template void Axpy(KernelSet, float, const float*, float*, std::int64_t);
template void Axpy(KernelSet, double, const double*, double*, std::int64_t);
template void Scale(KernelSet, float, const float*, float*, std::int64_t);
template void Scale(KernelSet, double, const double*, double*, std::int64_t);

}  // namespace chorus
#endif  // HWY_ONCE
