#include "chorus/kernel/gelu.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "chorus/kernel/gelu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h: the mathematics is compiled once a target too.
#include "hwy/contrib/math/math-inl.h"

#ifndef CHORUS_KERNEL_GELU_CONSTANTS_
#define CHORUS_KERNEL_GELU_CONSTANTS_
namespace chorus {
namespace {
constexpr double kRootTwoOverPi = 0.79788456080286535588;  // sqrt(2/pi)
constexpr double kCubic = 0.044715;
}  // namespace
}  // namespace chorus
#endif

HWY_BEFORE_NAMESPACE();
namespace chorus {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Float = hn::ScalableTag<float>;
using Vector = hn::Vec<Float>;

// 1 / (1 + exp(-2u)) = (1 + tanh u) / 2. The exponent is kept below exp's overflow; the quotient is
// then 0 to within f32 anyway.
HWY_INLINE Vector Gate(Float d, Vector x) {
  const Vector one = hn::Set(d, 1.0F);
  const Vector inside = hn::MulAdd(hn::Mul(x, x), hn::Set(d, static_cast<float>(kCubic)), one);
  const Vector scale = hn::Set(d, static_cast<float>(-2.0 * kRootTwoOverPi));
  const Vector exponent = hn::Mul(hn::Mul(scale, x), inside);
  const Vector e = hn::Exp(d, hn::Min(exponent, hn::Set(d, 80.0F)));
  return hn::Div(one, hn::Add(one, e));
}

Vector GeluVector(Float d, Vector x) { return hn::Mul(x, Gate(d, x)); }

// gelu' = s + 2 x s (1-s) u'(x), with s the gate and u' = sqrt(2/pi) (1 + 3 c x^2).
Vector SlopeVector(Float d, Vector x) {
  const Vector one = hn::Set(d, 1.0F);
  const Vector s = Gate(d, x);
  const Vector steepness =
      hn::MulAdd(hn::Mul(x, x), hn::Set(d, static_cast<float>(6.0 * kCubic * kRootTwoOverPi)),
                 hn::Set(d, static_cast<float>(2.0 * kRootTwoOverPi)));
  // The product x (1-s) first: s (1-s) alone would underflow to a value that x^2 then inflates.
  return hn::Mul(s, hn::MulAdd(hn::Mul(x, hn::Sub(one, s)), steepness, one));
}

void GeluF32(const float* x, float* y, std::int64_t n) {
  const Float d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(GeluVector(d, hn::LoadU(d, x + i)), d, y + i);
  if (i == n) return;
  HWY_ALIGN float rest[hn::MaxLanes(Float())] = {};
  for (std::int64_t j = i; j < n; ++j) rest[j - i] = x[j];
  hn::Store(GeluVector(d, hn::Load(d, rest)), d, rest);
  for (std::int64_t j = i; j < n; ++j) y[j] = rest[j - i];
}

void GeluGradientF32(const float* x, const float* dy, float* dx, std::int64_t n) {
  const Float d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Vector slope = SlopeVector(d, hn::LoadU(d, x + i));
    hn::StoreU(hn::Mul(hn::LoadU(d, dy + i), slope), d, dx + i);
  }
  if (i == n) return;
  HWY_ALIGN float rest[hn::MaxLanes(Float())] = {};
  for (std::int64_t j = i; j < n; ++j) rest[j - i] = x[j];
  hn::Store(SlopeVector(d, hn::Load(d, rest)), d, rest);
  for (std::int64_t j = i; j < n; ++j) dx[j] = dy[j] * rest[j - i];
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace chorus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chorus {

HWY_EXPORT(GeluF32);
HWY_EXPORT(GeluGradientF32);

template <typename T>
void Gelu(KernelSet set, const T* x, T* y, std::int64_t n) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (set == KernelSet::kFast) return HWY_DYNAMIC_DISPATCH(GeluF32)(x, y, n);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = x[i];
    const double u = kRootTwoOverPi * (v + kCubic * v * v * v);
    y[i] = static_cast<T>(0.5 * v * (1.0 + std::tanh(u)));
  }
}

template <typename T>
void GeluGradient(KernelSet set, const T* x, const T* dy, T* dx, std::int64_t n) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (set == KernelSet::kFast) return HWY_DYNAMIC_DISPATCH(GeluGradientF32)(x, dy, dx, n);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = x[i];
    const double t = std::tanh(kRootTwoOverPi * (v + kCubic * v * v * v));
    const double du = kRootTwoOverPi * (1.0 + 3.0 * kCubic * v * v);
    const double slope = 0.5 * (1.0 + t) + 0.5 * v * (1.0 - t * t) * du;
    dx[i] = static_cast<T>(static_cast<double>(dy[i]) * slope);
  }
}

template void Gelu(KernelSet, const float*, float*, std::int64_t);
template void Gelu(KernelSet, const double*, double*, std::int64_t);
template void GeluGradient(KernelSet, const float*, const float*, float*, std::int64_t);
template void GeluGradient(KernelSet, const double*, const double*, double*, std::int64_t);

}  // namespace chorus
#endif  // HWY_ONCE
