// Formats: how memory of each dtype becomes vectors to compute with, and back. What convert.cc and
// reduce.cc share, once for each CPU target. The formulas are those of small_float.h, lane by lane.
// Not a public header: included by files that use hwy/foreach_target.h, after hwy/highway.h.
#if defined(CHORUS_KERNEL_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CHORUS_KERNEL_CONVERT_INL_H_
#undef CHORUS_KERNEL_CONVERT_INL_H_
#else
#define CHORUS_KERNEL_CONVERT_INL_H_
#endif

#include <type_traits>

#include "chorus/kernel/convert.h"
#include "chorus/kernel/small_float.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace chorus {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using F32Tag = hn::ScalableTag<float>;
using F32Vec = hn::Vec<F32Tag>;
using U32Tag = hn::RebindToUnsigned<F32Tag>;
using U32Vec = hn::Vec<U32Tag>;
using U16Tag = hn::Rebind<std::uint16_t, F32Tag>;
using U8Tag = hn::Rebind<std::uint8_t, F32Tag>;

// Four vectors: what a loop works on at a time.
template <typename Vec>
struct Four {
  Vec v0, v1, v2, v3;
};

// Whole vectors to memory. Streamed, they go past the caches. REQUIRES: p on a vector boundary if
// streamed.
template <typename D, typename V>
HWY_INLINE void StoreVector(D d, V v, hn::TFromD<D>* p, bool streams) {
  if (streams) {
    hn::Stream(v, d, p);
  } else {
    hn::StoreU(v, d, p);
  }
}

template <typename D>
HWY_INLINE Four<hn::Vec<D>> LoadFour(D d, const hn::TFromD<D>* p) {
  const std::size_t n = hn::Lanes(d);
  return {hn::LoadU(d, p), hn::LoadU(d, p + n), hn::LoadU(d, p + 2 * n), hn::LoadU(d, p + 3 * n)};
}

template <typename D>
HWY_INLINE void StoreFour(D d, const Four<hn::Vec<D>>& x, hn::TFromD<D>* p, bool streams) {
  const std::size_t n = hn::Lanes(d);
  StoreVector(d, x.v0, p, streams);
  StoreVector(d, x.v1, p + n, streams);
  StoreVector(d, x.v2, p + 2 * n, streams);
  StoreVector(d, x.v3, p + 3 * n, streams);
}

// The narrow floats. Each: Load of one vector of f32, and Pack, its bits in narrow lanes.
struct BF16Vectors {
  using Scalar = BF16;
  static HWY_INLINE F32Vec Load(const std::uint16_t* p) {
    const U32Vec bits = hn::PromoteTo(U32Tag(), hn::LoadU(U16Tag(), p));
    return hn::BitCast(F32Tag(), hn::ShiftLeft<16>(bits));
  }
  // Rounded, the result in the upper half of each lane; the lower half is undefined.
  static HWY_INLINE U32Vec Round(F32Vec v) {
    const U32Tag u;
    const U32Vec bits = hn::BitCast(u, v);
    const U32Vec odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1u));
    const U32Vec rounded = hn::Add(hn::Add(bits, hn::Set(u, 0x7fffu)), odd);
    const U32Vec quiet = hn::Or(bits, hn::Set(u, 0x400000u));
    const auto is_nan = hn::RebindMask(u, hn::IsNaN(v));
    return hn::IfThenElse(is_nan, quiet, rounded);
  }
  static HWY_INLINE hn::Vec<U16Tag> Pack(F32Vec v) {
    return hn::TruncateTo(U16Tag(), hn::ShiftRight<16>(Round(v)));
  }
};

template <typename Layout>
struct SmallVectors {
  using Scalar = SmallFloat<Layout>;
  using Element = typename Layout::Element;
  using Tag = hn::Rebind<Element, F32Tag>;

  static HWY_INLINE F32Vec Load(const Element* p) {
    const F32Tag f;
    const U32Tag u;
    const U32Vec bits = hn::PromoteTo(u, hn::LoadU(Tag(), p));
    const U32Vec sign = hn::And(hn::ShiftLeft<Scalar::kSignShift>(bits), hn::Set(u, 0x80000000u));
    const U32Vec magnitude = hn::And(bits, hn::Set(u, Scalar::kMagnitudeMask));
    const U32Vec shifted = hn::ShiftLeft<Scalar::kShift>(magnitude);
    const U32Vec normal = hn::Add(shifted, hn::Set(u, Scalar::kRebias));
    const F32Vec raised = hn::BitCast(f, hn::Add(normal, hn::Set(u, 1u << 23)));
    const F32Vec least = hn::BitCast(f, hn::Set(u, Scalar::kSmallestNormal));
    const U32Vec subnormal = hn::BitCast(u, hn::Sub(raised, least));
    const auto is_subnormal = IsLess(magnitude, 1u << Layout::kMantissaBits);
    const auto is_nan = IsLess(hn::Set(u, Layout::kInfinity), magnitude);
    U32Vec result = hn::IfThenElse(is_subnormal, subnormal, normal);
    if constexpr (Layout::kHasInfinity) {
      const auto is_infinity = hn::Eq(magnitude, hn::Set(u, Layout::kInfinity));
      result = hn::IfThenElse(is_infinity, hn::Set(u, 0x7f800000u), result);
    }
    result = hn::IfThenElse(is_nan, hn::Or(hn::Set(u, 0x7fc00000u), shifted), result);
    return hn::BitCast(f, hn::Or(result, sign));
  }

  static HWY_INLINE hn::Vec<Tag> Pack(F32Vec v) {
    const F32Tag f;
    const U32Tag u;
    const U32Vec bits = hn::BitCast(u, v);
    const U32Vec sign =
        hn::And(hn::ShiftRight<Scalar::kSignShift>(bits), hn::Set(u, Scalar::kMagnitudeMask + 1));
    const U32Vec magnitude = hn::And(bits, hn::Set(u, 0x7fffffffu));
    U32Vec finite = magnitude;
    if constexpr (Layout::kSaturates) finite = hn::Min(finite, hn::Set(u, Layout::kLargest));
    const F32Vec aligner = hn::BitCast(f, hn::Set(u, Scalar::kAligner));
    const F32Vec raised = hn::Add(hn::BitCast(f, finite), aligner);
    const U32Vec subnormal = hn::Sub(hn::BitCast(u, raised), hn::Set(u, Scalar::kAligner));
    const U32Vec odd = hn::And(hn::ShiftRight<Scalar::kShift>(finite), hn::Set(u, 1u));
    const U32Vec half = hn::Set(u, (1u << (Scalar::kShift - 1)) - 1 - Scalar::kRebias);
    U32Vec normal = hn::ShiftRight<Scalar::kShift>(hn::Add(hn::Add(finite, half), odd));
    if constexpr (!Layout::kSaturates) normal = hn::Min(normal, hn::Set(u, Layout::kInfinity));
    const U32Vec payload = hn::And(hn::ShiftRight<Scalar::kShift>(magnitude),
                                   hn::Set(u, (1u << Layout::kMantissaBits) - 1));
    const auto is_small = IsLess(finite, Scalar::kSmallestNormal);
    const auto is_infinity = hn::Eq(magnitude, hn::Set(u, 0x7f800000u));
    const auto is_nan = IsLess(hn::Set(u, 0x7f800000u), magnitude);
    U32Vec result = hn::IfThenElse(is_small, subnormal, normal);
    result = hn::IfThenElse(is_infinity, hn::Set(u, Layout::kInfinity), result);
    result = hn::IfThenElse(is_nan, hn::Or(hn::Set(u, Layout::kNaN), payload), result);
    return hn::TruncateTo(Tag(), hn::Or(result, sign));
  }

 private:
  // Magnitudes are below 2^31, so that signed compares, which every CPU has, are right.
  static HWY_INLINE auto IsLess(U32Vec a, U32Vec b) {
    const hn::RebindToSigned<U32Tag> s;
    return hn::RebindMask(U32Tag(), hn::Lt(hn::BitCast(s, a), hn::BitCast(s, b)));
  }
  static HWY_INLINE auto IsLess(U32Vec a, std::uint32_t b) {
    return IsLess(a, hn::Set(U32Tag(), b));
  }
};

#if HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
// By the instruction, whose results are those of the definition, NaNs included.
struct F16Vectors {
  using Scalar = F16;
  using Tag = hn::Rebind<hwy::float16_t, F32Tag>;
  static HWY_INLINE F32Vec Load(const std::uint16_t* p) {
    return hn::PromoteTo(F32Tag(), hn::BitCast(Tag(), hn::LoadU(U16Tag(), p)));
  }
  static HWY_INLINE hn::Vec<U16Tag> Pack(F32Vec v) {
    return hn::BitCast(U16Tag(), hn::DemoteTo(Tag(), v));
  }
};
#else
using F16Vectors = SmallVectors<F16Layout>;
#endif

// A format that is computed with as it lies.
template <typename T>
struct SameFormat {
  static constexpr bool kConverts = false;
  using D = hn::ScalableTag<T>;
  using Vec = hn::Vec<D>;
  static HWY_INLINE Four<Vec> Load(const void* data, std::int64_t i, DType /*dtype*/) {
    return LoadFour(D(), static_cast<const T*>(data) + i);
  }
  static HWY_INLINE void Store(const Four<Vec>& x, void* data, std::int64_t i, DType /*dtype*/,
                               bool streams) {
    StoreFour(D(), x, static_cast<T*>(data) + i, streams);
  }
};

// Unsigned integers, of which any but 0 counts as 1: bool, and operands of logical operations.
template <typename T>
struct TruthFormat : SameFormat<T> {
  using typename SameFormat<T>::D;
  using typename SameFormat<T>::Vec;
  static HWY_INLINE Four<Vec> Load(const void* data, std::int64_t i, DType /*dtype*/) {
    const Four<Vec> x = LoadFour(D(), static_cast<const T*>(data) + i);
    const Vec one = hn::Set(D(), T{1});
    return {hn::Min(x.v0, one), hn::Min(x.v1, one), hn::Min(x.v2, one), hn::Min(x.v3, one)};
  }
};

// Memory of f32 or of one narrow float, as `dtype` says; computed with in f32.
template <typename Vectors>
struct NarrowFormat {
  static constexpr bool kConverts = true;
  using D = F32Tag;
  using Vec = F32Vec;
  using Element = typename Vectors::Scalar::Element;
  using Packed = hn::Rebind<Element, F32Tag>;  // of one vector of f32
  using Whole = hn::ScalableTag<Element>;      // what is stored at a time

  static HWY_INLINE Four<Vec> Load(const void* data, std::int64_t i, DType dtype) {
    if (dtype == DType::kF32) return LoadFour(D(), static_cast<const float*>(data) + i);
    const Element* p = static_cast<const Element*>(data) + i;
    const std::size_t n = hn::Lanes(D());
    return {Vectors::Load(p), Vectors::Load(p + n), Vectors::Load(p + 2 * n),
            Vectors::Load(p + 3 * n)};
  }

  static HWY_INLINE void Store(const Four<Vec>& x, void* data, std::int64_t i, DType dtype,
                               bool streams) {
    if (dtype == DType::kF32) return StoreFour(D(), x, static_cast<float*>(data) + i, streams);
    Element* p = static_cast<Element*>(data) + i;
#if HWY_TARGET == HWY_SCALAR  // one lane: nothing to join
    hn::StoreU(Vectors::Pack(x.v0), Packed(), p);
    hn::StoreU(Vectors::Pack(x.v1), Packed(), p + 1);
    hn::StoreU(Vectors::Pack(x.v2), Packed(), p + 2);
    hn::StoreU(Vectors::Pack(x.v3), Packed(), p + 3);
    (void)streams;
#else
    const hn::Twice<Packed> two;
    const auto low = hn::Combine(two, Vectors::Pack(x.v1), Vectors::Pack(x.v0));
    const auto high = hn::Combine(two, Vectors::Pack(x.v3), Vectors::Pack(x.v2));
    const Whole whole;
    if constexpr (sizeof(Element) == 2) {
      StoreVector(whole, low, p, streams);
      StoreVector(whole, high, p + hn::Lanes(whole), streams);
    } else {
      StoreVector(whole, hn::Combine(whole, high, low), p, streams);
    }
#endif
  }
};

#if HWY_TARGET == HWY_SCALAR
using BF16Pairs = NarrowFormat<BF16Vectors>;
#else
// Memory of bf16 alone: x holds the elements at even places and those at odd places apart, since
// one shift or one mask then widens a whole vector, and nothing is moved between lanes.
//
//   memory   | e0 o0 | e1 o1 | ...        v0 = e0 | e1 | ...  (each 16 bits, and 16 zeros below)
//                                         v1 = o0 | o1 | ...
struct BF16Pairs {
  static constexpr bool kConverts = true;
  using D = F32Tag;
  using Vec = F32Vec;

  static HWY_INLINE Four<Vec> Load(const void* data, std::int64_t i, DType /*dtype*/) {
    const U32Tag u;
    const auto* p = static_cast<const std::uint16_t*>(data) + i;
    const U32Vec a = hn::BitCast(u, hn::LoadU(Whole(), p));
    const U32Vec b = hn::BitCast(u, hn::LoadU(Whole(), p + hn::Lanes(Whole())));
    return {Even(a), Odd(a), Even(b), Odd(b)};
  }
  static HWY_INLINE void Store(const Four<Vec>& x, void* data, std::int64_t i, DType /*dtype*/,
                               bool streams) {
    auto* p = static_cast<std::uint16_t*>(data) + i;
    StoreVector(Whole(), Join(x.v0, x.v1), p, streams);
    StoreVector(Whole(), Join(x.v2, x.v3), p + hn::Lanes(Whole()), streams);
  }

 private:
  using Whole = hn::Repartition<std::uint16_t, F32Tag>;

  static HWY_INLINE Vec Even(U32Vec pairs) {
    return hn::BitCast(F32Tag(), hn::ShiftLeft<16>(pairs));
  }
  static HWY_INLINE Vec Odd(U32Vec pairs) {
    return hn::BitCast(F32Tag(), hn::And(pairs, hn::Set(U32Tag(), 0xffff0000u)));
  }
  static HWY_INLINE hn::Vec<Whole> Join(Vec even, Vec odd) {
    const U32Vec low = hn::ShiftRight<16>(BF16Vectors::Round(even));
    const U32Vec high = hn::And(BF16Vectors::Round(odd), hn::Set(U32Tag(), 0xffff0000u));
    return hn::BitCast(Whole(), hn::Or(low, high));
  }
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace chorus
HWY_AFTER_NAMESPACE();

#endif  // the toggle of CHORUS_KERNEL_CONVERT_INL_H_
