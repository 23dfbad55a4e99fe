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

#include "chorus/cost/formula/phases.h"
#include "chorus/cost/formula/rank_tree.h"
#include "chorus/cost/formula/timetable.h"

namespace chorus {
namespace {

using Number = Timetable::Number;
using Numbers = Timetable::Numbers;

// From the holder of a part to its children, once `has` have come, and on to the leaves; a child of
// `ranks` ranks is sent bytes_of(ranks).
template <typename BytesOf>
void Outward(Timetable& t, const RankTree& tree, const BytesOf& bytes_of, std::int64_t rank,
             std::int64_t level, const Numbers& has) {
  for (const RankTree::Child& child : tree.Children(rank, level)) {
    const Number message = t.Send(rank, child.rank, bytes_of(child.ranks), has);
    Outward(t, tree, bytes_of, child.rank, child.level, Numbers{message});
  }
}

// From the leaves to the holder of a part; a child of `ranks` ranks sends bytes_of(ranks). Returns
// after which messages the holder has all. `by_level`: messages of a level are taken when all below
// have been, else whenever they come.
template <typename BytesOf>
Numbers Inward(Timetable& t, const RankTree& tree, const BytesOf& bytes_of, bool by_level,
               std::int64_t rank, std::int64_t level) {
  Numbers all, below;
  std::int64_t at = -1;  // the level of the messages after `below`
  const std::vector<RankTree::Child> children = tree.Children(rank, level);
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    if (by_level && child->level != at) {
      below = all;
      at = child->level;
    }
    Numbers after = Inward(t, tree, bytes_of, by_level, child->rank, child->level);
    after.insert(after.end(), below.begin(), below.end());
    all.push_back(t.Send(child->rank, rank, bytes_of(child->ranks), after));
  }
  return all;
}

Result<Phases> BroadcastTime(const Wiring& w, const Question& q, std::int64_t arity) {
  const std::string_view name = arity == 2 ? "binomial" : "knomial";
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, name));
  Timetable t(w);
  CHORUS_RETURN_IF_ERROR(t.Allows(name, w.ranks - 1));
  const RankTree tree(w.ranks, q.root, arity);
  Outward(t, tree, [&](double) { return q.bytes; }, q.root, tree.levels(), {});
  return Listed(std::move(t), name);
}

Result<Phases> ReduceTime(const Wiring& w, const Question& q, std::int64_t arity, bool by_level) {
  const std::string_view name = arity == 2 ? "binomial" : "knomial";
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, name));
  Timetable t(w);
  CHORUS_RETURN_IF_ERROR(t.Allows(name, w.ranks - 1));
  const RankTree tree(w.ranks, q.root, arity);
  // A rank that is alone in its part sends a raw contribution.
  const auto bytes_of = [&](double ranks) {
    return q.bytes * (ranks == 1 ? 1 : q.accumulator_ratio);
  };
  Inward(t, tree, bytes_of, by_level, q.root, tree.levels());
  return Listed(std::move(t), name);
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
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "knomial"));
  Timetable t(w);
  CHORUS_RETURN_IF_ERROR(t.Allows("knomial", w.ranks - 1));
  const RankTree tree(w.ranks, q.root, q.numbers[0]);
  const auto bytes_of = [&](double ranks) { return ranks * q.bytes / RanksOf(w); };
  Outward(t, tree, bytes_of, q.root, tree.levels(), {});
  return Listed(std::move(t), "knomial");
}

Result<Phases> KnomialGatherTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "knomial"));
  Timetable t(w);
  CHORUS_RETURN_IF_ERROR(t.Allows("knomial", w.ranks - 1));
  const RankTree tree(w.ranks, q.root, q.numbers[0]);
  const auto bytes_of = [&](double ranks) { return ranks * q.bytes / RanksOf(w); };
  Inward(t, tree, bytes_of, false, q.root, tree.levels());
  return Listed(std::move(t), "knomial");
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
  CHORUS_RETURN_IF_ERROR(NeedsEvenNodes(w, "double_binary_tree"));
  if (w.ranks == 1) return Phases{};
  const double rounds = 2 * static_cast<double>(CeilLog2(w.ranks));
  Phase phase = OverRing(w, "2", rounds, 2 * q.bytes / rounds);
  if (w.nodes > 1) {
    const BytesPerSecond out = NodeShare(w);
    phase.bandwidth = w.node_size == 1 ? out : std::min(out, w.link.bandwidth);
  }
  return Phases{{phase}};
}

// In round k rank r signals r + 2^k, when all that it waits for has come. Signals take no
// bandwidth, so only the latencies along the longest chain count.
Result<Phases> DisseminationBarrierTime(const Wiring& w, const Question& /*q*/) {
  if (IsRing(w) && w.fabric != Fabric::kTorus) {
    return Phases{{OverRing(w, "0", static_cast<double>(CeilLog2(w.ranks)), 0)}};
  }
  Timetable t(w);
  const std::int64_t ranks = t.FoldByShifts();
  CHORUS_RETURN_IF_ERROR(t.Allows("dissemination", CeilLog2(w.ranks) * ranks));
  SignalAll(t, w, Numbers(ranks, Timetable::kNothing));
  return Listed(std::move(t), "dissemination");
}

}  // namespace chorus
