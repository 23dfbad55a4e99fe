#include "chorus/kernel/reduce.h"

#include <cstddef>
#include <cstring>

#include "chorus/kernel/reduce_dispatch.h"
#include "chorus/kernel/reduce_plain.h"
#include "chorus/kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "chorus/kernel/reduce.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After it:
#include "chorus/kernel/convert-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace chorus {
namespace HWY_NAMESPACE {

namespace rs = reduce_scalar;

// Vector forms of the operations of reduce_scalar.h.
template <typename D, typename V>
HWY_INLINE V Apply(rs::Sum /*op*/, D /*d*/, V a, V b) {
  return hn::Add(a, b);
}
template <typename D, typename V>
HWY_INLINE V Apply(rs::Prod /*op*/, D /*d*/, V a, V b) {
  return hn::Mul(a, b);
}
// Numbers that compare equal have the same bits except for zeros of both signs, so joining their
// bits by or (min: the sign stays) or by and (max: it goes) changes only those.
template <typename D, typename V>
HWY_INLINE V Apply(rs::Min /*op*/, D /*d*/, V a, V b) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    V least = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), hn::Min(a, b));
    least = hn::IfThenElse(hn::IsNaN(b), b, least);
    return hn::IfThenElse(hn::IsNaN(a), a, least);
  } else {
    return hn::Min(a, b);
  }
}
template <typename D, typename V>
HWY_INLINE V Apply(rs::Max /*op*/, D /*d*/, V a, V b) {
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    V most = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), hn::Max(a, b));
    most = hn::IfThenElse(hn::IsNaN(b), b, most);
    return hn::IfThenElse(hn::IsNaN(a), a, most);
  } else {
    return hn::Max(a, b);
  }
}
template <typename D, typename V>
HWY_INLINE V Apply(rs::BitAnd /*op*/, D /*d*/, V a, V b) {
  return hn::And(a, b);
}
template <typename D, typename V>
HWY_INLINE V Apply(rs::BitOr /*op*/, D /*d*/, V a, V b) {
  return hn::Or(a, b);
}
template <typename D, typename V>
HWY_INLINE V Apply(rs::BitXor /*op*/, D /*d*/, V a, V b) {
  return hn::Xor(a, b);
}

// Vector forms of its formats; void where there is none: complex numbers, pairs.
template <typename Format>
struct VectorsOf {
  using Type = void;
};
template <typename T>
struct VectorsOf<rs::Same<T>> {
  using Type = std::conditional_t<std::is_arithmetic_v<T>, SameFormat<T>, void>;
};
template <typename T>
struct VectorsOf<rs::Same<rs::Complex<T>>> {
  using Type = void;
};
template <typename T>
struct VectorsOf<rs::Same<Located<T>>> {
  using Type = void;
};
template <typename T>
struct VectorsOf<rs::Truth<T>> {
  using Type = TruthFormat<T>;
};
template <>
struct VectorsOf<rs::Narrow<BF16>> {
  using Type = NarrowFormat<BF16Vectors>;
};
template <>
struct VectorsOf<rs::Narrow<F16>> {
  using Type = NarrowFormat<F16Vectors>;
};
template <>
struct VectorsOf<rs::Narrow<F8E4M3>> {
  using Type = NarrowFormat<SmallVectors<F8E4M3Layout>>;
};
template <>
struct VectorsOf<rs::Narrow<F8E5M2>> {
  using Type = NarrowFormat<SmallVectors<F8E5M2Layout>>;
};

// Highway multiplies no vectors of 1- and 8-byte integers.
template <typename Op, typename Format>
constexpr bool HasVectors() {
  if constexpr (std::is_void_v<typename VectorsOf<Format>::Type>) {
    return false;
  } else {
    using Value = typename Format::Value;
    constexpr bool multiplies = Op::kScales || std::is_same_v<Op, rs::Prod>;
    return !(multiplies && std::is_integral_v<Value> && (sizeof(Value) == 1 || sizeof(Value) == 8));
  }
}

// Elements before the first at which a whole vector may be streamed to every dst that is; -1 if
// there is no such element.
template <std::int64_t kVectorBytes>
std::int64_t ElementsToBoundary(const ReduceArgs& r, std::int64_t element_bytes) {
  const auto place = [&](std::size_t i) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(r.dsts[i]) % kVectorBytes);
  };
  const std::size_t first = r.dsts.size() - r.streamed;
  for (std::size_t i = first + 1; i < r.dsts.size(); ++i) {
    if (place(i) != place(first)) return -1;
  }
  const std::int64_t bytes = (kVectorBytes - place(first)) % kVectorBytes;
  return bytes % element_bytes == 0 ? bytes / element_bytes : -1;
}

// While a loop converts, the CPU looks less far ahead in memory than its latency asks for: told
// where to read next, bf16 and f16 from memory gain a sixth (bench/kernel). Beyond the end of the
// source it is harmless; what is in the first-level cache, it slows down by a tenth.
constexpr std::int64_t kPrefetchFrom = 16384;  // elements
HWY_INLINE void PrefetchAhead(const ReduceSource& source, std::int64_t i, std::int64_t count) {
  constexpr std::int64_t kAheadBytes = 1024;
  const std::int64_t element = SizeOf(source.dtype);
  const auto* p = static_cast<const std::byte*>(source.data) + i * element + kAheadBytes;
  for (std::int64_t k = 0; k < count * element; k += 64) hwy::Prefetch(p + k);
}

// Four vectors at a time in registers through all sources. kSources: as many; 0: as r says.
template <typename Op, typename Vectors, std::size_t kSources>
std::int64_t ReduceFours(const ReduceArgs& r, std::int64_t i, std::size_t streamed) {
  using D = typename Vectors::D;
  using T = hn::TFromD<D>;
  const D d;
  const auto step = static_cast<std::int64_t>(4 * hn::Lanes(d));
  const std::size_t sources = kSources != 0 ? kSources : r.sources.size();
  const ReduceSource* source = r.sources.data();
  const bool divides = r.divisor != 1;
  const bool prefetches = Vectors::kConverts && (streamed > 0 || r.count >= kPrefetchFrom);
  const auto divisor = hn::Set(d, static_cast<T>(r.divisor));
  const auto load = [&](std::size_t s, std::int64_t at) HWY_ATTR {
    auto x = Vectors::Load(source[s].data, at, source[s].dtype);
    if constexpr (Op::kScales) {
      // Times one changes no bit, so that no lane needs a branch.
      const auto factor = hn::Set(d, source[s].scaled ? rs::FactorAs<T>(r.factor) : T{1});
      x = {hn::Mul(x.v0, factor), hn::Mul(x.v1, factor), hn::Mul(x.v2, factor),
           hn::Mul(x.v3, factor)};
    }
    return x;
  };
  for (; i + step <= r.count; i += step) {
    if (prefetches) {
      for (std::size_t s = 0; s < sources; ++s) PrefetchAhead(source[s], i, step);
    }
    auto x = load(0, i);
    for (std::size_t s = 1; s < sources; ++s) {
      const auto y = load(s, i);
      x = {Apply(Op(), d, x.v0, y.v0), Apply(Op(), d, x.v1, y.v1), Apply(Op(), d, x.v2, y.v2),
           Apply(Op(), d, x.v3, y.v3)};
    }
    if constexpr (hwy::IsFloat<T>()) {
      if (divides) {
        x = {hn::Div(x.v0, divisor), hn::Div(x.v1, divisor), hn::Div(x.v2, divisor),
             hn::Div(x.v3, divisor)};
      }
    }
    const std::size_t kept = r.dsts.size() - streamed;
    for (std::size_t k = 0; k < kept; ++k) Vectors::Store(x, r.dsts[k], i, r.dst_dtype, false);
    for (std::size_t k = kept; k < r.dsts.size(); ++k) {
      Vectors::Store(x, r.dsts[k], i, r.dst_dtype, true);
    }
  }
  return i;
}

// Two sources, the commonest case, are known to the compiler.
template <typename Op, typename Vectors>
std::int64_t ReduceFours(const ReduceArgs& r, std::int64_t i, std::size_t streamed) {
  if (r.sources.size() == 2) return ReduceFours<Op, Vectors, 2>(r, i, streamed);
  return ReduceFours<Op, Vectors, 0>(r, i, streamed);
}

bool IsAllBF16(const ReduceArgs& r) {
  if (r.dst_dtype != DType::kBF16) return false;
  for (const ReduceSource& source : r.sources) {
    if (source.dtype != DType::kBF16) return false;
  }
  return true;
}

template <typename Op, typename Format>
void ReduceAll(const ReduceArgs& r) {
  using Value = typename Format::Value;
  std::int64_t i = 0;
  // No CPU divides vectors of integers.
  if (!std::is_integral_v<Value> || r.divisor == 1) {
    std::size_t streamed = r.streamed;
    if (streamed > 0) {
      constexpr std::int64_t kVectorBytes = HWY_MAX_BYTES;
      const std::int64_t head = ElementsToBoundary<kVectorBytes>(r, Format::BytesOf(r.dst_dtype));
      if (head < 0) streamed = 0;
      if (head > 0) i = HWY_MIN(head, r.count);
      rs::OneByOne<Op, Format>(r, 0, i);
    }
    if (IsAllBF16(r)) {
      if constexpr (std::is_same_v<Format, rs::Narrow<BF16>>) {
        i = ReduceFours<Op, BF16Pairs>(r, i, streamed);
      }
    } else {
      i = ReduceFours<Op, typename VectorsOf<Format>::Type>(r, i, streamed);
    }
    if (streamed > 0) hwy::FlushStream();
  }
  rs::OneByOne<Op, Format>(r, i, r.count);
}

void ReduceVectors(const ReduceArgs& args) {
  DispatchReduce(args, [](auto op, auto format, const ReduceArgs& r) {
    using Op = decltype(op);
    using Format = decltype(format);
    if constexpr (HasVectors<Op, Format>()) {
      ReduceAll<Op, Format>(r);
    } else {
      rs::OneByOne<Op, Format>(r, 0, r.count);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace chorus
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace chorus {
namespace {

HWY_EXPORT(ReduceVectors);

}  // namespace

void Reduce(KernelSet set, const ReduceArgs& args) {
  if (args.count <= 0) return;
  if (args.op == ReduceOp::kUser) {
    ReduceByUser(set, args);
  } else if (set == KernelSet::kFast) {
    HWY_DYNAMIC_DISPATCH(ReduceVectors)(args);
  } else {
    ReducePlain(args);
  }
}

void Copy(std::span<void* const> dsts, const void* src, std::int64_t bytes, std::size_t streamed) {
  if (bytes <= 0) return;
  if (dsts.size() == 1 && streamed == 0) {
    std::memcpy(dsts[0], src, static_cast<std::size_t>(bytes));
    return;
  }
  const ReduceSource source{src, DType::kU8};
  Reduce(KernelSet::kFast, {ReduceOp::kBitOr, {&source, 1}, dsts, DType::kU8, bytes, 1, streamed});
}

}  // namespace chorus

#endif  // HWY_ONCE
