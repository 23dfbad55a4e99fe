#include "chorus/kernel/reduce.h"

#include "chorus/kernel/reduce_plain.h"
#include "chorus/kernel/reduce_scalar.h"
#include "chorus/kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "chorus/kernel/reduce.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After it:
#include "chorus/kernel/convert-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace chorus {
namespace HWY_NAMESPACE {

// Vector forms of the operations of reduce_scalar.h.
struct VectorSum {
  using Scalar = reduce_scalar::Sum;
  template <typename D, typename V>
  static V Apply(D /*d*/, V a, V b) {
    return hn::Add(a, b);
  }
};

struct VectorProd {
  using Scalar = reduce_scalar::Prod;
  template <typename D, typename V>
  static V Apply(D /*d*/, V a, V b) {
    return hn::Mul(a, b);
  }
};

// Numbers that compare equal have the same bits except for zeros of both signs, so joining their
// bits by or (min: the sign stays) or by and (max: it goes) changes only those.
struct VectorMin {
  using Scalar = reduce_scalar::Min;
  template <typename D, typename V>
  static V Apply(D /*d*/, V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      V least = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), hn::Min(a, b));
      least = hn::IfThenElse(hn::IsNaN(b), b, least);
      return hn::IfThenElse(hn::IsNaN(a), a, least);
    } else {
      return hn::Min(a, b);
    }
  }
};

struct VectorMax {
  using Scalar = reduce_scalar::Max;
  template <typename D, typename V>
  static V Apply(D /*d*/, V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      V most = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), hn::Max(a, b));
      most = hn::IfThenElse(hn::IsNaN(b), b, most);
      return hn::IfThenElse(hn::IsNaN(a), a, most);
    } else {
      return hn::Max(a, b);
    }
  }
};

// All of one type T: four vectors at a time in registers through all sources.
template <typename Op, typename T>
void ReduceSame(const Reduction& r) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto source = [&](std::size_t s) { return static_cast<const T*>(r.sources[s].data); };
  const std::size_t sources = r.sources.size();
  const bool divides = r.divisor != 1;
  T* dst = static_cast<T*>(r.dst);
  const T* first = source(0);
  std::int64_t i = 0;
  for (; i + 4 * lanes <= r.count; i += 4 * lanes) {
    auto a0 = hn::LoadU(d, first + i);
    auto a1 = hn::LoadU(d, first + i + lanes);
    auto a2 = hn::LoadU(d, first + i + 2 * lanes);
    auto a3 = hn::LoadU(d, first + i + 3 * lanes);
    for (std::size_t s = 1; s < sources; ++s) {
      const T* next = source(s) + i;
      a0 = Op::Apply(d, a0, hn::LoadU(d, next));
      a1 = Op::Apply(d, a1, hn::LoadU(d, next + lanes));
      a2 = Op::Apply(d, a2, hn::LoadU(d, next + 2 * lanes));
      a3 = Op::Apply(d, a3, hn::LoadU(d, next + 3 * lanes));
    }
    if constexpr (hwy::IsFloat<T>()) {
      if (divides) {
        const auto divisor = hn::Set(d, static_cast<T>(r.divisor));
        a0 = hn::Div(a0, divisor);
        a1 = hn::Div(a1, divisor);
        a2 = hn::Div(a2, divisor);
        a3 = hn::Div(a3, divisor);
      }
    }
    hn::StoreU(a0, d, dst + i);
    hn::StoreU(a1, d, dst + i + lanes);
    hn::StoreU(a2, d, dst + i + 2 * lanes);
    hn::StoreU(a3, d, dst + i + 3 * lanes);
  }
  const std::int64_t vectors_end = i;
  for (; i < r.count; ++i) {
    T value = first[i];
    for (std::size_t s = 1; s < sources; ++s) {
      value = typename Op::Scalar()(value, source(s)[i]);
    }
    dst[i] = divides ? reduce_scalar::Divide(value, r.divisor) : value;
  }
  if constexpr (!hwy::IsFloat<T>()) {  // no CPU divides vectors of integers
    for (i = 0; divides && i < vectors_end; ++i) {
      dst[i] = reduce_scalar::Divide(dst[i], r.divisor);
    }
  }
}

// f32 mixed with f16 or bf16: a tile of f32 that stays in the first-level cache.
template <typename Op>
void ReduceMixed(const Reduction& r) {
  constexpr std::int64_t kTile = 1024;  // elements; a multiple of any vector
  HWY_ALIGN float tile[kTile];
  const F32Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t begin = 0; begin < r.count; begin += kTile) {
    const std::int64_t length = HWY_MIN(kTile, r.count - begin);
    for (std::size_t s = 0; s < r.sources.size(); ++s) {
      WithFormat(r.sources[s].dtype, [&](auto format) {
        using Format = decltype(format);
        const auto* x = static_cast<const typename Format::Element*>(r.sources[s].data) + begin;
        std::int64_t i = 0;
        for (; i + lanes <= length; i += lanes) {
          const F32Vec v = Format::Load(x + i);
          hn::Store(s == 0 ? v : Op::Apply(d, hn::Load(d, tile + i), v), d, tile + i);
        }
        for (; i < length; ++i) {
          const float value = Format::LoadOne(x + i);
          tile[i] = s == 0 ? value : typename Op::Scalar()(tile[i], value);
        }
      });
    }
    WithFormat(r.dst_dtype, [&](auto format) {
      using Format = decltype(format);
      auto* y = static_cast<typename Format::Element*>(r.dst) + begin;
      const F32Vec divisor = hn::Set(d, static_cast<float>(r.divisor));
      std::int64_t i = 0;
      for (; i + lanes <= length; i += lanes) {
        const F32Vec v = hn::Load(d, tile + i);
        Format::Store(r.divisor == 1 ? v : hn::Div(v, divisor), y + i);
      }
      for (; i < length; ++i) {
        const bool divides = r.divisor != 1;
        Format::StoreOne(divides ? reduce_scalar::Divide(tile[i], r.divisor) : tile[i], y + i);
      }
    });
  }
}

bool IsMixed(const Reduction& r) {
  if (r.dst_dtype != DType::kF32) return true;
  for (const ReduceSource& source : r.sources) {
    if (source.dtype != DType::kF32) return true;
  }
  return false;
}

template <typename Op>
void ReduceFloats(const Reduction& r) {
  if (r.dst_dtype == DType::kF64) {
    ReduceSame<Op, double>(r);
  } else if (IsMixed(r)) {
    ReduceMixed<Op>(r);
  } else {
    ReduceSame<Op, float>(r);
  }
}

template <typename Op>
void ReduceSumVectors(const Reduction& r) {
  switch (SizeOf(r.dst_dtype)) {
    case 1:
      return ReduceSame<Op, std::uint8_t>(r);
    case 2:
      return ReduceSame<Op, std::uint16_t>(r);
    case 4:
      return ReduceSame<Op, std::uint32_t>(r);
    default:
      return ReduceSame<Op, std::uint64_t>(r);
  }
}

template <typename Op>
void ReduceOrderVectors(const Reduction& r) {
  switch (r.dst_dtype) {
    case DType::kI8:
      return ReduceSame<Op, std::int8_t>(r);
    case DType::kI16:
      return ReduceSame<Op, std::int16_t>(r);
    case DType::kI32:
      return ReduceSame<Op, std::int32_t>(r);
    case DType::kI64:
      return ReduceSame<Op, std::int64_t>(r);
    default:
      return ReduceSumVectors<Op>(r);  // the unsigned types
  }
}

void ReduceVectors(const Reduction& r) {
  const bool is_float = IsFloat(r.dst_dtype);
  const bool is_bool = r.dst_dtype == DType::kBool;
  // On 0 and 1, or is the larger and and is the smaller.
  if (r.op == ReduceOp::kMin || (r.op == ReduceOp::kProd && is_bool)) {
    is_float ? ReduceFloats<VectorMin>(r) : ReduceOrderVectors<VectorMin>(r);
  } else if (r.op == ReduceOp::kMax || (r.op != ReduceOp::kProd && is_bool)) {
    is_float ? ReduceFloats<VectorMax>(r) : ReduceOrderVectors<VectorMax>(r);
  } else if (is_float) {
    r.op == ReduceOp::kProd ? ReduceFloats<VectorProd>(r) : ReduceFloats<VectorSum>(r);
  } else if (r.op != ReduceOp::kProd) {
    // Wrapping sums of signed and unsigned numbers have the same bits.
    if (r.divisor == 1) return ReduceSumVectors<VectorSum>(r);
    return ReduceOrderVectors<VectorSum>(r);
  } else if (SizeOf(r.dst_dtype) == 2) {
    ReduceSame<VectorProd, std::uint16_t>(r);
  } else {
    ReduceSame<VectorProd, std::uint32_t>(r);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace chorus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace chorus {
namespace {

HWY_EXPORT(ReduceVectors);

// Highway multiplies no vectors of 1- and 8-byte integers; and a product is never divided, so the
// signed products of 2 and 4 bytes, too, may be taken as unsigned.
bool HasVectors(const Reduction& r) {
  const std::int64_t size = SizeOf(r.dst_dtype);
  const bool is_integer = !IsFloat(r.dst_dtype) && r.dst_dtype != DType::kBool;
  return !(r.op == ReduceOp::kProd && is_integer && (size == 1 || size == 8 || r.divisor != 1));
}

}  // namespace

void Reduce(KernelSet set, const Reduction& reduction) {
  if (reduction.count <= 0) return;
  if (set == KernelSet::kFast && HasVectors(reduction)) {
    HWY_DYNAMIC_DISPATCH(ReduceVectors)(reduction);
  } else {
    ReducePlain(reduction);
  }
}

}  // namespace chorus

#endif  // HWY_ONCE
