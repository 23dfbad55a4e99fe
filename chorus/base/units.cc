#include "chorus/base/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace chorus {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kByteUnits[] = {
    {"B", 1},    {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
    {"KB", 1e3}, {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
};

std::string Scaled(double value, const Unit* units, int count) {
  // What three digits round up to the next unit is written in that: 999.9 us are 1 ms.
  constexpr double kRoundsUp = 1 - 5e-4;
  int i = 0;
  while (i + 1 < count && std::abs(value) >= units[i + 1].factor * kRoundsUp) ++i;
  return fmt::format("{:.3g} {}", value / units[i].factor, units[i].name);
}

}  // namespace

std::string ToString(Bytes bytes) {
  const auto value = static_cast<double>(bytes.value());
  if (std::abs(value) < 1024) return fmt::format("{} B", bytes.value());
  constexpr Unit kBinary[] = {
      {"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  constexpr double kRoundsUp = 1023.5 / 1024;  // to 1024 of four digits, which is 1 of the next
  int i = 0;
  while (i < 4 && std::abs(value) >= kBinary[i + 1].factor * kRoundsUp) ++i;
  return fmt::format("{:.4g} {}", value / kBinary[i].factor, kBinary[i].name);
}

std::string ToString(Seconds seconds) {
  constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  return Scaled(seconds.value(), kUnits, 4);
}

std::string ToString(Flops flops) {
  constexpr Unit kUnits[] = {
      {"FLOP", 1}, {"KFLOP", 1e3}, {"MFLOP", 1e6}, {"GFLOP", 1e9}, {"TFLOP", 1e12}};
  return Scaled(static_cast<double>(flops.value()), kUnits, 5);
}

Result<Bytes> ParseBytes(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || !std::isfinite(number)) {
    return InvalidArgument(
        fmt::format("'{}' is no size; write for example 64, 4KiB or 16GB", text));
  }
  std::string_view unit(end);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (unit.empty()) unit = "B";
  if (unit == "B") {  // a double does not hold every number of bytes
    std::int64_t exact = 0;
    const auto [rest, error] = std::from_chars(copy.c_str(), end, exact);
    if (error == std::errc() && rest == end && exact >= 0) return Bytes(exact);
  }
  for (const Unit& known : kByteUnits) {
    if (known.name != unit) continue;
    const double bytes = number * known.factor;
    if (bytes < 0 || bytes >= 0x1p63 || bytes != std::floor(bytes)) {
      return InvalidArgument(
          fmt::format("'{}' is not a whole number of bytes from 0 to 2^63-1", text));
    }
    return Bytes(static_cast<std::int64_t>(bytes));
  }
  return InvalidArgument(fmt::format(
      "'{}' has the unknown unit '{}'; use B, KiB, MiB, GiB, TiB or KB, MB, GB, TB", text, unit));
}

}  // namespace chorus
