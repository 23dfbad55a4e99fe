// DType: the element types of Chorus.
//
// Part of the public API, so it compiles as C++17. Thread safety: all functions are pure.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace chorus {

enum class DType : std::uint8_t {
  kF32,
  kF64,
  kF16,   // IEEE binary16
  kBF16,  // bfloat16: the upper half of an f32
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool,  // one byte, 0 or 1

  kF8E4M3,      // OCP e4m3fn: no infinity, one NaN, largest 448
  kF8E5M2,      // OCP e5m2: the upper half of an f16, largest finite 57344
  kComplex64,   // two f32: real, imaginary
  kComplex128,  // two f64: real, imaginary

  // A value and its index, for min_loc and max_loc; both of one width, so without padding.
  kF32I32,  // Located<float>
  kF64I64,  // Located<double>
  kI32I32,  // Located<std::int32_t>
  kI64I64,  // Located<std::int64_t>
};

inline constexpr DType kAllDTypes[] = {
    DType::kF32,       DType::kF64,        DType::kF16,    DType::kBF16,   DType::kI8,
    DType::kI16,       DType::kI32,        DType::kI64,    DType::kU8,     DType::kU16,
    DType::kU32,       DType::kU64,        DType::kBool,   DType::kF8E4M3, DType::kF8E5M2,
    DType::kComplex64, DType::kComplex128, DType::kF32I32, DType::kF64I64, DType::kI32I32,
    DType::kI64I64};

// Bytes per element.
constexpr std::int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kComplex128:
    case DType::kF64I64:
    case DType::kI64I64:
      return 16;
    case DType::kF64:
    case DType::kI64:
    case DType::kU64:
    case DType::kComplex64:
    case DType::kF32I32:
    case DType::kI32I32:
      return 8;
    case DType::kF32:
    case DType::kI32:
    case DType::kU32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
    case DType::kU16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return 1;
  }
  return 0;
}

// Real floats, of any width.
constexpr bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 ||
         dtype == DType::kBF16 || dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
}
constexpr bool IsComplex(DType dtype) {
  return dtype == DType::kComplex64 || dtype == DType::kComplex128;
}
constexpr bool IsInteger(DType dtype) { return dtype >= DType::kI8 && dtype <= DType::kU64; }
constexpr bool IsSigned(DType dtype) { return dtype >= DType::kI8 && dtype <= DType::kI64; }
// A value and its index.
constexpr bool IsLocated(DType dtype) { return dtype >= DType::kF32I32; }

// The element of kF32I32 and its like: a value and where it was, an index of the same width.
template <typename T>
struct Located {
  using Index = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  T value = 0;
  Index index = 0;

  friend bool operator==(const Located& a, const Located& b) {
    return a.value == b.value && a.index == b.index;
  }
};

// "f32", "bf16", "f8e4m3", "i64", "bool", "complex64", "f32_i32", ...
std::string_view Name(DType dtype);

// The inverse of Name. Empty if `name` is no dtype.
std::optional<DType> ParseDType(std::string_view name);

// The dtype of a C++ type: DTypeOf<float>() == DType::kF32. Types that are not listed do not
// compile; f16, bf16 and f8, which C++17 has no types for, are given with their dtype.
template <typename T>
constexpr DType DTypeOf() {
  static_assert(sizeof(T) == 0,
                "no element type of Chorus has this C++ type: use float, double, std::int32_t, "
                "bool, ..., or give a pointer, a count and a DType (kF16, kBF16, ...)");
  return DType::kF32;
}
template <>
constexpr DType DTypeOf<float>() {
  return DType::kF32;
}
template <>
constexpr DType DTypeOf<double>() {
  return DType::kF64;
}
template <>
constexpr DType DTypeOf<std::int8_t>() {
  return DType::kI8;
}
template <>
constexpr DType DTypeOf<std::int16_t>() {
  return DType::kI16;
}
template <>
constexpr DType DTypeOf<std::int32_t>() {
  return DType::kI32;
}
template <>
constexpr DType DTypeOf<std::int64_t>() {
  return DType::kI64;
}
template <>
constexpr DType DTypeOf<std::uint8_t>() {
  return DType::kU8;
}
template <>
constexpr DType DTypeOf<std::uint16_t>() {
  return DType::kU16;
}
template <>
constexpr DType DTypeOf<std::uint32_t>() {
  return DType::kU32;
}
template <>
constexpr DType DTypeOf<std::uint64_t>() {
  return DType::kU64;
}
template <>
constexpr DType DTypeOf<bool>() {
  return DType::kBool;
}
template <>
constexpr DType DTypeOf<std::complex<float>>() {
  return DType::kComplex64;
}
template <>
constexpr DType DTypeOf<std::complex<double>>() {
  return DType::kComplex128;
}
template <>
constexpr DType DTypeOf<Located<float>>() {
  return DType::kF32I32;
}
template <>
constexpr DType DTypeOf<Located<double>>() {
  return DType::kF64I64;
}
template <>
constexpr DType DTypeOf<Located<std::int32_t>>() {
  return DType::kI32I32;
}
template <>
constexpr DType DTypeOf<Located<std::int64_t>>() {
  return DType::kI64I64;
}

}  // namespace chorus
