// Buffers of any dtype filled from, and read back as, doubles: for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/collective/group.h"
#include "chorus/kernel/convert.h"

namespace chorus {

// Calls function(T()) with the C++ type of a dtype that has one. REQUIRES: not f16, bf16, bool.
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
    default:
      return function(float());
  }
}

class TypedData {
 public:
  TypedData(DType dtype, const std::vector<double>& values)
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

  double At(std::size_t i) const {
    const std::uint8_t* p = bytes_.data() + i * static_cast<std::size_t>(SizeOf(dtype_));
    double value = 0;
    if (AccumulatesInF32(dtype_)) {
      float wide = 0;
      Convert(KernelSet::kPlain, p, dtype_, &wide, DType::kF32, 1);
      return static_cast<double>(wide);
    }
    if (dtype_ == DType::kBool) return *p;
    WithType(dtype_, [&](auto type) {
      std::memcpy(&type, p, sizeof(type));
      value = static_cast<double>(type);
    });
    return value;
  }
  // Rounded as the dtype rounds.
  void Set(std::size_t i, double value) {
    std::uint8_t* p = bytes_.data() + i * static_cast<std::size_t>(SizeOf(dtype_));
    if (AccumulatesInF32(dtype_)) {
      const auto wide = static_cast<float>(value);
      Convert(KernelSet::kPlain, &wide, DType::kF32, p, dtype_, 1);
    } else if (dtype_ == DType::kBool) {
      *p = value != 0 ? 1 : 0;
    } else {
      WithType(dtype_, [&](auto type) {
        if constexpr (std::is_same_v<decltype(type), std::uint64_t>) {
          type = static_cast<std::uint64_t>(value);
        } else if constexpr (std::is_integral_v<decltype(type)>) {
          type = static_cast<decltype(type)>(static_cast<std::int64_t>(value));  // wraps
        } else {
          type = static_cast<decltype(type)>(value);
        }
        std::memcpy(p, &type, sizeof(type));
      });
    }
  }

 private:
  DType dtype_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace chorus
