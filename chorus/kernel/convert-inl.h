// Vectors of f32 from and to memory of f32, f16 or bf16: what convert.cc and reduce.cc share, once
// for each CPU target. The formulas are those of convert.h, lane by lane.
// Not a public header: included by files that use hwy/foreach_target.h, after hwy/highway.h.
#if defined(CHORUS_KERNEL_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CHORUS_KERNEL_CONVERT_INL_H_
#undef CHORUS_KERNEL_CONVERT_INL_H_
#else
#define CHORUS_KERNEL_CONVERT_INL_H_
#endif

#include "chorus/kernel/convert.h"
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

// Memory formats. Each: element type, Load and Store of one vector, and of one element.
struct F32Format {
  using Element = float;
  static F32Vec Load(const Element* p) { return hn::LoadU(F32Tag(), p); }
  static void Store(F32Vec v, Element* p) { hn::StoreU(v, F32Tag(), p); }
  static float LoadOne(const Element* p) { return *p; }
  static void StoreOne(float value, Element* p) { *p = value; }
};

inline void StoreLow16(U32Vec bits, std::uint16_t* p) {
  const hn::RebindToSigned<U32Tag> signed_tag;
  hn::StoreU(hn::DemoteTo(U16Tag(), hn::BitCast(signed_tag, bits)), U16Tag(), p);
}

struct BF16Format {
  using Element = std::uint16_t;
  static F32Vec Load(const Element* p) {
    const U32Vec bits = hn::PromoteTo(U32Tag(), hn::LoadU(U16Tag(), p));
    return hn::BitCast(F32Tag(), hn::ShiftLeft<16>(bits));
  }
  static void Store(F32Vec v, Element* p) {
    const U32Tag u;
    const U32Vec bits = hn::BitCast(u, v);
    const U32Vec high = hn::ShiftRight<16>(bits);
    const U32Vec odd = hn::And(high, hn::Set(u, 1u));
    const U32Vec rounded = hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(u, 0x7fffu)), odd));
    const U32Vec quiet = hn::Or(high, hn::Set(u, 0x40u));
    const auto is_nan = hn::RebindMask(u, hn::IsNaN(v));
    StoreLow16(hn::IfThenElse(is_nan, quiet, rounded), p);
  }
  static float LoadOne(const Element* p) { return FloatFromBF16(*p); }
  static void StoreOne(float value, Element* p) { *p = BF16FromFloat(value); }
};

struct F16Format {
  using Element = std::uint16_t;
  static F32Vec Load(const Element* p) {
    const F32Tag f;
    const U32Tag u;
    const U32Vec bits = hn::PromoteTo(u, hn::LoadU(U16Tag(), p));
    const U32Vec sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(u, 0x8000u)));
    const U32Vec shifted = hn::ShiftLeft<13>(hn::And(bits, hn::Set(u, 0x7fffu)));
    const U32Vec top = hn::Set(u, 0x0f800000u);
    const U32Vec exponent = hn::And(shifted, top);
    const U32Vec bias = hn::Set(u, 0x38000000u);
    const U32Vec normal = hn::Add(shifted, bias);
    const U32Vec special = hn::Add(normal, bias);
    const F32Vec raised = hn::BitCast(f, hn::Add(normal, hn::Set(u, 0x00800000u)));
    const F32Vec magic = hn::BitCast(f, hn::Set(u, 0x38800000u));
    const U32Vec subnormal = hn::BitCast(u, hn::Sub(raised, magic));
    U32Vec result = hn::IfThenElse(hn::Eq(exponent, top), special, normal);
    result = hn::IfThenElse(hn::Eq(exponent, hn::Zero(u)), subnormal, result);
    return hn::BitCast(f, hn::Or(result, sign));
  }
  static void Store(F32Vec v, Element* p) {
    const F32Tag f;
    const U32Tag u;
    const hn::RebindToSigned<U32Tag> s;  // magnitudes are below 2^31, so signed compares are right
    const U32Vec bits = hn::BitCast(u, v);
    const U32Vec sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 0x8000u));
    const U32Vec magnitude = hn::And(bits, hn::Set(u, 0x7fffffffu));
    const auto as_signed = hn::BitCast(s, magnitude);
    const U32Vec odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(u, 1u));
    const U32Vec biased = hn::Add(magnitude, hn::Set(u, 0xc8000fffu));
    const U32Vec normal = hn::ShiftRight<13>(hn::Add(biased, odd));
    const F32Vec raised = hn::Add(hn::BitCast(f, magnitude), hn::Set(f, 0.5f));
    const U32Vec subnormal = hn::Sub(hn::BitCast(u, raised), hn::Set(u, 0x3f000000u));
    const auto is_small = hn::RebindMask(u, hn::Lt(as_signed, hn::Set(s, 0x38800000)));
    const auto is_large = hn::RebindMask(u, hn::Gt(as_signed, hn::Set(s, 0x477fffff)));
    const auto is_nan = hn::RebindMask(u, hn::Gt(as_signed, hn::Set(s, 0x7f800000)));
    U32Vec result = hn::IfThenElse(is_small, subnormal, normal);
    result = hn::IfThenElse(is_large, hn::Set(u, 0x7c00u), result);
    result = hn::IfThenElse(is_nan, hn::Set(u, 0x7e00u), result);
    StoreLow16(hn::Or(result, sign), p);
  }
  static float LoadOne(const Element* p) { return FloatFromF16(*p); }
  static void StoreOne(float value, Element* p) { *p = F16FromFloat(value); }
};

// Calls function(Format()) with the format of `dtype`. REQUIRES: f32, f16 or bf16.
template <typename Function>
void WithFormat(DType dtype, const Function& function) {
  if (dtype == DType::kF16) {
    function(F16Format());
  } else if (dtype == DType::kBF16) {
    function(BF16Format());
  } else {
    function(F32Format());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chorus
HWY_AFTER_NAMESPACE();

#endif  // the toggle of CHORUS_KERNEL_CONVERT_INL_H_
