// Lower bounds and the sizes where one algorithm overtakes another.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chorus/base/rate.h"
#include "chorus/cost/formula/phases.h"

namespace chorus {

namespace {

// Some ranks and the links that lead out of them, as many lead in.
struct Side {
  double ranks = 1;
  double sets = 0;          // sets alike into which all ranks fall; 0: this is one by itself
  std::string_view letter;  // how many there are, as it is written: N, M
  double out = 0;           // B/s
  std::string_view link;
  bool adds_up = false;  // what is at the other end of the links reduces
};

// What must cross the border of a side, in one direction, in parts of V. Of a set by itself there
// is a rank on it and one off it that need each other's; of sets alike the mean counts.
struct Crossing {
  double part = 1;
  std::string text;  // "2(N - 1)/N x "
};

Crossing CrossingOf(const Side& side, std::string_view op, double n) {
  const double others = (n - side.ranks) / n;
  const std::string fraction = side.letter.empty() ? fmt::format("{:.4g} x ", others)
                                                   : fmt::format("({0} - 1)/{0} x ", side.letter);
  if (op == "barrier") return {0, "0 x "};
  if (op == "all_reduce") {
    // Every set's sum has to leave it and the whole has to come in. Between sets that only pass
    // messages a sum takes sets - 1 of them and its spreading as many.
    if (side.adds_up || side.sets == 0) return {1, ""};
    const double part = 2 * (side.sets - 1) / side.sets;
    return {part, side.letter.empty() ? fmt::format("{:.4g} x ", part)
                                      : fmt::format("2({0} - 1)/{0} x ", side.letter)};
  }
  if (op == "all_to_all") {
    if (side.ranks == 1) return {others, fraction};
    return {side.ranks * others, fmt::format("{:.4g} x ", side.ranks * others)};
  }
  if (op == "all_gather" || op == "reduce_scatter" || op == "gather" || op == "scatter") {
    return {others, fraction};
  }
  return {1, ""};  // all of V goes from one rank to another, or to a root
}

// Links of a torus over its devices.
double MeanTorusLinks(const Wiring& w) {
  double links = 0;
  for (const TorusAxis& axis : w.axes) {
    if (axis.size == 1) continue;
    const auto x = static_cast<double>(axis.size);
    links += axis.wraps ? 2 : 2 * (x - 1) / x;
  }
  return links;
}

// Links of one device of a torus: those at the end of an axis that does not wrap have one less.
double TorusLinksOf(const Wiring& w, std::int64_t device) {
  double links = 0;
  for (auto axis = w.axes.rbegin(); axis != w.axes.rend(); ++axis) {
    const std::int64_t at = device % axis->size;
    device /= axis->size;
    if (axis->size == 1) continue;
    links += axis->wraps || (at > 0 && at + 1 < axis->size) ? 2 : 1;
  }
  return links;
}

bool OneRankDecides(std::string_view op) { return op == "gather" || op == "scatter"; }

void AddDevices(const Wiring& w, const Question& q, std::vector<Side>& sides) {
  const double n = RanksOf(w);
  const bool inside = w.node_size > 1;
  const bool adds_up = (inside && w.switch_reduces) || (w.nodes > 1 && w.network_reduces);
  Side mean{1, n, "N", 0, "its port", adds_up};
  if (inside && w.fabric == Fabric::kTorus) {
    mean.out = w.link.bandwidth.value() * MeanTorusLinks(w);
    mean.link = "all links of a device";
  } else if (inside) {
    mean.out = w.DeviceBandwidth().value();
    if (w.fabric == Fabric::kMesh) mean.link = "all links of a device";
  }
  Side one = mean;
  if (inside && w.fabric == Fabric::kTorus) {
    one.out = w.link.bandwidth.value() * TorusLinksOf(w, OneRankDecides(q.op) ? q.root : 0);
  }
  one.sets = 0;
  if (w.nodes > 1) {
    one.out += w.nic.bandwidth.value();
    mean.out += w.NodeBandwidth().value() * static_cast<double>(w.nodes) / n;
    if (inside) {
      mean.link = "its links and its share of the node's ports";
      one.link = "its links and a port of the node";
    }
  }
  for (std::string_view alike : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}) {
    if (q.op == alike) sides.push_back(mean);  // of each rank as much
  }
  sides.push_back(one);
}

// Sets of `size` ranks, one after another, and what is left for the last.
void AddSets(const Wiring& w, const Question& q, std::int64_t size, double out, double last_out,
             std::string_view letter, std::string_view link, std::vector<Side>& sides) {
  const std::int64_t sets = (w.ranks + size - 1) / size, last = w.ranks - (sets - 1) * size;
  if (sets == 1) return;
  const bool rooted = OneRankDecides(q.op);
  const bool with_last = rooted && q.root / size == sets - 1;
  if (!with_last) {
    const double alike = last == size ? static_cast<double>(sets) : 0;
    sides.push_back(
        {static_cast<double>(size), alike, alike == 0 ? "" : letter, out, link, w.network_reduces});
  }
  if (last != size && (with_last || !rooted)) {
    sides.push_back({static_cast<double>(last), 0, "", last_out, link, w.network_reduces});
  }
}

// The two halves of an axis, between which everyone sends to everyone.
void AddHalves(const Wiring& w, std::vector<Side>& sides) {
  for (const TorusAxis& axis : w.axes) {
    if (axis.size == 1) continue;
    const std::int64_t slice = w.ranks / axis.size;
    const std::int64_t half = axis.size / 2 * slice;
    sides.push_back({static_cast<double>(half), 0, "",
                     w.link.bandwidth.value() * static_cast<double>(slice * (axis.wraps ? 2 : 1)),
                     "between the halves of an axis", false});
  }
}

// Of the way that there must be: between the two ends of a torus, to another node, or to a device.
Seconds LeastLatency(const Wiring& w, std::string_view op) {
  if (w.nodes > 1) return w.nic.latency;
  if (w.fabric != Fabric::kTorus) return w.link.latency;
  double hops = 0;
  for (std::string_view all :
       {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier"}) {
    if (op != all) continue;
    for (const TorusAxis& axis : w.axes) {
      hops += static_cast<double>(axis.wraps ? axis.size / 2 : axis.size - 1);
    }
  }
  return Seconds(std::max(hops, 1.0) * w.link.latency.value());
}

}  // namespace

LowerBound LowerBoundOf(const Wiring& w, const Question& q) {
  LowerBound bound;
  if (w.ranks == 1) return bound;
  std::vector<Side> sides;
  AddDevices(w, q, sides);
  if (w.nodes > 1 && w.node_size > 1) {
    const std::int64_t last = w.RanksInNode(w.nodes - 1);
    const std::int64_t last_ports = (last * w.nics + w.node_size - 1) / w.node_size;
    AddSets(w, q, w.node_size, w.NodeBandwidth().value(),
            w.nic.bandwidth.value() * static_cast<double>(last_ports), "M", "the ports of a node",
            sides);
  }
  if (w.leaf_nodes > 0) {
    const double out = w.LeafBandwidth().value();
    AddSets(w, q, w.leaf_nodes * w.node_size, out, out, "", "up from a leaf switch", sides);
  }
  if (w.fabric == Fabric::kTorus && w.nodes == 1 && q.op == "all_to_all") AddHalves(w, sides);

  for (const Side& side : sides) {
    const Crossing crossing = CrossingOf(side, q.op, RanksOf(w));
    const Seconds takes(crossing.part * q.bytes / side.out);
    if (!bound.reason.empty() && takes <= bound.bandwidth) continue;
    bound.bandwidth = takes;
    bound.reason = fmt::format("{}V / {} per direction, {}: {}", crossing.text,
                               ToString(BytesPerSecond(side.out)), side.link, ToString(takes));
  }
  bound.latency = LeastLatency(w, q.op);
  // Blocks of no bytes are signalled.
  if (q.op == "barrier" || q.bytes == 0) {
    bound.reason = fmt::format("latency alone: {}", ToString(bound.latency));
  }
  return bound;
}

std::optional<double> Crossover(const Wiring& w, const Question& question,
                                std::string_view algorithm, std::string_view other,
                                LatencyModel model) {
  const auto one = EstimateBySize::Of(w, question, algorithm, model);
  const auto two = EstimateBySize::Of(w, question, other, model);
  if (!one.ok() || !two.ok()) return std::nullopt;
  // Positive where `algorithm` is slower.
  const auto difference = [&](double bytes) -> std::optional<double> {
    const Result<Estimate> a = one->At(bytes);
    const Result<Estimate> b = two->At(bytes);
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
