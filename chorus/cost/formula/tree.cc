// Trees.
//
// The k-nomial tree is that of aligned parts of the ranks: at level l they are cut into parts of
// K^l, held by the root or else by the lowest rank; binomial is K = 2. A holder sends to all its
// children at once, so they share its port; of equal messages all arrive together.
//
//   N = 8, root 0    0 has children 4, 2, 1; 4 has 6, 5; ...
//   broadcast        latency + 3 V/W, then latency + 2 V/W, then latency + V/W
//   reduce           level by level: 3 (latency + V/W)
#include <fmt/format.h>

#include <algorithm>

#include "chorus/cost/formula/phases.h"
#include "chorus/cost/formula/rank_tree.h"

namespace chorus {
namespace {

// How a machine's links are shared by the messages of one rank.
struct Share {
  explicit Share(const Wiring& w)
      : latency(w.RingLink().latency.value()),
        bandwidth(w.RingLink().bandwidth.value()),
        apart(w.fabric == Fabric::kMesh && w.nodes == 1) {}
  double latency;
  double bandwidth;
  bool apart;  // each pair of ranks has a link of its own
};

// A way through the tree: what decides when a rank is done.
struct Way {
  double time = 0;    // s
  double bytes = 0;   // on the ports along it
  double rounds = 0;  // latencies along it
};

Way Then(Way way, const Share& share, double bytes) {
  return {way.time + share.latency + bytes / share.bandwidth, way.bytes + bytes, way.rounds + 1};
}

// When messages of these bytes end that one rank begins to send at once: on one port they share it
// evenly, so the k-th smallest ends when it and all smaller ones are through, and as much of each
// larger one. Returns for each what passed the port until then.
std::vector<double> PassedUntil(const std::vector<double>& bytes, bool apart) {
  std::vector<double> passed;
  for (double own : bytes) {
    double sum = 0;
    for (double other : bytes) sum += std::min(own, other);
    passed.push_back(apart ? own : sum);
  }
  return passed;
}

// From the root to the farthest leaf; a child of `ranks` ranks is sent bytes_of(ranks).
template <typename BytesOf>
Way Outward(const RankTree& tree, const Share& share, const BytesOf& bytes_of, std::int64_t rank,
            std::int64_t level, const Way& begin) {
  const std::vector<RankTree::Child> children = tree.Children(rank, level);
  std::vector<double> bytes;
  for (const RankTree::Child& child : children) bytes.push_back(bytes_of(child.ranks));
  const std::vector<double> passed = PassedUntil(bytes, share.apart);
  Way latest = begin;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Way way = Outward(tree, share, bytes_of, children[i].rank, children[i].level,
                            Then(begin, share, passed[i]));
    if (way.time > latest.time) latest = way;
  }
  return latest;
}

struct Arrival {
  Way begin;
  double bytes = 0;
};

// When all of some messages to one rank are there: on one port it is busy from the first to the
// last, but for pauses. `not_before` is where the rank stands already.
Way AllArrived(std::vector<Arrival> arrivals, const Share& share, const Way& not_before) {
  std::sort(arrivals.begin(), arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return a.begin.time < b.begin.time; });
  Way done = not_before;
  bool busy = false;
  for (const Arrival& arrival : arrivals) {
    const Way alone = Then(arrival.begin, share, arrival.bytes);
    if (busy && !share.apart && arrival.begin.time + share.latency < done.time) {
      done.time += arrival.bytes / share.bandwidth;
      done.bytes += arrival.bytes;
    } else if (!busy || alone.time > done.time) {
      done = alone;
    }
    busy = true;
  }
  return done;
}

// From the leaves to the root; a child of `ranks` ranks sends bytes_of(ranks). `by_level`: messages
// of a level are taken when all below have been, else whenever they come.
template <typename BytesOf>
Way Inward(const RankTree& tree, const Share& share, const BytesOf& bytes_of, bool by_level,
           std::int64_t rank, std::int64_t level) {
  Way done;
  std::vector<Arrival> arrivals;
  std::int64_t at = -1;  // level of the arrivals
  const std::vector<RankTree::Child> children = tree.Children(rank, level);
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    if (by_level && child->level != at) {
      if (!arrivals.empty()) done = AllArrived(std::move(arrivals), share, done);
      arrivals.clear();
      at = child->level;
    }
    const Way ready = Inward(tree, share, bytes_of, by_level, child->rank, child->level);
    arrivals.push_back({by_level && ready.time < done.time ? done : ready, bytes_of(child->ranks)});
  }
  return arrivals.empty() ? done : AllArrived(std::move(arrivals), share, done);
}

// One phase that stands for a way: its bytes spread over its rounds.
Phases AsPhases(const Wiring& w, const Question& q, const Way& way) {
  if (way.rounds == 0) return {};
  const double part = q.bytes == 0 ? 0 : way.bytes / q.bytes;
  return {{OverRing(w, fmt::format("{:.4g}", part), way.rounds, way.bytes / way.rounds)}};
}

Result<Phases> BroadcastTime(const Wiring& w, const Question& q, std::int64_t arity) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, arity == 2 ? "binomial" : "knomial"));
  const RankTree tree(w.ranks, q.root, arity);
  const auto bytes_of = [&](double) { return q.bytes; };
  return AsPhases(w, q, Outward(tree, Share(w), bytes_of, q.root, tree.levels(), {}));
}

Result<Phases> ReduceTime(const Wiring& w, const Question& q, std::int64_t arity, bool by_level) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, arity == 2 ? "binomial" : "knomial"));
  const RankTree tree(w.ranks, q.root, arity);
  // A rank that is alone in its part sends a raw contribution.
  const auto bytes_of = [&](double ranks) {
    return q.bytes * (ranks == 1 ? 1 : q.accumulator_ratio);
  };
  return AsPhases(w, q, Inward(tree, Share(w), bytes_of, by_level, q.root, tree.levels()));
}

}  // namespace

Result<Phases> BinomialBroadcastTime(const Wiring& w, const Question& q) {
  return BroadcastTime(w, q, 2);
}
Result<Phases> KnomialBroadcastTime(const Wiring& w, const Question& q) {
  return BroadcastTime(w, q, q.numbers[0]);
}
Result<Phases> BinomialReduceTime(const Wiring& w, const Question& q) {
  return ReduceTime(w, q, 2, false);
}
Result<Phases> KnomialReduceTime(const Wiring& w, const Question& q) {
  return ReduceTime(w, q, q.numbers[0], true);
}

Result<Phases> KnomialScatterTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "knomial"));
  const RankTree tree(w.ranks, q.root, q.numbers[0]);
  const double block = q.bytes / static_cast<double>(w.ranks);
  const auto bytes_of = [&](double ranks) { return ranks * block; };
  return AsPhases(w, q, Outward(tree, Share(w), bytes_of, q.root, tree.levels(), {}));
}

Result<Phases> KnomialGatherTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "knomial"));
  const RankTree tree(w.ranks, q.root, q.numbers[0]);
  const double block = q.bytes / static_cast<double>(w.ranks);
  const auto bytes_of = [&](double ranks) { return ranks * block; };
  return AsPhases(w, q, Inward(tree, Share(w), bytes_of, false, q.root, tree.levels()));
}

// Up a binomial tree and down again, a message at a time: log2 N rounds of V each way. It moves
// log2 N times what a ring does for long arrays; a pipelined tree does not.
Result<Phases> TreeAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "tree"));
  return Phases{
      {OverRing(w, "2 ceil(log2 N)", 2 * static_cast<double>(CeilLog2(w.ranks)), q.bytes)}};
}

// Two binary trees in pipeline, each with half of V, a rank being inner in one and a leaf in the
// other: every port carries V up and V down. Source: Sanders, Speck, Traeff, "Two-tree algorithms
// for full bandwidth broadcast, reduction and scan", 2009.
Result<Phases> DoubleTreeAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "double_binary_tree"));
  if (w.ranks == 1) return Phases{};
  const double rounds = 2 * static_cast<double>(CeilLog2(w.ranks));
  Phase phase = OverRing(w, "2", rounds, 2 * q.bytes / rounds);
  if (w.nodes > 1) phase.bandwidth = std::min(w.NodeBandwidth(), w.link.bandwidth);
  return Phases{{phase}};
}

Result<Phases> DisseminationBarrierTime(const Wiring& w, const Question&) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "dissemination"));
  return Phases{{OverRing(w, "0", static_cast<double>(CeilLog2(w.ranks)), 0)}};
}

}  // namespace chorus
