#include "chorus/cost/calibrate/link_of_fits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "chorus/base/counted.h"
#include "chorus/base/rate.h"
#include "chorus/cost/formula/formula.h"

namespace chorus {
namespace {

constexpr double kAllBytes = 1e15;  // so many that latency is nothing
constexpr double kAlike = 1e-6;     // relative: formulas that say the same

// What an algorithm takes with a link of 1 B/s and 1 s: proportions, the measured numbers over
// which are the link.
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

std::vector<OfUnitLink> Candidates(const Wiring& wiring, const std::string& op) {
  std::vector<OfUnitLink> candidates;
  Question large;
  large.op = op;
  large.bytes = kAllBytes;
  std::string fastest;
  if (const auto all = CompareAlgorithms(wiring, large, LatencyModel::kSum); all.ok()) {
    fastest = all->front().algorithm;
  }
  for (const std::string& algorithm : {std::string("ring"), fastest}) {
    if (const auto candidate = OfUnit(wiring, op, algorithm)) candidates.push_back(*candidate);
  }
  return candidates;
}

}  // namespace

std::string LinkOfFits::ToString() const {
  return fmt::format("{} per direction and {}, with which {} takes what {} over {} took",
                     chorus::ToString(link.bandwidth), chorus::ToString(link.latency), algorithm,
                     op, Counted(ranks, "rank"));
}

Result<LinkOfFits> FindLinkOfFits(const Machine& like, const std::vector<FittedCurve>& fits) {
  if (like.topology.definition().nodes > 1) {
    return NotFound("over several nodes links and the ports between nodes cannot be told apart");
  }
  const double own = like.topology.definition().link.bandwidth.value();
  std::optional<LinkOfFits> nearest;
  double distance = 0;
  for (const std::string op : {"all_reduce", "all_gather", "reduce_scatter"}) {
    for (const FittedCurve& fit : fits) {
      if (fit.op != op || fit.ranks < 2 || fit.inverse.value <= 0) continue;
      if (fit.ranks > like.topology.device_count()) continue;
      const std::vector<OfUnitLink> candidates = Candidates(WiringOf(like, fit.ranks), op);
      if (candidates.empty()) continue;
      const bool agree =
          std::abs(candidates.front().inverse / candidates.back().inverse - 1) < kAlike;
      for (const OfUnitLink& unit : candidates) {
        const double bandwidth = unit.inverse / fit.inverse.value;
        const LinkOfFits found = {
            {Seconds(fit.latency.value / unit.latency), BytesPerSecond(bandwidth)},
            op,
            fit.ranks,
            unit.algorithm};
        if (agree) return found;
        const double off = std::abs(std::log(bandwidth / own));
        if (nearest.has_value() && off >= distance) continue;
        nearest = found;
        distance = off;
      }
    }
  }
  if (nearest.has_value()) return *nearest;
  return NotFound(
      "no all_reduce, all_gather or reduce_scatter of several ranks was measured of which this "
      "machine's formulas know");
}

}  // namespace chorus
