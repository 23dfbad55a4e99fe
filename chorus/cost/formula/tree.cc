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

#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "chorus/cost/formula/phases.h"
#include "chorus/cost/formula/rank_tree.h"
#include "chorus/cost/formula/timetable.h"

namespace chorus {
namespace {

using Number = Timetable::Number;
using Numbers = Timetable::Numbers;

// A part whose ranks are of one node and that the root is not in. All its messages are on links of
// its own ranks, on which no others are: what happens in it from its beginning on is the same in
// all parts of its level and its ranks, so that the messages of one stand for those of all.
using Unit = std::pair<std::int64_t, double>;  // level, ranks
std::optional<Unit> UnitOf(const Wiring& w, const RankTree& tree, const RankTree::Child& part) {
  const std::int64_t last = part.rank + static_cast<std::int64_t>(part.ranks) - 1;
  if (part.rank == tree.root() || part.rank / w.node_size != last / w.node_size) return {};
  return Unit(part.level, part.ranks);
}

// From the root to its children, and on to the leaves; a child of `ranks` ranks is sent
// bytes_of(ranks). Of units that begin at different times only the last one counts.
template <typename BytesOf>
void Outward(Timetable& t, const Wiring& w, const RankTree& tree, const BytesOf& bytes_of) {
  struct Holder {
    std::int64_t rank = 0;
    std::int64_t level = 0;
    Number has = Timetable::kNothing;
  };
  struct Begun {
    std::int64_t rank = 0;  // of one of them
    Numbers has;            // of all
  };
  std::vector<Holder> holders = {{tree.root(), tree.levels()}};
  std::map<Unit, Begun> units;
  while (!holders.empty() || !units.empty()) {
    if (holders.empty()) {  // of the highest level, so that no more of them will begin
      const auto& [unit, begun] = *units.rbegin();
      holders.push_back({begun.rank, unit.first, t.All(begun.has)});
      units.erase(std::prev(units.end()));
    }
    const Holder holder = holders.back();
    holders.pop_back();
    for (const RankTree::Child& child : tree.Children(holder.rank, holder.level)) {
      const Number sent = t.Send(holder.rank, child.rank, bytes_of(child.ranks), {holder.has});
      if (child.level == 0) continue;
      if (const std::optional<Unit> unit = UnitOf(w, tree, child)) {
        units[*unit].rank = child.rank;
        units[*unit].has.push_back(sent);
      } else {
        holders.push_back({child.rank, child.level, sent});
      }
    }
  }
}

// From the leaves to the root; a child of `ranks` ranks sends bytes_of(ranks). `by_level`: messages
// of a level are taken when all below have been, else whenever they come. Units all begin at once,
// and so end at once.
template <typename BytesOf>
class Inward {
 public:
  Inward(Timetable& t, const Wiring& w, const RankTree& tree, const BytesOf& bytes_of,
         bool by_level)
      : t_(t), w_(w), tree_(tree), bytes_of_(bytes_of), by_level_(by_level) {
    To(tree.root(), tree.levels());
  }

 private:
  // Returns after which messages the holder of the part has all.
  Numbers To(std::int64_t rank, std::int64_t level) {
    Numbers all, below;
    std::int64_t at = -1;  // the level of the messages after `below`
    const std::vector<RankTree::Child> children = tree_.Children(rank, level);
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
      if (by_level_ && child->level != at) {
        below = all;
        at = child->level;
      }
      Numbers after = ToChild(*child);
      after.insert(after.end(), below.begin(), below.end());
      all.push_back(t_.Send(child->rank, rank, bytes_of_(child->ranks), after));
    }
    return all;
  }

  Numbers ToChild(const RankTree::Child& child) {
    const std::optional<Unit> unit = UnitOf(w_, tree_, child);
    if (!unit) return To(child.rank, child.level);
    const auto known = units_.find(*unit);
    if (known != units_.end()) return known->second;
    return units_[*unit] = To(child.rank, child.level);
  }

  Timetable& t_;
  const Wiring& w_;
  const RankTree& tree_;
  const BytesOf& bytes_of_;
  bool by_level_;
  std::map<Unit, Numbers> units_;
};

Result<Phases> BroadcastTime(const Wiring& w, const Question& q, std::int64_t arity) {
  const std::string_view name = arity == 2 ? "binomial" : "knomial";
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, name));
  Timetable t(w);
  CHORUS_RETURN_IF_ERROR(t.Allows(name, w.ranks - 1));
  const RankTree tree(w.ranks, q.root, arity);
  Outward(t, w, tree, [&](double) { return q.bytes; });
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
  Inward(t, w, tree, bytes_of, by_level);
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
  Outward(t, w, tree, bytes_of);
  return Listed(std::move(t), "knomial");
}

Result<Phases> KnomialGatherTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "knomial"));
  Timetable t(w);
  CHORUS_RETURN_IF_ERROR(t.Allows("knomial", w.ranks - 1));
  const RankTree tree(w.ranks, q.root, q.numbers[0]);
  const auto bytes_of = [&](double ranks) { return ranks * q.bytes / RanksOf(w); };
  Inward(t, w, tree, bytes_of, false);
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
