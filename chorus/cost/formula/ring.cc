// Rings. N ranks, V bytes of the whole array, W the bandwidth of a link per direction.
//
//   all_gather, reduce_scatter   (N - 1) rounds of V/N
//   all_reduce                   2(N - 1) rounds of V/N
//
// The first round of a reduce_scatter sends raw contributions, the others partial sums, which
// weigh accumulator_ratio times as much.
#include <fmt/format.h>

#include "chorus/cost/formula/phases.h"

namespace chorus {
namespace {

double N(const Wiring& w) { return static_cast<double>(w.ranks); }

void AddReduceScatter(const Wiring& w, const Question& q, std::vector<Phase>& phases) {
  const double n = N(w), block = q.bytes / n;
  if (w.ranks == 1) return;
  if (q.accumulator_ratio == 1) {
    phases.push_back(OverRing(w, "(N - 1)/N", n - 1, block));
    return;
  }
  phases.push_back(OverRing(w, "1/N", 1, block));
  if (w.ranks > 2) {
    phases.push_back(OverRing(w, fmt::format("{:g}(N - 2)/N", q.accumulator_ratio), n - 2,
                              block * q.accumulator_ratio));
  }
}

}  // namespace

Result<Phases> RingAllGatherTime(const Wiring& w, const Question& q) {
  return Phases{{OverRing(w, "(N - 1)/N", N(w) - 1, q.bytes / N(w))}};
}

Result<Phases> RingReduceScatterTime(const Wiring& w, const Question& q) {
  Phases p;
  AddReduceScatter(w, q, p.phases);
  return p;
}

Result<Phases> RingAllReduceTime(const Wiring& w, const Question& q) {
  const double n = N(w);
  if (q.accumulator_ratio == 1) {
    return Phases{{OverRing(w, "2(N - 1)/N", 2 * (n - 1), q.bytes / n)}};
  }
  Phases p;
  AddReduceScatter(w, q, p.phases);
  p.phases.push_back(OverRing(w, "(N - 1)/N", n - 1, q.bytes / n));
  return p;
}

// As many rings as a node has ports, each leaving a node through another one, as NCCL makes them:
// a device's link or the ports of a node together decide.
Result<Phases> MultiRingAllGatherTime(const Wiring& w, const Question& q) {
  if (w.nodes == 1) return Unsupported("multi_ring is for several nodes; here it is ring");
  Phase phase = OverRing(w, "(N - 1)/N", N(w) - 1, q.bytes / N(w));
  phase.bandwidth = std::min(w.NodeBandwidth(), w.link.bandwidth);
  phase.link = w.NodeBandwidth() <= w.link.bandwidth ? "the ports of a node" : "a link";
  return Phases{{phase}};
}

Result<Phases> MultiRingAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(Phases p, MultiRingAllGatherTime(w, q));
  p.phases[0].factor = "2(N - 1)/N";
  p.phases[0].rounds *= 2;
  return p;
}

// Both directions of a ring of links at once: each block goes the shorter way, floor(N/2) rounds of
// one block in each direction. On a switch both directions would share a port.
Result<Phases> BidirectionalAllGatherTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsTorus(w, "bidirectional_ring", 1));
  if (!w.axes[0].wraps && w.axes[0].size > 2) {
    return Unsupported(
        fmt::format("an axis of {} that does not wrap is no ring; torus is an algorithm that fits",
                    w.axes[0].size));
  }
  const double rounds = static_cast<double>(w.ranks / 2);
  return Phases{{OverRing(w, "floor(N/2)/N", rounds, q.bytes / N(w))}};
}

Result<Phases> BidirectionalAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(Phases p, BidirectionalAllGatherTime(w, q));
  p.phases[0].factor = "2 floor(N/2)/N";
  p.phases[0].rounds *= 2;
  return p;
}

// The sum walks up the ranks: N - 1 rounds of all, the first raw.
Result<Phases> LinearScanTime(const Wiring& w, const Question& q) {
  if (w.ranks == 1) return Phases{};
  Phases p{{OverRing(w, "1", 1, q.bytes)}};
  if (w.ranks > 2) {
    p.phases.push_back(OverRing(w, fmt::format("{:g}(N - 2)", q.accumulator_ratio), N(w) - 2,
                                q.bytes * q.accumulator_ratio));
  }
  return p;
}

}  // namespace chorus
