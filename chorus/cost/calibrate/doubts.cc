#include "chorus/cost/calibrate/doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "chorus/base/counted.h"
#include "chorus/base/rate.h"
#include "chorus/base/units.h"

namespace chorus {
namespace {

using TimeOfSize = std::map<double, double>;  // median seconds by bytes

TimeOfSize MediansBySize(const std::vector<Measurement>& rows) {
  TimeOfSize times;
  for (const Measurement& m : Medians(rows)) times[m.bytes] = m.seconds;
  return times;
}

std::string SizeText(double bytes) { return ToString(Bytes(static_cast<std::int64_t>(bytes))); }

std::string OverRanks(const FittedCurve& curve) {
  return QuestionText(curve.op, curve.ranks, curve.root);
}

// Where two logs part: the middle factor over the sizes that both have, and the size that has it.
struct PartingLogs {
  double factor = 1;
  double bytes = 0;
  double one = 0;    // s
  double other = 0;  // s
};

PartingLogs Part(const TimeOfSize& one, const TimeOfSize& other) {
  std::vector<PartingLogs> shared;
  for (const auto& [bytes, seconds] : one) {
    const auto same = other.find(bytes);
    if (same == other.end()) continue;
    shared.push_back(
        {std::max(seconds / same->second, same->second / seconds), bytes, seconds, same->second});
  }
  if (shared.empty()) return {};
  const auto middle = shared.begin() + static_cast<std::ptrdiff_t>(shared.size() / 2);
  std::nth_element(shared.begin(), middle, shared.end(),
                   [](const auto& a, const auto& b) { return a.factor < b.factor; });
  return *middle;
}

std::vector<Measurement> RowsOf(const FittedCurve& curve,
                                const std::vector<Measurement>& measurements) {
  std::vector<Measurement> rows;
  for (const Measurement& m : measurements) {
    if (IsOf(m, curve)) rows.push_back(m);
  }
  return rows;
}

std::string OfContradiction(const FittedCurve& curve, const std::vector<Measurement>& rows) {
  std::map<std::string, std::vector<Measurement>> by_log;
  for (const Measurement& m : rows) by_log[m.log].push_back(m);
  std::vector<std::pair<std::string, TimeOfSize>> logs;
  for (const auto& [log, some] : by_log) logs.emplace_back(log, MediansBySize(some));
  PartingLogs worst;
  std::string names;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    for (std::size_t j = i + 1; j < logs.size(); ++j) {
      const PartingLogs here = Part(logs[i].second, logs[j].second);
      if (here.factor <= worst.factor) continue;
      worst = here;
      names = fmt::format("{} and {}", logs[i].first, logs[j].first);
    }
  }
  if (worst.factor <= kDoubtfulFactor) return "";
  return fmt::format(
      "WARNING: {} contradict each other: {} of {} took {} in one and {} in the other; the curve "
      "lies between them, so calibrate from the one that is right",
      names, OverRanks(curve), SizeText(worst.bytes), ToString(Seconds(worst.one)),
      ToString(Seconds(worst.other)));
}

std::string OfError(const FittedCurve& curve) {
  const double error = std::max(curve.error_fitted, curve.error_held_out.value_or(0));
  if (error <= kDoubtfulFactor - 1) return "";
  return fmt::format(
      "WARNING: the curve of {} is {:.0f} % off: the measurements contradict each other, or the "
      "machine was busy; measure again before you rely on it",
      OverRanks(curve), 100 * error);
}

// A value at a size, and a larger one at a smaller size before it.
struct Fall {
  double high = 0, high_bytes = 0;
  double low = 0, low_bytes = 0;
};

// The deepest, if it is of more than kDoubtfulFall. `values` are by size.
std::optional<Fall> DeepestFall(const std::map<double, double>& values) {
  std::optional<Fall> deepest;
  double most = 0, most_bytes = 0;
  double fall = kDoubtfulFall;
  for (const auto& [bytes, value] : values) {
    if (most / value > fall) {
      fall = most / value;
      deepest = Fall{most, most_bytes, value, bytes};
    }
    if (value <= most) continue;
    most = value;
    most_bytes = bytes;
  }
  return deepest;
}

std::string OfFall(const FittedCurve& curve, const std::vector<Measurement>& rows) {
  const std::optional<Fall> fall = DeepestFall(MediansBySize(rows));
  if (!fall) return "";
  return fmt::format(
      "WARNING: {} took {} for {}, but {} for {}: no curve follows times that fall as bytes "
      "grow; measure again, with more calls before (-w) and more sweeps (-N)",
      OverRanks(curve), ToString(Seconds(fall->high)), SizeText(fall->high_bytes),
      ToString(Seconds(fall->low)), SizeText(fall->low_bytes));
}

std::string OfSlowing(const FittedCurve& curve, const std::vector<Measurement>& rows) {
  std::map<double, double> rates;
  for (const auto& [bytes, seconds] : MediansBySize(rows)) rates[bytes] = bytes / seconds;
  const std::optional<Fall> fall = DeepestFall(rates);
  if (!fall) return "";
  return fmt::format(
      "WARNING: {} moved {} at {}, but {} at {}: a curve has one bandwidth for large sizes; "
      "measure those you ask about, and see whether other work disturbed them",
      OverRanks(curve), ToString(BytesPerSecond(fall->high)), SizeText(fall->high_bytes),
      ToString(BytesPerSecond(fall->low)), SizeText(fall->low_bytes));
}

}  // namespace

std::vector<std::string> DoubtsOf(const std::vector<Measurement>& measurements,
                                  const std::vector<FittedCurve>& curves) {
  std::vector<std::string> doubts;
  for (const FittedCurve& curve : curves) {
    const std::vector<Measurement> rows = RowsOf(curve, measurements);
    std::string parting = OfContradiction(curve, rows);
    if (parting.empty()) parting = OfError(curve);
    for (std::string doubt : {std::move(parting), OfFall(curve, rows), OfSlowing(curve, rows)}) {
      if (!doubt.empty()) doubts.push_back(std::move(doubt));
    }
  }
  return doubts;
}

std::vector<std::string> ChangesOf(const std::vector<Measurement>& measurements,
                                   const std::vector<Measurement>& check,
                                   const std::vector<FittedCurve>& curves) {
  std::vector<std::string> changes;
  for (const FittedCurve& curve : curves) {
    const PartingLogs here =
        Part(MediansBySize(RowsOf(curve, measurements)), MediansBySize(RowsOf(curve, check)));
    if (here.factor <= kDoubtfulFactor) continue;
    changes.push_back(fmt::format(
        "WARNING: {} of {} took {} when it was fitted and {} when it was checked: the machine was "
        "in another state",
        OverRanks(curve), SizeText(here.bytes), ToString(Seconds(here.one)),
        ToString(Seconds(here.other))));
  }
  return changes;
}

bool MeasuredOnce(const std::vector<Measurement>& measurements) {
  return Medians(measurements).size() == measurements.size();
}

}  // namespace chorus
