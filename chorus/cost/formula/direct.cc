// Algorithms in which ranks talk to all others, or all to one, at once.
//
//   switch   a port carries all that its device sends: latency + (N - 1) messages / W
//   mesh     a link for each peer: latency + 1 message / W
//   nodes    what stays inside a node takes the fabric, the rest the ports of the node, at the same
//            time: the later one decides
#include <fmt/format.h>

#include <algorithm>

#include "chorus/cost/formula/timetable.h"

namespace chorus {
namespace {

// Messages that begin at once and are of one size end when the link is through that has most of
// them for what it carries: none of that link's has had a smaller share elsewhere.
struct Busiest {
  double messages = 0;
  double seconds_per_byte = 0;  // of one message
  std::string_view link;
  BytesPerSecond bandwidth;
};

void Take(Busiest& busiest, std::int64_t messages, BytesPerSecond bandwidth,
          std::string_view link) {
  const auto m = static_cast<double>(messages);
  if (m / bandwidth.value() <= busiest.seconds_per_byte) return;
  busiest = {m, m / bandwidth.value(), link, bandwidth};
}

// One round of messages of `bytes`; `of` says what that is of V: "/N" or "". `inside` of them share
// a device's link, and of those between nodes `between` has the link with most.
Result<Phases> AtOnce(const Wiring& w, std::int64_t inside, const Busiest& between, double bytes,
                      std::string_view of) {
  Phases p;
  p.together = Together::kOverlapped;
  const auto factor = [&](double messages) { return fmt::format("{:g}{}", messages, of); };
  if (inside > 0) {
    const double messages = w.fabric == Fabric::kMesh ? 1 : static_cast<double>(inside);
    p.phases.push_back(InsideNode(w, factor(messages), 1, messages * bytes));
  }
  if (between.messages > 0) {
    p.phases.push_back({factor(between.messages), 1, between.messages * bytes, between.bandwidth,
                        w.nic.latency, std::string(between.link), true});
  }
  return p;
}

// Every rank sends `bytes` to every other, all at once.
Result<Phases> Everyone(const Wiring& w, double bytes, std::string_view of,
                        std::string_view algorithm) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, algorithm));
  Busiest between;
  for (const std::int64_t node : {std::int64_t{0}, w.nodes - 1}) {  // a whole one, and the last
    const std::int64_t size = w.RanksInNode(node);
    Take(between, std::min(size, w.DevicesOnAPort()) * (w.ranks - size), w.nic.bandwidth,
         "a port between nodes");
  }
  if (w.leaf_nodes > 0) {
    const std::int64_t size = w.leaf_nodes * w.node_size, last = (w.ranks - 1) / size * size;
    for (const std::int64_t ranks : {size, w.ranks - last}) {
      Take(between, ranks * (w.ranks - ranks), w.LeafBandwidth(), "up from a leaf switch");
    }
  }
  return AtOnce(w, w.node_size - 1, between, bytes, of);
}

// The root sends `bytes` to each of the others, or they to it, all at once.
Result<Phases> WithTheRoot(const Wiring& w, const Question& q, double bytes, std::string_view of,
                           std::string_view algorithm) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, algorithm));
  const std::int64_t inside = w.RanksInNode(q.root / w.node_size);
  Busiest between;
  Take(between, w.ranks - inside, w.nic.bandwidth, "the root's port between nodes");
  if (w.leaf_nodes > 0) {
    const std::int64_t size = w.leaf_nodes * w.node_size, first = q.root / size * size;
    Take(between, w.ranks - std::min(size, w.ranks - first), w.LeafBandwidth(),
         "the root's leaf switch");
  }
  return AtOnce(w, inside - 1, between, bytes, of);
}

// Everyone, `rounds` times.
Result<Phases> Repeated(Result<Phases> once, double rounds) {
  if (!once.ok()) return once;
  for (Phase& phase : once->phases) {
    phase.rounds *= rounds;
    if (rounds != 1) phase.factor = fmt::format("{:g} x {}", rounds, phase.factor);
  }
  return once;
}

}  // namespace

Result<Phases> DirectGatherAllTime(const Wiring& w, const Question& q) {
  return Everyone(w, q.bytes / static_cast<double>(w.ranks), "/N", "direct");
}

Result<Phases> DirectAllReduceTime(const Wiring& w, const Question& q) {
  return Repeated(DirectGatherAllTime(w, q), 2);
}

Result<Phases> OneShotAllReduceTime(const Wiring& w, const Question& q) {
  return Everyone(w, q.bytes, "", "one_shot");
}

Result<Phases> DirectAllToAllTime(const Wiring& w, const Question& q) {
  return Everyone(w, q.bytes / static_cast<double>(w.ranks), "/N", "direct");
}

// Then ceil(log2 N) rounds of signals.
Result<Phases> ConfirmedAllToAllTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "confirmed"));
  if (IsRing(w)) {
    CHORUS_ASSIGN_OR_RETURN(Phases p, DirectAllToAllTime(w, q));
    p.together = Together::kOneAfterAnother;
    p.phases.push_back(OverRing(w, "0", static_cast<double>(CeilLog2(w.ranks)), 0));
    return p;
  }
  Timetable t(w);
  const std::int64_t ranks = t.FoldByShifts();
  CHORUS_RETURN_IF_ERROR(t.Allows("confirmed", ranks * (w.ranks - 1 + CeilLog2(w.ranks))));
  std::vector<Timetable::Numbers> blocks(ranks);  // by receiver
  for (std::int64_t from = 0; from < ranks; ++from) {
    for (std::int64_t to = 0; to < w.ranks; ++to) {
      if (from != to) blocks[to % ranks].push_back(t.Send(from, to, q.bytes / RanksOf(w), {}));
    }
  }
  Timetable::Numbers came;
  for (const Timetable::Numbers& of_rank : blocks) came.push_back(t.All(of_rank));
  SignalAll(t, w, std::move(came));
  return Listed(std::move(t), "confirmed");
}

// gather and scatter: all blocks but the root's own through the root's links.
Result<Phases> DirectRootedTime(const Wiring& w, const Question& q) {
  return WithTheRoot(w, q, q.bytes / RanksOf(w), "/N", "direct");
}

// All of V to or from each of the others.
Result<Phases> DirectSpreadTime(const Wiring& w, const Question& q) {
  return WithTheRoot(w, q, q.bytes, "", "direct");
}

// That to a root, then from it.
Result<Phases> NaiveAllReduceTime(const Wiring& w, const Question& q) {
  return Repeated(WithTheRoot(w, q, q.bytes, "", "naive"), 2);
}

// The switch adds up and sends the sum to all: V up and V down each link, both at once.
Result<Phases> InNetworkAllReduceTime(const Wiring& w, const Question& q) {
  if (w.nodes == 1 && w.switch_reduces) return Phases{{InsideNode(w, "1", 1, q.bytes)}};
  if (w.nodes > 1 && w.switch_reduces && w.network_reduces) {
    CHORUS_RETURN_IF_ERROR(NeedsEvenNodes(w, "sharp"));
    Phases p;
    p.together = Together::kOverlapped;
    p.phases.push_back(InsideNode(w, "1", 1, q.bytes));
    p.phases.push_back(BetweenNodes(w, "1", 1, q.bytes));
    return p;
  }
  return Unsupported(
      w.nodes == 1
          ? "sharp needs a switch that reduces, as that of h100-8"
          : "sharp over several nodes needs switches that reduce inside them, as that of "
            "h100-8, and between them, of which a machine file says network_reduces = true");
}

}  // namespace chorus
