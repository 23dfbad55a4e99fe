#include "chorus/cost/calibrate/link_of_fits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "chorus/base/counted.h"
#include "chorus/base/rate.h"

namespace chorus {
namespace {

constexpr double kDeterminedFactor = 1.5;
constexpr double kBeatenBandwidth = 1.1;  // of the data sheet's
constexpr double kBeatenLatency = 0.49;   // half, but for rounding
constexpr double kSameFactor = 1.03;      // figures that are told as one
constexpr std::size_t kToldAtMost = 3;    // alternatives

std::string BandwidthText(double value) { return ToString(BytesPerSecond(value)); }
std::string LatencyText(double value) { return ToString(Seconds(value)); }

// An interval may be open above: a bandwidth of which only the least is known.
bool IntervalTold(const Measured& m) { return m.IntervalKnown() || m.low > 0; }

std::string IntervalText(const Measured& m, std::string (*text)(double)) {
  if (!IntervalTold(m)) return "(unknown)";
  return fmt::format("({} .. {})", text(m.low),
                     std::isfinite(m.high) ? text(m.high) : std::string("no limit"));
}

// How far apart the bandwidths lie that a curve lets be: over its explanations, and for its noise.
double Spread(const std::vector<Explanation>& explanations) {
  const auto [least, most] = std::minmax_element(
      explanations.begin(), explanations.end(),
      [](const auto& a, const auto& b) { return a.bandwidth.value < b.bandwidth.value; });
  const Measured& best = explanations[0].bandwidth;
  return most->bandwidth.value / least->bandwidth.value * (best.high / best.low);
}

// Which algorithm all measurements of a curve with so many bytes name; empty if none or several.
std::string NamedAt(const FittedCurve& fit, std::int64_t bytes,
                    const std::vector<Measurement>& measurements) {
  std::string name;
  bool first = true;
  for (const Measurement& m : measurements) {
    if (!IsOf(m, fit)) continue;
    if (static_cast<std::int64_t>(m.bytes) != bytes) continue;
    if (!first && m.algorithm != name) return "";
    name = m.algorithm;
    first = false;
  }
  return name;
}

// The interval that holds those of all, with the value of the first.
Measured Hull(const std::vector<Explanation>& explanations, Measured Explanation::*figure) {
  Measured hull = explanations[0].*figure;
  for (const Explanation& e : explanations) {
    hull.low = std::min(hull.low, (e.*figure).low);
    hull.high = std::max(hull.high, (e.*figure).high);
  }
  return hull;
}

bool SameFigure(double a, double b) { return a < b * kSameFactor && b < a * kSameFactor; }

// True if all explanations have the figure of the first.
bool Agreed(const std::vector<Explanation>& explanations, Measured Explanation::*figure) {
  const double first = (explanations[0].*figure).value;
  return std::all_of(explanations.begin(), explanations.end(),
                     [&](const Explanation& e) { return SameFigure((e.*figure).value, first); });
}

bool NarrowInterval(const Measured& m) {
  return m.IntervalKnown() && m.high <= kDeterminedFactor * m.low;
}

// "NOT determined: the log does not say ...": what else it could be, empty if nothing.
std::string OtherwiseText(const std::vector<Explanation>& explanations) {
  std::vector<std::string> others;
  std::size_t left_out = 0;
  for (const Explanation& e : explanations) {
    if (SameFigure(e.bandwidth.value, explanations[0].bandwidth.value) &&
        SameFigure(e.latency.value, explanations[0].latency.value)) {
      continue;
    }
    if (others.size() == kToldAtMost) {
      ++left_out;
      continue;
    }
    others.push_back(fmt::format("{} with {} and {}", e.algorithm, BandwidthText(e.bandwidth.value),
                                 LatencyText(e.latency.value)));
  }
  if (others.empty()) return "";
  std::string text = fmt::format(
      "\n  NOT determined: the log does not say which algorithm ran, and as long would take {}",
      fmt::join(others, ", "));
  if (left_out > 0) text += fmt::format(", and {} more", left_out);
  return text + "; --algorithm says which ran";
}

bool BeatsBandwidth(const Explanation& e) { return e.bandwidth_ratio > kBeatenBandwidth; }
bool BeatsLatency(const Explanation& e) { return e.latency_ratio < kBeatenLatency; }

// Of a link that beats the data sheet of `like`; empty if it does not.
std::string BeatenText(const Explanation& e, const std::string& like) {
  std::string text;
  const auto tell = [&](std::string_view what, double ratio) {
    text += fmt::format(
        "\n  WARNING: NOT determined: {} is {:.3g} x the data sheet of {}; is --like "
        "right?",
        what, ratio, like);
  };
  if (BeatsBandwidth(e)) {
    tell(e.bandwidth_of_sheet ? "the least bandwidth that the times allow" : "the bandwidth",
         e.bandwidth_ratio);
  }
  if (BeatsLatency(e)) tell("the latency", e.latency_ratio);
  return text;
}

}  // namespace

LinkSpec LinkOfFits::Link() const {
  return {Seconds(explanations[0].latency.value), BytesPerSecond(explanations[0].bandwidth.value)};
}

Measured LinkOfFits::Latency() const {
  Measured hull = Hull(explanations, &Explanation::latency);
  const Explanation& best = explanations[0];
  if (!BeatsLatency(best) || !hull.IntervalKnown() || best.latency_ratio <= 0) return hull;
  hull.high = std::max(hull.high, hull.value / best.latency_ratio);
  return hull;
}
Measured LinkOfFits::Bandwidth() const {
  Measured hull = Hull(explanations, &Explanation::bandwidth);
  const Explanation& best = explanations[0];
  if (!BeatsBandwidth(best) || best.bandwidth_of_sheet) return hull;
  hull.low = std::min(hull.low, hull.value / best.bandwidth_ratio);
  return hull;
}

bool LinkOfFits::LatencyDetermined() const {
  return Agreed(explanations, &Explanation::latency) && NarrowInterval(explanations[0].latency) &&
         !BeatsLatency(explanations[0]);
}
bool LinkOfFits::BandwidthDetermined() const {
  return Agreed(explanations, &Explanation::bandwidth) &&
         NarrowInterval(explanations[0].bandwidth) && !BeatsBandwidth(explanations[0]);
}

std::string LinkOfFits::ToString() const {
  const Measured bandwidth = Bandwidth(), latency = Latency();
  std::string text =
      fmt::format("{} per direction {} and {} {}, with which {} takes what {} over {} took",
                  BandwidthText(bandwidth.value), IntervalText(bandwidth, BandwidthText),
                  LatencyText(latency.value), IntervalText(latency, LatencyText),
                  explanations[0].algorithm, op, Counted(ranks, "rank"));
  text += OtherwiseText(explanations);
  const Explanation& best = explanations[0];
  text += BeatenText(best, like);
  const auto open = [&](const char* what, const Measured& m, bool of_sheet, const char* sizes) {
    if (!IntervalTold(m) || NarrowInterval(m)) return;
    text += fmt::format("\n  NOT determined: the {}{}; measure {} sizes, and more often (-N 5)",
                        what, of_sheet ? ", so that the data sheet's stands" : "", sizes);
  };
  open("bandwidth", best.bandwidth, best.bandwidth_of_sheet, "larger");
  open("latency", best.latency, best.latency_of_sheet, "smaller");
  return text;
}

Result<LinkOfFits> FindLinkOfFits(const Machine& like, const std::vector<FittedCurve>& fits,
                                  const std::vector<Measurement>& measurements) {
  if (like.topology.definition().nodes > 1) {
    return NotFound("over several nodes links and the ports between nodes cannot be told apart");
  }
  std::optional<LinkOfFits> best;
  double least = 0;
  for (const std::string op : {"all_gather", "reduce_scatter", "all_reduce"}) {
    for (const FittedCurve& fit : fits) {
      if (fit.op != op || fit.ranks < 2 || fit.ranks > like.topology.device_count()) continue;
      LinkOfFits found = {like.name, op, fit.ranks,
                          ExplanationsOf(like, fit,
                                         {NamedAt(fit, fit.least_bytes, measurements),
                                          NamedAt(fit, fit.most_bytes, measurements)})};
      if (found.explanations.empty()) continue;
      const double spread = Spread(found.explanations);
      if (best.has_value() && spread * kSameFactor >= least) continue;
      best = std::move(found);
      least = spread;
    }
  }
  if (best.has_value()) return *best;
  return NotFound(
      "no all_reduce, all_gather or reduce_scatter of several ranks was measured of which this "
      "machine's formulas know");
}

}  // namespace chorus
