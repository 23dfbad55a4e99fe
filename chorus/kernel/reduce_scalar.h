// The reductions on one element: the definition that both kernel sets hold to, and the heads and
// tails of the vector loops. An operation works on values; a format says how memory of a dtype
// becomes values and back. Not a public header.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "chorus/base/dtype.h"
#include "chorus/kernel/reduce.h"
#include "chorus/kernel/small_float.h"

namespace chorus::reduce_scalar {

template <typename T>
struct Complex {
  T re = 0, im = 0;
};

// Integers are combined as unsigned numbers of their width so that they wrap.
// Widened to 64 bits first: two u16 would be promoted to int, whose product can overflow.
struct Sum {
  static constexpr bool kScales = false;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a + b;
    } else {
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    }
  }
};

// The sum of operands of which those that are `scaled` have been multiplied by the factor.
struct PremulSum : Sum {
  static constexpr bool kScales = true;
};

struct Prod {
  static constexpr bool kScales = false;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return a * b;
    } else {
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    }
  }
  // As written: no attempt to rescue infinities, which C's operator makes.
  template <typename T>
  Complex<T> operator()(Complex<T> a, Complex<T> b) const {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

// The left NaN wins, else the right one, else the smaller; of two zeros the negative one.
struct Min {
  static constexpr bool kScales = false;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
      if (a == b) return std::signbit(a) ? a : b;
    }
    return b < a ? b : a;
  }
};

struct Max {
  static constexpr bool kScales = false;
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
      if (a == b) return std::signbit(a) ? b : a;
    }
    return a < b ? b : a;
  }
};

struct BitAnd {
  static constexpr bool kScales = false;
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};

struct BitOr {
  static constexpr bool kScales = false;
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

struct BitXor {
  static constexpr bool kScales = false;
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

// How Min and Max order two values: less than 0 if a wins, more than 0 if b does, 0 if they are the
// same to them (also two NaNs).
template <bool kLargest, typename T>
int Rank(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool a_is_nan = a != a;
    const bool b_is_nan = b != b;
    if (a_is_nan || b_is_nan) return int{b_is_nan} - int{a_is_nan};
    if (a == b) {
      const int sign = int{std::signbit(b)} - int{std::signbit(a)};
      return kLargest ? -sign : sign;
    }
  }
  return kLargest ? int{a < b} - int{b < a} : int{b < a} - int{a < b};
}

// Of values that are the same the one with the smaller index.
template <bool kLargest>
struct Locate {
  static constexpr bool kScales = false;
  template <typename T>
  Located<T> operator()(const Located<T>& a, const Located<T>& b) const {
    const int rank = Rank<kLargest>(a.value, b.value);
    return rank < 0 || (rank == 0 && a.index <= b.index) ? a : b;
  }
};
using MinLoc = Locate<false>;
using MaxLoc = Locate<true>;

template <typename T>
T Divide(T value, std::int64_t divisor) {
  if constexpr (std::is_floating_point_v<T>) {
    return value / static_cast<T>(divisor);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(value) / divisor);
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(value) / static_cast<std::uint64_t>(divisor));
  }
}

// The factor as a value to multiply by. REQUIRES: integers: a whole number in range.
template <typename T>
T FactorAs(double factor) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(factor);
  } else if (factor < 0) {
    return static_cast<T>(static_cast<std::int64_t>(factor));
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(factor));
  }
}

// Formats. Each: Value, what is computed with; Load and Store of element i; bytes an element.

// A dtype that is computed with as it lies.
template <typename T>
struct Same {
  using Value = T;
  static constexpr std::int64_t BytesOf(DType /*dtype*/) { return sizeof(T); }
  static Value Load(const void* data, std::int64_t i, DType /*dtype*/) {
    return static_cast<const T*>(data)[i];
  }
  static void Store(Value value, void* data, std::int64_t i, DType /*dtype*/) {
    static_cast<T*>(data)[i] = value;
  }
};

// Unsigned integers, of which any but 0 counts as 1: bool, and operands of logical operations.
template <typename T>
struct Truth : Same<T> {
  static T Load(const void* data, std::int64_t i, DType /*dtype*/) {
    return static_cast<const T*>(data)[i] != 0 ? 1 : 0;
  }
};

// Memory of f32 or of one narrow float, as `dtype` says; computed with in f32.
template <typename Float>
struct Narrow {
  using Value = float;
  using Element = typename Float::Element;
  static constexpr std::int64_t BytesOf(DType dtype) { return SizeOf(dtype); }
  static Value Load(const void* data, std::int64_t i, DType dtype) {
    if (dtype == DType::kF32) return static_cast<const float*>(data)[i];
    return Float::Widen(static_cast<const Element*>(data)[i]);
  }
  static void Store(Value value, void* data, std::int64_t i, DType dtype) {
    if (dtype == DType::kF32) {
      static_cast<float*>(data)[i] = value;
    } else {
      static_cast<Element*>(data)[i] = Float::Narrow(value);
    }
  }
};

// Elements [begin, end) of a reduction.
template <typename Op, typename Format>
void OneByOne(const ReduceArgs& r, std::int64_t begin, std::int64_t end) {
  using Value = typename Format::Value;
  const auto load = [&](const ReduceSource& source, std::int64_t i) {
    const Value value = Format::Load(source.data, i, source.dtype);
    if constexpr (Op::kScales) {
      if (source.scaled) return Prod()(value, FactorAs<Value>(r.factor));
    }
    return value;
  };
  for (std::int64_t i = begin; i < end; ++i) {
    Value value = load(r.sources[0], i);
    for (const ReduceSource& source : r.sources.subspan(1)) value = Op()(value, load(source, i));
    if constexpr (std::is_arithmetic_v<Value>) {
      if (r.divisor != 1) value = Divide(value, r.divisor);
    }
    for (void* dst : r.dsts) Format::Store(value, dst, i, r.dst_dtype);
  }
}

}  // namespace chorus::reduce_scalar
