// Buffers of any dtype filled from, and read back as, numbers: for tests.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/collective/group.h"
#include "chorus/kernel/convert.h"

namespace chorus {

// A value of any dtype: the real part is the value; the imaginary part is that of a complex number,
// or the index of a pair of value and index.
using Number = std::complex<double>;

// Calls function(T()) with the C++ type of a dtype that has one. REQUIRES: not a narrow float.
template <typename Function>
void WithType(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::kF64:  // NOLINT(bugprone-branch-clone): each branch is another type
      return function(double());
    case DType::kI8:
      return function(std::int8_t());
    case DType::kI16:
      return function(std::int16_t());
    case DType::kI32:
      return function(std::int32_t());
    case DType::kI64:
      return function(std::int64_t());
    case DType::kU8:
      return function(std::uint8_t());
    case DType::kU16:
      return function(std::uint16_t());
    case DType::kU32:
      return function(std::uint32_t());
    case DType::kU64:
      return function(std::uint64_t());
    case DType::kBool:
      return function(bool());
    case DType::kComplex64:
      return function(std::complex<float>());
    case DType::kComplex128:
      return function(std::complex<double>());
    case DType::kF32I32:
      return function(Located<float>());
    case DType::kF64I64:
      return function(Located<double>());
    case DType::kI32I32:
      return function(Located<std::int32_t>());
    case DType::kI64I64:
      return function(Located<std::int64_t>());
    default:
      return function(float());
  }
}

namespace typed_data {

// A number as a T: integers wrap.
template <typename T>
T From(const Number& number) {
  if constexpr (std::is_same_v<T, bool>) {
    return number.real() != 0;
  } else if constexpr (std::is_same_v<T, std::uint64_t> || std::is_floating_point_v<T>) {
    return static_cast<T>(number.real());
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(number.real()));
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {static_cast<float>(number.real()), static_cast<float>(number.imag())};
  } else if constexpr (std::is_same_v<T, Number>) {
    return number;
  } else {
    return {static_cast<decltype(T::value)>(number.real()),
            static_cast<decltype(T::index)>(number.imag())};
  }
}

template <typename T>
Number To(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, Number>) {
    return Number(value);
  } else {
    return {static_cast<double>(value.value), static_cast<double>(value.index)};
  }
}

}  // namespace typed_data

class TypedData {
 public:
  template <typename T>
  TypedData(DType dtype, const std::vector<T>& values)
      : dtype_(dtype), bytes_(values.size() * static_cast<std::size_t>(SizeOf(dtype))) {
    for (std::size_t i = 0; i < values.size(); ++i) Set(i, values[i]);
  }
  TypedData(DType dtype, std::int64_t count)
      : TypedData(dtype, std::vector<double>(static_cast<std::size_t>(count))) {}

  std::int64_t size() const { return std::ssize(bytes_) / SizeOf(dtype_); }
  ConstBuffer in() const { return {bytes_.data(), size(), dtype_}; }
  MutableBuffer out() { return {bytes_.data(), size(), dtype_}; }
  // Elements [begin, begin + count).
  ConstBuffer in(std::int64_t begin, std::int64_t count) const {
    return {bytes_.data() + begin * SizeOf(dtype_), count, dtype_};
  }
  MutableBuffer out(std::int64_t begin, std::int64_t count) {
    return {bytes_.data() + begin * SizeOf(dtype_), count, dtype_};
  }

  double At(std::size_t i) const { return NumberAt(i).real(); }
  Number NumberAt(std::size_t i) const {
    const std::uint8_t* p = bytes_.data() + i * static_cast<std::size_t>(SizeOf(dtype_));
    if (AccumulatesInF32(dtype_)) {
      float wide = 0;
      Convert(KernelSet::kPlain, p, dtype_, &wide, DType::kF32, 1);
      return static_cast<double>(wide);
    }
    Number number;
    WithType(dtype_, [&](auto value) {
      std::memcpy(&value, p, sizeof(value));
      number = typed_data::To(value);
    });
    return number;
  }
  // Rounded as the dtype rounds.
  void Set(std::size_t i, const Number& number) {
    std::uint8_t* p = bytes_.data() + i * static_cast<std::size_t>(SizeOf(dtype_));
    if (AccumulatesInF32(dtype_)) {
      const auto wide = static_cast<float>(number.real());
      Convert(KernelSet::kPlain, &wide, DType::kF32, p, dtype_, 1);
      return;
    }
    WithType(dtype_, [&](auto type) {
      const auto value = typed_data::From<decltype(type)>(number);
      std::memcpy(p, &value, sizeof(value));
    });
  }

 private:
  DType dtype_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace chorus
