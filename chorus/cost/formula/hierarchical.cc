// Two levels that both use all their links: M groups of L ranks, a group being a node where L says
// so. Inside a group everyone with everyone, between groups a ring of the ranks of each local rank,
// so that all ports of a node work at once.
//
//   all_gather       between: (M - 1)/N V out of each rank; then inside: (L - 1)/L V
//   reduce_scatter   inside, then between
//   all_reduce       the one, then the other: inside reduce_scatter, between all_reduce, inside
//                    all_gather
//
// hierarchical:L does one after the other; hierarchical:LxC of all_reduce in C pieces, of which one
// goes round the rings while another is inside. pipelined_hierarchical is what it comes to, with
// nodes as groups, in ever more pieces that follow each other, each of which starts at once: a
// bound, and no schedule. The slower level decides: max(V/W_device, V/W_node) for many devices and
// nodes.
#include <fmt/format.h>

#include "chorus/base/counted.h"
#include "chorus/cost/formula/phases.h"
#include "chorus/cost/formula/timetable.h"

namespace chorus {
namespace {

using Number = Timetable::Number;
using Numbers = Timetable::Numbers;

// What of it an operation does.
struct Parts {
  bool sums = false;     // reduce_scatter
  bool gathers = false;  // all_gather
};

class Levels {
 public:
  // Of whole nodes.
  explicit Levels(const Wiring& w) : Levels(w, w.node_size) {}
  Levels(const Wiring& w, std::int64_t members)
      : w_(w), members_(members), groups_(w.ranks / members) {}

  static Result<Levels> Of(const Wiring& w, const Question& q) {
    CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "hierarchical"));
    const std::int64_t members = q.numbers[0];
    if (q.numbers.size() > 1 && q.op != "all_reduce") {
      return InvalidArgument(
          fmt::format("pieces are of all_reduce; write hierarchical:{}, which in tiles (chorus "
                      "simulate --tile) does the same",
                      members));
    }
    if (w.ranks % members == 0) return Levels(w, members);
    return Unsupported(
        fmt::format("hierarchical:{} is for whole groups, and {} are none; two_level:{} takes any "
                    "number of ranks",
                    members, Counted(w.ranks, "rank"), members));
  }

  // Rounds follow each other: all ways inside are alike, and all between.
  bool IsEven() const {
    if (IsRing(w_)) return true;
    return IsNode() && w_.leaf_nodes == 0 && (w_.node_size % w_.nics == 0 || w_.nics > members_);
  }

  // `times` rounds inside.
  void AddInside(const Question& q, double times, std::vector<Phase>& phases) const {
    if (members_ == 1) return;
    const auto l = static_cast<double>(members_);
    const bool mesh = w_.fabric == Fabric::kMesh && w_.node_size > 1;
    const double bytes = (mesh ? 1 / l : (l - 1) / l) * q.bytes;
    const std::string factor =
        fmt::format("{}{}", times == 1 ? "" : "2", mesh ? times == 1 ? "1/L" : "/L" : "(L - 1)/L");
    phases.push_back(IsNode() ? InsideNode(w_, factor, times, bytes)
                              : OverRing(w_, factor, times, bytes));
  }

  // So many rounds between groups, of blocks that weigh so much; `factor` is of their number.
  void AddBetween(const Question& q, std::string_view factor, double rounds, double weight,
                  std::vector<Phase>& phases) const {
    if (rounds <= 0) return;
    const std::string heavy = weight == 1 ? "" : fmt::format("{:g} x ", weight);
    if (IsNode()) {
      phases.push_back(BetweenNodes(w_, fmt::format("{}{}/M", heavy, factor), rounds,
                                    weight * q.bytes / static_cast<double>(groups_)));
    } else {
      phases.push_back(OverRing(w_, fmt::format("{}{}/N", heavy, factor), rounds,
                                weight * q.bytes / RanksOf(w_)));
    }
  }

  Phases InRounds(const Question& q, Parts parts) const {
    const auto turns = static_cast<double>(groups_ - 1);
    Phases p;
    if (parts.sums && parts.gathers && q.accumulator_ratio == 1) {
      AddInside(q, 2, p.phases);
      AddBetween(q, "2(M - 1)", 2 * turns, 1, p.phases);
      return p;
    }
    if (parts.sums) {
      AddInside(q, 1, p.phases);
      // A rank that is alone in its group sends raw contributions at first.
      const bool raw = members_ == 1 && q.accumulator_ratio != 1 && turns > 0;
      if (raw) AddBetween(q, "1", 1, 1, p.phases);
      AddBetween(q, raw ? "(M - 2)" : "(M - 1)", raw ? turns - 1 : turns, q.accumulator_ratio,
                 p.phases);
    }
    if (parts.gathers) {
      AddBetween(q, "(M - 1)", turns, 1, p.phases);
      AddInside(q, 1, p.phases);
    }
    return p;
  }

  // Where hops differ, or share ports that others do not.
  Result<Phases> MessageByMessage(Question q, Parts parts, std::int64_t pieces) const {
    Timetable t(w_);
    const std::int64_t named = t.FoldByShifts(members_);  // ranks that stand for all
    const std::int64_t phases = (parts.sums ? 1 : 0) + (parts.gathers ? 1 : 0);
    CHORUS_RETURN_IF_ERROR(
        t.Allows("hierarchical", pieces * phases * named * (members_ - 1 + groups_ - 1)));
    q.bytes /= static_cast<double>(pieces);
    const Numbers nothing(named, Timetable::kNothing);
    const auto give = [&] { return InGroups(t, q.bytes / static_cast<double>(members_), nothing); };
    Numbers given = parts.sums ? give() : nothing;  // by rank: what its sums need
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      // What the next piece does inside goes before what this one does there in the end.
      Numbers next = piece + 1 < pieces ? give() : nothing;
      const Numbers ready = parts.sums ? AddSums(t, q, given) : nothing;
      if (parts.gathers) AddGather(t, q, ready);
      given = std::move(next);
    }
    return Listed(std::move(t), "hierarchical");
  }

 private:
  // In a group are the ranks of a node.
  bool IsNode() const { return w_.nodes > 1 && w_.node_size > 1 && members_ == w_.node_size; }
  std::int64_t Next(std::int64_t rank) const { return (rank + members_) % w_.ranks; }
  std::int64_t Before(std::int64_t rank, std::int64_t named) const {
    return (rank + named - members_) % named;
  }
  double Block(const Question& q) const { return q.bytes / RanksOf(w_); }

  // A message of `bytes` to each other member of the rank's group after `after[rank]`; returns by
  // rank what it has been sent.
  Numbers InGroups(Timetable& t, double bytes, const Numbers& after) const {
    std::vector<Numbers> came(after.size());
    for (std::int64_t r = 0; r < std::ssize(after); ++r) {
      const std::int64_t first = r / members_ * members_;
      for (std::int64_t d = 1; d < members_; ++d) {
        const std::int64_t to = first + (r - first + d) % members_;
        came[to].push_back(t.Send(r, to, bytes, {after[r]}));
      }
    }
    Numbers all;
    for (const Numbers& of : came) all.push_back(t.All(of));
    return all;
  }

  // Returns by rank that its block is summed.
  Numbers AddSums(Timetable& t, const Question& q, const Numbers& inside) const {
    const std::int64_t named = std::ssize(inside);
    Numbers before(named, Timetable::kNothing), now(named);  // by sender
    for (std::int64_t turn = 0; turn < groups_ - 1; ++turn) {
      const double weight = turn == 0 && members_ == 1 ? 1 : q.accumulator_ratio;
      for (std::int64_t r = 0; r < named; ++r) {
        // A sum's place is free when it has been sent.
        const Number place = before[Next(r) % named];
        const Number own = turn < 2 ? inside[r] : Timetable::kNothing;
        now[r] = t.Send(r, Next(r), weight * Block(q), {before[Before(r, named)], place, own});
      }
      std::swap(before, now);
    }
    Numbers summed;
    for (std::int64_t r = 0; r < named; ++r) {
      summed.push_back(t.All({inside[r], before[Before(r, named)]}));
    }
    return summed;
  }

  void AddGather(Timetable& t, const Question& q, const Numbers& ready) const {
    const std::int64_t named = std::ssize(ready);
    Numbers before(named, Timetable::kNothing), now(named);  // by sender
    for (std::int64_t turn = 0; turn < groups_ - 1; ++turn) {
      for (std::int64_t r = 0; r < named; ++r) {
        now[r] = t.Send(r, Next(r), Block(q), {before[Before(r, named)], ready[r]});
      }
      std::swap(before, now);
    }
    Numbers has;
    for (std::int64_t r = 0; r < named; ++r) {
      has.push_back(t.All({ready[r], before[Before(r, named)]}));
    }
    InGroups(t, q.bytes / static_cast<double>(members_), has);
  }

  const Wiring& w_;
  std::int64_t members_;  // L
  std::int64_t groups_;   // M
};

Result<Phases> OneAfterAnother(const Wiring& w, const Question& q, Parts parts) {
  CHORUS_ASSIGN_OR_RETURN(const Levels levels, Levels::Of(w, q));
  const std::int64_t pieces = q.numbers.size() > 1 ? q.numbers[1] : 1;
  if (pieces == 1 && levels.IsEven()) return levels.InRounds(q, parts);
  return levels.MessageByMessage(q, parts, pieces);
}

// Both at once; sums weigh what elements do.
Result<Phases> Overlapped(const Wiring& w, Question q, Parts parts) {
  CHORUS_RETURN_IF_ERROR(NeedsEvenNodes(w, "pipelined_hierarchical"));
  if (w.nodes == 1 || w.node_size == 1) {
    return Unsupported(
        "pipelined_hierarchical is for several nodes of several devices, as h100-8x4");
  }
  q.accumulator_ratio = 1;
  Phases p = Levels(w).InRounds(q, parts);
  p.together = Together::kOverlapped;
  return p;
}

}  // namespace

Result<Phases> HierarchicalAllGatherTime(const Wiring& w, const Question& q) {
  return OneAfterAnother(w, q, {.gathers = true});
}
Result<Phases> HierarchicalReduceScatterTime(const Wiring& w, const Question& q) {
  return OneAfterAnother(w, q, {.sums = true});
}
Result<Phases> HierarchicalAllReduceTime(const Wiring& w, const Question& q) {
  return OneAfterAnother(w, q, {.sums = true, .gathers = true});
}
Result<Phases> PipelinedAllGatherTime(const Wiring& w, const Question& q) {
  return Overlapped(w, q, {.gathers = true});
}
Result<Phases> PipelinedReduceScatterTime(const Wiring& w, const Question& q) {
  return Overlapped(w, q, {.sums = true});
}
Result<Phases> PipelinedAllReduceTime(const Wiring& w, const Question& q) {
  return Overlapped(w, q, {.sums = true, .gathers = true});
}

}  // namespace chorus
