#include "chorus/base/rate.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <vector>

namespace chorus {
namespace {

struct RateUnit {
  std::string_view name;
  double factor;
};
using RateUnits = std::vector<RateUnit>;

const RateUnits& BandwidthUnits() {
  static const RateUnits units = {
      {"B/s", 1},        {"KB/s", 1e3},         {"MB/s", 1e6},         {"GB/s", 1e9},
      {"TB/s", 1e12},    {"KiB/s", 0x1p10},     {"MiB/s", 0x1p20},     {"GiB/s", 0x1p30},
      {"TiB/s", 0x1p40}, {"Mbit/s", 1e6 / 8.0}, {"Gbit/s", 1e9 / 8.0}, {"Tbit/s", 1e12 / 8.0}};
  return units;
}
const RateUnits& SecondUnits() {
  static const RateUnits units = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  return units;
}
const RateUnits& FlopUnits() {
  static const RateUnits units = {
      {"FLOP/s", 1}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};
  return units;
}

Result<double> Parse(std::string_view text, std::string_view what, std::string_view example,
                     const RateUnits& units) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || !std::isfinite(number) || number < 0) {
    return InvalidArgument(fmt::format("'{}' is no {}; write for example {}", text, what, example));
  }
  std::string_view unit(end);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  while (!unit.empty() && unit.back() == ' ') unit.remove_suffix(1);
  std::string known;
  for (const RateUnit& u : units) {
    if (u.name == unit) return number * u.factor;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", u.name);
  }
  if (unit.empty()) {
    return InvalidArgument(fmt::format("'{}' has no unit; use {}", text, known));
  }
  return InvalidArgument(fmt::format("'{}' has the unit '{}', which is none of a {}; use {}", text,
                                     unit, what, known));
}

std::string Scaled(double value, const RateUnits& units, std::size_t first, std::size_t count) {
  // What four digits round up to the next unit is written in that: 999,990 B/s are 1 MB/s.
  constexpr double kRoundsUp = 1 - 5e-5;
  std::size_t i = first;
  while (i + 1 < first + count && std::abs(value) >= units[i + 1].factor * kRoundsUp) ++i;
  return fmt::format("{:.4g} {}", value / units[i].factor, units[i].name);
}

}  // namespace

std::string DecimalBytes(double bytes) {
  static const RateUnits units = {{"B", 1},     {"KB", 1e3},  {"MB", 1e6}, {"GB", 1e9},
                                  {"TB", 1e12}, {"PB", 1e15}, {"EB", 1e18}};
  return Scaled(bytes, units, 0, units.size());
}

Result<BytesPerSecond> ParseBandwidth(std::string_view text) {
  CHORUS_ASSIGN_OR_RETURN(const double value,
                          Parse(text, "bandwidth", "450GB/s or 400Gbit/s", BandwidthUnits()));
  return BytesPerSecond(value);
}

Result<Seconds> ParseSeconds(std::string_view text) {
  CHORUS_ASSIGN_OR_RETURN(const double value, Parse(text, "time", "1.2us", SecondUnits()));
  return Seconds(value);
}

Result<FlopsPerSecond> ParseFlopRate(std::string_view text) {
  CHORUS_ASSIGN_OR_RETURN(const double value,
                          Parse(text, "rate of computing", "989TFLOP/s", FlopUnits()));
  return FlopsPerSecond(value);
}

std::string ToString(BytesPerSecond bandwidth) {
  return Scaled(bandwidth.value(), BandwidthUnits(), 0, 5);
}

std::string ToString(FlopsPerSecond rate) { return Scaled(rate.value(), FlopUnits(), 0, 4); }

}  // namespace chorus
