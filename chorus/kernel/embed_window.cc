#include "chorus/kernel/embed_window.h"

#include <algorithm>

#include "chorus/kernel/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "chorus/kernel/embed_window.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef CHORUS_KERNEL_EMBED_WINDOW_ROW_
#define CHORUS_KERNEL_EMBED_WINDOW_ROW_
namespace chorus {
namespace {

// First element of the row of the table that sample b reads at position w, or -1 if this shard has
// no such row.
inline std::int64_t RowBegin(const EmbedWindowShape& s, const std::int32_t* tokens, std::int64_t b,
                             std::int64_t w) {
  const std::int64_t token = tokens[b * s.token_positions + s.position_begin + w];
  const std::int64_t v = token - s.vocabulary_begin;
  if (v < 0 || v >= s.vocabulary) return -1;
  return (w * s.vocabulary + v) * s.width;
}

}  // namespace
}  // namespace chorus
#endif

HWY_BEFORE_NAMESPACE();
namespace chorus {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Adds in registers: one tile of four vectors of x is finished over all positions, then stored.
void EmbedWindowF32(const EmbedWindowShape& s, const std::int32_t* tokens, const float* table,
                    float* x) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t tile = 4 * lanes;
  for (std::int64_t b = 0; b < s.samples; ++b) {
    float* out = x + b * s.width;
    std::int64_t i = 0;
    for (; i + tile <= s.width; i += tile) {
      auto sum0 = hn::Zero(d);
      auto sum1 = sum0;
      auto sum2 = sum0;
      auto sum3 = sum0;
      for (std::int64_t w = 0; w < s.positions; ++w) {
        const std::int64_t begin = RowBegin(s, tokens, b, w);
        if (begin < 0) continue;
        const float* row = table + begin + i;
        sum0 = hn::Add(sum0, hn::LoadU(d, row));
        sum1 = hn::Add(sum1, hn::LoadU(d, row + lanes));
        sum2 = hn::Add(sum2, hn::LoadU(d, row + 2 * lanes));
        sum3 = hn::Add(sum3, hn::LoadU(d, row + 3 * lanes));
      }
      hn::StoreU(sum0, d, out + i);
      hn::StoreU(sum1, d, out + i + lanes);
      hn::StoreU(sum2, d, out + i + 2 * lanes);
      hn::StoreU(sum3, d, out + i + 3 * lanes);
    }
    std::fill(out + i, out + s.width, 0.0F);
    for (std::int64_t w = 0; w < s.positions && i < s.width; ++w) {
      const std::int64_t begin = RowBegin(s, tokens, b, w);
      if (begin < 0) continue;
      for (std::int64_t j = i; j < s.width; ++j) out[j] += table[begin + j];
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace chorus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace chorus {

HWY_EXPORT(EmbedWindowF32);

template <typename T>
void EmbedWindow(KernelSet set, const EmbedWindowShape& s, const std::int32_t* tokens,
                 const T* table, T* x) {
  if constexpr (sizeof(T) == sizeof(float)) {
    if (set == KernelSet::kFast) return HWY_DYNAMIC_DISPATCH(EmbedWindowF32)(s, tokens, table, x);
  }
  std::fill_n(x, s.samples * s.width, T{0});
  for (std::int64_t b = 0; b < s.samples; ++b) {
    for (std::int64_t w = 0; w < s.positions; ++w) {
      const std::int64_t begin = RowBegin(s, tokens, b, w);
      if (begin >= 0) Add(KernelSet::kPlain, table + begin, x + b * s.width, s.width);
    }
  }
}

template <typename T>
void EmbedWindowGradient(KernelSet set, const EmbedWindowShape& s, const std::int32_t* tokens,
                         const T* dx, T* dtable) {
  std::fill_n(dtable, s.positions * s.vocabulary * s.width, T{0});
  // Position by position: one position's rows (V D) stay in cache while all samples pass.
  for (std::int64_t w = 0; w < s.positions; ++w) {
    for (std::int64_t b = 0; b < s.samples; ++b) {
      const std::int64_t begin = RowBegin(s, tokens, b, w);
      if (begin >= 0) Add(set, dx + b * s.width, dtable + begin, s.width);
    }
  }
}

template void EmbedWindow(KernelSet, const EmbedWindowShape&, const std::int32_t*, const float*,
                          float*);
template void EmbedWindow(KernelSet, const EmbedWindowShape&, const std::int32_t*, const double*,
                          double*);
template void EmbedWindowGradient(KernelSet, const EmbedWindowShape&, const std::int32_t*,
                                  const float*, float*);
template void EmbedWindowGradient(KernelSet, const EmbedWindowShape&, const std::int32_t*,
                                  const double*, double*);

}  // namespace chorus
#endif  // HWY_ONCE
