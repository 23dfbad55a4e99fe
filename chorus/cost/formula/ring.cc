// Rings. N ranks, V bytes of the whole array, W the bandwidth of a link per direction.
//
//   all_gather, reduce_scatter   (N - 1) rounds of V/N
//   all_reduce                   2(N - 1) rounds of V/N
//
// The first round of a reduce_scatter sends raw contributions, the others partial sums, which
// weigh accumulator_ratio times as much.
//
// So where all hops are alike. Where ranks are on several nodes, or a torus has no links in rank
// order, some hops are slower than others or share links: blocks queue before the slow ones while
// those behind run on, and the messages are worked out one by one.
#include <fmt/format.h>

#include <algorithm>

#include "chorus/cost/formula/phases.h"
#include "chorus/cost/formula/timetable.h"

namespace chorus {
namespace {

void AddReduceScatter(const Wiring& w, const Question& q, std::vector<Phase>& phases) {
  const double n = RanksOf(w), block = q.bytes / n;
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

// Turn by turn, rank by rank: first `sums` turns of a reduce_scatter, then `gathers` of an
// all_gather.
Result<Phases> HopByHop(const Wiring& w, const Question& q, std::int64_t sums,
                        std::int64_t gathers) {
  Timetable t(w);
  const std::int64_t ranks = t.FoldByShifts();  // those that stand for all
  const Status allowed = t.Allows("ring", ranks * (sums + gathers));
  if (!allowed.ok() && w.fabric == Fabric::kTorus) {
    return allowed.WithContext("in rank order on a torus, where torus is what fits");
  }
  CHORUS_RETURN_IF_ERROR(allowed);
  const double block = q.bytes / RanksOf(w);
  Timetable::Numbers before(ranks, Timetable::kNothing), now(ranks), last_sum(ranks);  // by sender
  for (std::int64_t turn = 0; turn < sums + gathers; ++turn) {
    const bool partial = turn > 0 && turn < sums;
    for (std::int64_t r = 0; r < ranks; ++r) {
      const std::int64_t left = (r + ranks - 1) % ranks, right = (r + 1) % ranks;
      // A sum's place is free when it has been sent.
      const Timetable::Number place = partial ? before[right] : Timetable::kNothing;
      const Timetable::Number sum = turn > sums && sums > 0 ? last_sum[left] : Timetable::kNothing;
      now[r] = t.Send(r, (r + 1) % w.ranks, block * (partial ? q.accumulator_ratio : 1),
                      {before[left], place, sum});
    }
    std::swap(before, now);
    if (turn + 1 == sums) last_sum = before;
  }
  return Listed(std::move(t), "ring");
}

}  // namespace

Result<Phases> RingAllGatherTime(const Wiring& w, const Question& q) {
  if (!IsRing(w)) return HopByHop(w, q, 0, w.ranks - 1);
  return Phases{{OverRing(w, "(N - 1)/N", RanksOf(w) - 1, q.bytes / RanksOf(w))}};
}

Result<Phases> RingReduceScatterTime(const Wiring& w, const Question& q) {
  if (!IsRing(w)) return HopByHop(w, q, w.ranks - 1, 0);
  Phases p;
  AddReduceScatter(w, q, p.phases);
  return p;
}

Result<Phases> RingAllReduceTime(const Wiring& w, const Question& q) {
  if (!IsRing(w)) return HopByHop(w, q, w.ranks - 1, w.ranks - 1);
  const double n = RanksOf(w);
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
  CHORUS_RETURN_IF_ERROR(NeedsEvenNodes(w, "multi_ring"));
  Phase phase = OverRing(w, "(N - 1)/N", RanksOf(w) - 1, q.bytes / RanksOf(w));
  const BytesPerSecond out = NodeShare(w);
  phase.bandwidth = w.node_size == 1 ? out : std::min(out, w.link.bandwidth);
  phase.link = phase.bandwidth == out ? "the ports of a node" : "a link";
  return Phases{{phase}};
}

Result<Phases> MultiRingAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(Phases p, MultiRingAllGatherTime(w, q));
  p.phases[0].factor = "2(N - 1)/N";
  p.phases[0].rounds *= 2;
  return p;
}

namespace {

// Both directions at once: floor(N/2) hops to the right, floor((N - 1)/2) to the left. On a torus
// or a mesh each direction has links of its own; on a switch both share the ports, so a round of
// both moves two blocks. The first round is of raw contributions if `sums`.
Result<Phases> BothWays(const Wiring& w, const Question& q, bool sums) {
  CHORUS_RETURN_IF_ERROR(w.fabric == Fabric::kTorus ? NeedsTorus(w, "bidirectional_ring", 1)
                                                    : NeedsOneLevel(w, "bidirectional_ring"));
  if (w.fabric == Fabric::kTorus && !w.axes[0].wraps && w.axes[0].size > 2) {
    return Unsupported(
        fmt::format("an axis of {} that does not wrap is no ring; torus is an algorithm that fits",
                    w.axes[0].size));
  }
  const std::int64_t steps_right = w.ranks / 2;
  const std::int64_t steps_left = (w.ranks - 1) / 2;
  const auto right = static_cast<double>(steps_right);
  const auto left = static_cast<double>(steps_left);
  const bool one_port = (w.fabric == Fabric::kSwitch || w.node_size == 1) && left > 0;
  const double block = q.bytes / RanksOf(w), ratio = sums ? q.accumulator_ratio : 1;
  Phases p;
  const auto add = [&](double rounds, double blocks, double weight) {
    if (rounds <= 0) return;
    p.phases.push_back(OverRing(w, fmt::format("{:g}/N", rounds * blocks * weight), rounds,
                                block * blocks * weight));
  };
  const double both = one_port ? 2 : 1;
  if (ratio == 1 && !one_port) {
    add(right, 1, 1);
    return p;
  }
  add(1, both, 1);
  if (one_port) {
    add(left - 1, both, ratio);
    add(right - left, 1, ratio);
  } else {
    add(right - 1, 1, ratio);
  }
  return p;
}

}  // namespace

Result<Phases> BidirectionalAllGatherTime(const Wiring& w, const Question& q) {
  return BothWays(w, q, false);
}

Result<Phases> BidirectionalReduceScatterTime(const Wiring& w, const Question& q) {
  return BothWays(w, q, true);
}

Result<Phases> BidirectionalAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(Phases p, BothWays(w, q, true));
  CHORUS_ASSIGN_OR_RETURN(const Phases gather, BothWays(w, q, false));
  p.phases.insert(p.phases.end(), gather.phases.begin(), gather.phases.end());
  return p;
}

// The sum walks up the ranks: N - 1 rounds of all, one after another, the first raw. Each takes its
// own way; those of one kind become one phase.
Result<Phases> LinearScanTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(const Topology topology, w.AsTopology());
  struct Hops {
    Way way;
    double weight = 0;  // of an element's bytes
    double count = 0;
  };
  std::vector<Hops> kinds;
  for (std::int64_t r = 0; r + 1 < w.ranks; ++r) {
    const Way way = WayBetween(topology, r, r + 1);
    const double weight = r == 0 ? 1 : q.accumulator_ratio;
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Hops& other) {
      return other.way == way && other.weight == weight;
    });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {way, weight});
    kind->count += 1;
  }
  Phases p;
  for (const Hops& kind : kinds) {
    p.phases.push_back(OverWay(kind.way, fmt::format("{:g}", kind.weight * kind.count), kind.count,
                               kind.weight * q.bytes));
  }
  return p;
}

}  // namespace chorus
