// Lower bounds and the sizes where one algorithm overtakes another.
#include <fmt/format.h>

#include <cmath>

#include "chorus/base/rate.h"
#include "chorus/cost/formula/phases.h"

namespace chorus {

LowerBound LowerBoundOf(const Wiring& w, const Question& q) {
  LowerBound bound;
  if (w.ranks == 1) return bound;
  const auto n = static_cast<double>(w.ranks);
  // What must leave the busiest device, or enter it, whatever the algorithm, in parts of V.
  double share = 1;
  std::string text = "1";
  if (q.op == "all_reduce") {
    share = 2 * (n - 1) / n;
    text = "2(N - 1)/N";
  } else if (BusFactor(q.op, w.ranks) != 1) {
    share = (n - 1) / n;
    text = "(N - 1)/N";
  } else if (q.op == "barrier") {
    share = 0;
  }
  double out = w.DeviceBandwidth().value();
  std::string_view link = "all links of a device";
  if (w.node_size == 1) {
    out = w.nic.bandwidth.value();
    link = "its port";
  } else if (w.nodes > 1) {
    out += w.NodeBandwidth().value() / static_cast<double>(w.node_size);
    link = "its links and its share of the node's ports";
  } else if (w.fabric == Fabric::kSwitch) {
    link = "its port";
  }
  bound.bandwidth = Seconds(share * q.bytes / out);
  const Seconds hop = w.node_size == 1 ? w.nic.latency : w.link.latency;

  bound.latency = hop;
  bound.reason = fmt::format("{} x V / {} per direction, {}: {}", text,
                             ToString(BytesPerSecond(out)), link, ToString(bound.bandwidth));
  return bound;
}

std::optional<double> Crossover(const Wiring& w, const Question& question,
                                std::string_view algorithm, std::string_view other,
                                LatencyModel model) {
  // Positive where `algorithm` is slower.
  const auto difference = [&](double bytes) -> std::optional<double> {
    Question q = question;
    q.bytes = bytes;
    const Result<Estimate> a = EstimateCollective(w, q, algorithm, model);
    const Result<Estimate> b = EstimateCollective(w, q, other, model);
    if (!a.ok() || !b.ok()) return std::nullopt;
    return a->time.value() - b->time.value();
  };
  double low = 1, high = 0x1p50;
  const std::optional<double> at_low = difference(low), at_high = difference(high);
  if (!at_low || !at_high || *at_low * *at_high >= 0) return std::nullopt;
  for (int i = 0; i < 200; ++i) {
    const double middle = std::sqrt(low * high);
    (*difference(middle) * *at_low > 0 ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

double RingKnee(const Wiring& w) {
  const LinkSpec link = w.RingLink();
  return static_cast<double>(w.ranks) * link.latency.value() * link.bandwidth.value();
}

}  // namespace chorus
