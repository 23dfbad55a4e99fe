#include "chorus/cost/calibrate/explanation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "chorus/cost/formula/formula.h"

namespace chorus {
namespace {

constexpr double kAllBytes = 1e15;  // so many that latency is nothing
constexpr double kWideFactor = 2;
constexpr double kFarShort = 2.0 / 3;   // of the data sheet's bandwidth
constexpr double kLeastLatency = 1e-9;  // s, of a machine that says 0

// What an algorithm takes on a link of 1 B/s and 1 s: proportions, the measured numbers over which
// are the link.
struct OfUnitLink {
  std::string algorithm;
  double latency = 0;  // rounds
  double inverse = 0;  // bytes over the deciding link for each byte of the array
};

std::optional<OfUnitLink> OfUnit(Wiring wiring, const std::string& op,
                                 const std::string& algorithm) {
  Question empty, large;
  empty.op = large.op = op;
  large.bytes = kAllBytes;
  wiring.link = {Seconds(1), BytesPerSecond(1)};
  const auto none = EstimateCollective(wiring, empty, algorithm, LatencyModel::kSum);
  wiring.link.latency = Seconds(0);
  const auto all = EstimateCollective(wiring, large, algorithm, LatencyModel::kSum);
  if (!none.ok() || !all.ok() || none->time.value() <= 0 || all->time.value() <= 0) return {};
  return OfUnitLink{algorithm, none->time.value(), all->time.value() / kAllBytes};
}

// Every algorithm whose formula the machine allows.
std::vector<OfUnitLink> AllOfUnit(const Wiring& wiring, const std::string& op) {
  std::vector<OfUnitLink> units;
  Question large;
  large.op = op;
  large.bytes = kAllBytes;
  const auto all = CompareAlgorithms(wiring, large, LatencyModel::kSum);
  if (!all.ok()) return units;
  for (const Estimate& e : *all) {
    if (const auto unit = OfUnit(wiring, op, e.algorithm)) units.push_back(*unit);
  }
  return units;
}

// The one that was named: bytes of the largest size's, rounds of the smallest size's.
std::optional<OfUnitLink> NamedOfUnit(const Wiring& wiring, const std::string& op,
                                      const NamedAlgorithms& named) {
  if (named.smallest.empty() || named.largest.empty()) return {};
  const auto small = OfUnit(wiring, op, named.smallest);
  auto large = OfUnit(wiring, op, named.largest);
  if (!small || !large) return {};
  if (named.smallest == named.largest) return large;
  return OfUnitLink{named.smallest + ", then " + named.largest, small->latency, large->inverse};
}

// True if the value is what the hardware's data sheet says.
bool OfDataSheet(const Machine& machine, std::string_view key, double value) {
  const Figure* figure = machine.hardware.Find(key);
  return figure != nullptr && figure->value == value && figure->source.rfind("assumed", 0) != 0;
}

// What a figure of a link is as far as its curve tells.
struct Told {
  Measured figure;
  double ratio = 1;       // to what was expected, of the value that is nearest to it
  double beaten = 1;      // the same of the value, unless the expected one stands for it
  bool expected = false;  // the figure is what was expected, since it is as good as any
};

// `expected_stands` where the interval is wide and the expected figure lies in it. So it does, data
// sheet's or not, where the interval has no upper end: then it may lie below, and the interval is
// drawn out to it.
Told Tell(Measured figure, double expected, bool expected_stands) {
  const bool known = figure.IntervalKnown() || figure.low > 0;
  const double nearest =
      known ? std::clamp(expected, figure.low, std::max(figure.low, figure.high)) : figure.value;
  const bool wide = known && figure.high > kWideFactor * figure.low;
  const bool open = wide && !std::isfinite(figure.high);
  const bool stands = open || (wide && nearest == expected && expected_stands);
  if (!stands) return {figure, nearest / expected, figure.value / expected, false};
  figure.value = expected;
  figure.low = std::min(figure.low, expected);
  return {figure, nearest / expected, nearest / expected, true};
}

// On a torus most algorithms have no formula, as long routes meet on its links: that one of them
// ran on the link of the data sheet, or on half or a fifth more of it.
Explanation WithoutFormula(const LinkSpec& own) {
  const double bandwidth = own.bandwidth.value(), latency = own.latency.value();
  Explanation e;
  e.algorithm = "an algorithm without a formula";
  e.latency = {latency, latency / 2, latency * 2};
  e.bandwidth = {bandwidth, bandwidth / 2, bandwidth * 1.2};
  e.surprise = kMostSurprise;
  return e;
}

double BandwidthSurprise(double ratio, bool sheet) {
  if (ratio < 1) return -std::log2(ratio);
  return sheet ? kMostSurprise * std::log(ratio) / std::log(1.5) : std::log2(ratio);
}

double LatencySurprise(double ratio) {
  return ratio < 1 ? -std::log2(std::max(ratio, 1e-9)) : std::log10(ratio);
}

}  // namespace

std::vector<Explanation> ExplanationsOf(const Machine& like, const FittedCurve& fit,
                                        const NamedAlgorithms& named) {
  const Wiring wiring = WiringOf(like, fit.ranks);
  const std::optional<OfUnitLink> one = NamedOfUnit(wiring, fit.op, named);
  const std::vector<OfUnitLink> units =
      one ? std::vector<OfUnitLink>{*one} : AllOfUnit(wiring, fit.op);
  double least = std::numeric_limits<double>::infinity();  // moved without the help of switches
  for (const OfUnitLink& unit : units) {
    if (unit.algorithm != "sharp") least = std::min(least, unit.inverse);
  }
  const LinkSpec own = like.topology.definition().link;
  const bool bandwidth_sheet = OfDataSheet(like, "link_bandwidth", own.bandwidth.value());
  const bool latency_sheet = OfDataSheet(like, "link_latency", own.latency.value());
  const double expected = std::max(own.latency.value(), kLeastLatency);
  std::vector<Explanation> all;
  for (const OfUnitLink& unit : units) {
    const Told bandwidth = Tell({unit.inverse / fit.inverse.value, unit.inverse / fit.inverse.high,
                                 unit.inverse / fit.inverse.low},
                                own.bandwidth.value(), bandwidth_sheet);
    const Told latency = Tell({fit.latency.value / unit.latency, fit.latency.low / unit.latency,
                               fit.latency.high / unit.latency},
                              expected, latency_sheet);
    Explanation e;
    e.algorithm = unit.algorithm;
    e.latency = latency.figure;
    e.latency_of_sheet = latency.expected;
    e.bandwidth = bandwidth.figure;
    e.bandwidth_of_sheet = bandwidth.expected;
    if (latency_sheet) e.latency_ratio = latency.beaten;
    if (bandwidth_sheet) e.bandwidth_ratio = bandwidth.beaten;
    e.surprise = BandwidthSurprise(bandwidth.ratio, bandwidth_sheet) +
                 LatencySurprise(latency.ratio) + std::max(0.0, std::log2(unit.inverse / least));
    all.push_back(std::move(e));
  }
  std::stable_sort(all.begin(), all.end(), [](const Explanation& a, const Explanation& b) {
    return a.surprise < b.surprise;
  });
  while (!all.empty() && all.back().surprise > all.front().surprise + kMostSurprise) all.pop_back();
  if (wiring.fabric == Fabric::kTorus && !one && !all.empty() &&
      all.front().bandwidth.value < kFarShort * own.bandwidth.value()) {
    all.push_back(WithoutFormula(own));
  }
  return all;
}

}  // namespace chorus
