// DType: the element types of Chorus.
//
// Part of the public API, so it compiles as C++17. Thread safety: all functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

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
};

inline constexpr DType kAllDTypes[] = {
    DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,  DType::kI16, DType::kI32,
    DType::kI64, DType::kU8,  DType::kU16, DType::kU32,  DType::kU64, DType::kBool};

// Bytes per element.
constexpr std::int64_t SizeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
    case DType::kU64:
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
      return 1;
  }
  return 0;
}

constexpr bool IsFloat(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

// "f32", "bf16", "i64", "bool", ...
std::string_view Name(DType dtype);

// The inverse of Name. Empty if `name` is no dtype.
std::optional<DType> ParseDType(std::string_view name);

// The dtype of a C++ arithmetic type: DTypeOf<float>() == DType::kF32.
template <typename T>
constexpr DType DTypeOf();
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

}  // namespace chorus
