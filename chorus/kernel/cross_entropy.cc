#include "chorus/kernel/cross_entropy.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "chorus/kernel/cross_entropy.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After highway.h: the mathematics is compiled once a target too.
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace chorus {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Float = hn::ScalableTag<float>;

// exp(x), and NaN for NaN, of which Highway's exp makes 0.
hn::Vec<Float> Exp(Float d, hn::Vec<Float> x) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
}

// out = exp(row - shift). out may be row.
void ExpRowF32(const float* row, float shift, float* out, std::int64_t n) {
  const Float d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto wide = hn::Set(d, shift);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(Exp(d, hn::Sub(hn::LoadU(d, row + i), wide)), d, out + i);
  }
  if (i == n) return;
  HWY_ALIGN float rest[hn::MaxLanes(Float())] = {};
  for (std::int64_t j = i; j < n; ++j) rest[j - i] = row[j] - shift;
  hn::Store(Exp(d, hn::Load(d, rest)), d, rest);
  for (std::int64_t j = i; j < n; ++j) out[j] = rest[j - i];
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace chorus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <vector>

namespace chorus {
namespace {

HWY_EXPORT(ExpRowF32);

// out[v] = exp(row[v] - max of row); returns their sum. `largest` receives the maximum.
template <typename T>
double ExpRow(KernelSet set, const T* row, T* out, std::int64_t n, T& largest) {
  largest = *std::max_element(row, row + n);
  bool vectorised = false;
  if constexpr (sizeof(T) == sizeof(float)) {
    vectorised = set == KernelSet::kFast;
    if (vectorised) HWY_DYNAMIC_DISPATCH(ExpRowF32)(row, largest, out, n);
  }
  double sum = 0;
  for (std::int64_t v = 0; v < n; ++v) {
    if (!vectorised) out[v] = std::exp(row[v] - largest);
    sum += static_cast<double>(out[v]);
  }
  return sum;
}

}  // namespace

template <typename T>
double CrossEntropySum(KernelSet set, std::int64_t samples, std::int64_t vocabulary,
                       const T* logits, const std::int32_t* targets) {
  std::vector<T> row_exp(static_cast<std::size_t>(vocabulary));
  double total = 0;
  for (std::int64_t b = 0; b < samples; ++b) {
    const T* row = logits + b * vocabulary;
    T largest = 0;
    const double sum = ExpRow(set, row, row_exp.data(), vocabulary, largest);
    total += std::log(sum) + (static_cast<double>(largest) - static_cast<double>(row[targets[b]]));
  }
  return total;
}

template <typename T>
void CrossEntropyGradient(KernelSet set, std::int64_t samples, std::int64_t vocabulary,
                          const T* logits, const std::int32_t* targets, double scale, T* dlogits) {
  for (std::int64_t b = 0; b < samples; ++b) {
    T* out = dlogits + b * vocabulary;
    T largest = 0;
    const double sum = ExpRow(set, logits + b * vocabulary, out, vocabulary, largest);
    const T factor = static_cast<T>(scale / sum);
    for (std::int64_t v = 0; v < vocabulary; ++v) out[v] *= factor;
    out[targets[b]] -= static_cast<T>(scale);
  }
}

template double CrossEntropySum(KernelSet, std::int64_t, std::int64_t, const float*,
                                const std::int32_t*);
template double CrossEntropySum(KernelSet, std::int64_t, std::int64_t, const double*,
                                const std::int32_t*);
template void CrossEntropyGradient(KernelSet, std::int64_t, std::int64_t, const float*,
                                   const std::int32_t*, double, float*);
template void CrossEntropyGradient(KernelSet, std::int64_t, std::int64_t, const double*,
                                   const std::int32_t*, double, double*);

}  // namespace chorus
#endif  // HWY_ONCE
