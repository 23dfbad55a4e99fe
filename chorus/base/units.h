// Units: numbers that know what they count.
//
// Bytes + Bytes is Bytes, Bytes / Seconds is BytesPerSecond, Bytes + Seconds does not compile.
// Text uses powers of 1024 with an i (KiB) and of 1000 without (KB).
// Thread safety: value types.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "chorus/base/status.h"

namespace chorus {

// A quantity of one dimension. Rep is std::int64_t for things counted, double for things measured.
template <typename Tag, typename Rep>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, Rep k) { return Quantity(a.value_ * k); }
  friend constexpr Quantity operator*(Rep k, Quantity a) { return Quantity(a.value_ * k); }
  constexpr Quantity& operator+=(Quantity b) {
    value_ += b.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity b) {
    value_ -= b.value_;
    return *this;
  }

 private:
  Rep value_{};
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, std::int64_t>;  // floating-point operations
using Seconds = Quantity<struct SecondsTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;  // one direction
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;

constexpr Seconds operator/(Bytes n, BytesPerSecond w) {
  return Seconds(static_cast<double>(n.value()) / w.value());
}
constexpr Seconds operator/(Flops n, FlopsPerSecond w) {
  return Seconds(static_cast<double>(n.value()) / w.value());
}
constexpr BytesPerSecond operator/(Bytes n, Seconds t) {
  return BytesPerSecond(static_cast<double>(n.value()) / t.value());
}
constexpr FlopsPerSecond operator/(Flops n, Seconds t) {
  return FlopsPerSecond(static_cast<double>(n.value()) / t.value());
}

// "0 B", "512 B", "1.5 KiB", "4 MiB": at most three significant digits after the unit is chosen.
std::string ToString(Bytes bytes);
// "850 ns", "1.04 ms", "2 s".
std::string ToString(Seconds seconds);
// "2.15 GFLOP".
std::string ToString(Flops flops);

// Reads "8", "64B", "4KiB", "16GB", "1.5 MiB". Errors: not a number, unknown unit, negative, more
// than 2^63-1, or a fraction of a byte.
Result<Bytes> ParseBytes(std::string_view text);

}  // namespace chorus
