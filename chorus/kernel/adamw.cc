#include "chorus/kernel/adamw.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "chorus/kernel/adamw.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef CHORUS_KERNEL_ADAMW_COEFFICIENTS_
#define CHORUS_KERNEL_ADAMW_COEFFICIENTS_
namespace chorus {
namespace {

// What one step multiplies by, the same for every element.
struct Coefficients {
  double keep_m;     // b1
  double take_m;     // 1 - b1
  double keep_v;     // b2
  double take_v;     // 1 - b2
  double step_size;  // lr / (1 - b1^t)
  double unbias_v;   // 1 / (1 - b2^t)
  double epsilon;
  double shrink;  // 1 - lr decay
};

}  // namespace
}  // namespace chorus
#endif

HWY_BEFORE_NAMESPACE();
namespace chorus {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Float = hn::ScalableTag<float>;

// One vector of elements starting at each pointer. Used on whole arrays and on a padded remainder.
void UpdateVector(const Coefficients& c, const float* g, float* w, float* m, float* v) {
  const Float d;
  const auto all = [d](double value) { return hn::Set(d, static_cast<float>(value)); };
  const auto gradient = hn::LoadU(d, g);
  const auto first = hn::MulAdd(all(c.take_m), gradient, hn::Mul(all(c.keep_m), hn::LoadU(d, m)));
  const auto square = hn::Mul(gradient, gradient);
  const auto second = hn::MulAdd(all(c.take_v), square, hn::Mul(all(c.keep_v), hn::LoadU(d, v)));
  hn::StoreU(first, d, m);
  hn::StoreU(second, d, v);
  const auto root = hn::Add(hn::Sqrt(hn::Mul(all(c.unbias_v), second)), all(c.epsilon));
  const auto move = hn::Div(hn::Mul(all(c.step_size), first), root);
  hn::StoreU(hn::Sub(hn::Mul(all(c.shrink), hn::LoadU(d, w)), move), d, w);
}

void AdamWF32(const Coefficients& c, const float* g, float* w, float* m, float* v, std::int64_t n) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Float()));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) UpdateVector(c, g + i, w + i, m + i, v + i);
  if (i == n) return;
  constexpr std::size_t kMax = hn::MaxLanes(Float());
  float rest[4][kMax] = {};
  for (std::int64_t j = i; j < n; ++j) {
    rest[0][j - i] = g[j];
    rest[1][j - i] = w[j];
    rest[2][j - i] = m[j];
    rest[3][j - i] = v[j];
  }
  UpdateVector(c, rest[0], rest[1], rest[2], rest[3]);
  for (std::int64_t j = i; j < n; ++j) {
    w[j] = rest[1][j - i];
    m[j] = rest[2][j - i];
    v[j] = rest[3][j - i];
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace chorus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chorus {

HWY_EXPORT(AdamWF32);

template <typename T>
void AdamW(KernelSet set, const AdamWRule& rule, std::int64_t step, const T* g, T* w, T* m, T* v,
           std::int64_t n) {
  const auto t = static_cast<double>(step);
  const Coefficients c{.keep_m = rule.beta1,
                       .take_m = 1.0 - rule.beta1,
                       .keep_v = rule.beta2,
                       .take_v = 1.0 - rule.beta2,
                       .step_size = rule.learning_rate / (1.0 - std::pow(rule.beta1, t)),
                       .unbias_v = 1.0 / (1.0 - std::pow(rule.beta2, t)),
                       .epsilon = rule.epsilon,
                       .shrink = 1.0 - rule.learning_rate * rule.weight_decay};
  if constexpr (sizeof(T) == sizeof(float)) {
    if (set == KernelSet::kFast) return HWY_DYNAMIC_DISPATCH(AdamWF32)(c, g, w, m, v, n);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double gradient = g[i];
    const double first = c.keep_m * static_cast<double>(m[i]) + c.take_m * gradient;
    const double second = c.keep_v * static_cast<double>(v[i]) + c.take_v * gradient * gradient;
    m[i] = static_cast<T>(first);
    v[i] = static_cast<T>(second);
    const double move = c.step_size * first / (std::sqrt(c.unbias_v * second) + c.epsilon);
    w[i] = static_cast<T>(c.shrink * static_cast<double>(w[i]) - move);
  }
}

template void AdamW(KernelSet, const AdamWRule&, std::int64_t, const float*, float*, float*, float*,
                    std::int64_t);
template void AdamW(KernelSet, const AdamWRule&, std::int64_t, const double*, double*, double*,
                    double*, std::int64_t);

}  // namespace chorus
#endif  // HWY_ONCE
