// Two trees at once, and a tree that a ring overtakes: messages that share ports as it happens.
//
//   double_tree     each of two binary trees sums, or spreads, V/2; nearly every rank is a leaf of
//                   one and an inner node of the other. Long chains: about log2 N levels each way;
//                   a rank's port carries up to 3/2 V (broadcast, reduce) or 2 V (all_reduce)
//   scatter_gather  V/N to everyone down a binomial tree, then N - 1 rounds of V/N on a ring, which
//                   begin on a rank as soon as it has its block and has sent its children theirs
#include <algorithm>

#include "chorus/cost/formula/phases.h"
#include "chorus/cost/formula/rank_tree.h"
#include "chorus/cost/formula/timetable.h"

namespace chorus {
namespace {

using Number = Timetable::Number;
using Numbers = Timetable::Numbers;

// One of the two trees, over positions first .. last: the lowest set bit of a position is how high
// it stands, odd ones are leaves. Position 0, if there is one, stands on top.
class PositionTree {
 public:
  // For an operation without a root the ranks in order, tree 1 one position lower than tree 0; for
  // a root the ranks counted from it, those of tree 1 but the root moved on by one.
  PositionTree(std::int64_t ranks, std::int64_t number, std::int64_t root)
      : ranks_(ranks), number_(number), root_(root) {}

  std::int64_t first() const { return root_ < 0 && number_ == 0 ? 1 : 0; }
  std::int64_t last() const { return first() + ranks_ - 1; }

  std::int64_t RankOf(std::int64_t position) const {
    if (root_ < 0) return position - first();
    if (position == 0 || number_ == 0) return (position + root_) % ranks_;
    return ((position + ranks_ - 3) % (ranks_ - 1) + 1 + root_) % ranks_;
  }

  // -1 at the top.
  std::int64_t Parent(std::int64_t position) const {
    if (position == 0) return -1;
    const std::int64_t low = position & -position;
    const bool on_right = (position & 2 * low) != 0 || position + low > last();
    const std::int64_t parent = on_right ? position - low : position + low;
    return parent < first() ? -1 : parent;
  }

  // Positions with parents before their children.
  std::vector<std::int64_t> FromTheTop() const {
    std::vector<std::int64_t> order;
    for (std::int64_t p = first(); p <= last(); ++p) order.push_back(p);
    // A position stands higher than its children by its lowest bit, 0 higher than all.
    std::stable_sort(order.begin(), order.end(), [](std::int64_t a, std::int64_t b) {
      const std::int64_t low_a = a & -a, low_b = b & -b;
      return b != 0 && (a == 0 || low_a > low_b);
    });
    return order;
  }

 private:
  std::int64_t ranks_;
  std::int64_t number_;
  std::int64_t root_;  // -1: none
};

// Sums of V/2 to the top. Returns the messages after which the top has the whole.
Numbers Up(Timetable& t, const PositionTree& tree, const Question& q) {
  std::vector<Numbers> from_below(tree.last() + 1);
  std::vector<std::int64_t> order = tree.FromTheTop();
  std::reverse(order.begin(), order.end());
  for (const std::int64_t p : order) {
    const std::int64_t parent = tree.Parent(p);
    if (parent < 0) return from_below[p];
    const double weight = from_below[p].empty() ? 1 : q.accumulator_ratio;  // a leaf's is raw
    from_below[parent].push_back(
        t.Send(tree.RankOf(p), tree.RankOf(parent), weight * q.bytes / 2, from_below[p]));
  }
  return {};
}

// V/2 from the top to everyone, once `ready` have ended.
void Down(Timetable& t, const PositionTree& tree, const Question& q, const Numbers& ready) {
  std::vector<Numbers> from_above(tree.last() + 1);
  for (const std::int64_t p : tree.FromTheTop()) {
    const std::int64_t parent = tree.Parent(p);
    if (parent < 0) {
      from_above[p] = ready;
    } else {
      from_above[p] = {
          t.Send(tree.RankOf(parent), tree.RankOf(p), q.bytes / 2, from_above[parent])};
    }
  }
}

}  // namespace

Result<Phases> TwoTreesAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "double_tree"));
  Timetable t(w);
  CHORUS_RETURN_IF_ERROR(t.Allows("double_tree", 4 * (w.ranks - 1)));
  // Up in both, then down in both: so messages of one pair of ranks follow each other.
  const PositionTree trees[] = {{w.ranks, 0, -1}, {w.ranks, 1, -1}};
  Numbers up[2];
  for (const int i : {0, 1}) up[i] = Up(t, trees[i], q);
  for (const int i : {0, 1}) Down(t, trees[i], q, up[i]);
  return Listed(std::move(t), "double_tree");
}

Result<Phases> TwoTreesBroadcastTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "double_tree"));
  Timetable t(w);
  CHORUS_RETURN_IF_ERROR(t.Allows("double_tree", 2 * (w.ranks - 1)));
  for (const std::int64_t number : {0, 1}) Down(t, PositionTree(w.ranks, number, q.root), q, {});
  return Listed(std::move(t), "double_tree");
}

Result<Phases> TwoTreesReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "double_tree"));
  Timetable t(w);
  CHORUS_RETURN_IF_ERROR(t.Allows("double_tree", 2 * (w.ranks - 1)));
  for (const std::int64_t number : {0, 1}) Up(t, PositionTree(w.ranks, number, q.root), q);
  return Listed(std::move(t), "double_tree");
}

namespace {

// The scatter, from a rank that has the blocks of `level`. `had[r]`: after which message rank r has
// its block; `sent[r]`: the messages to its children.
void Scatter(Timetable& t, const RankTree& tree, double block, std::int64_t rank,
             std::int64_t level, Numbers& had, Numbers& sent) {
  for (const RankTree::Child& child : tree.Children(rank, level)) {
    const Number message = t.Send(rank, child.rank, child.ranks * block, {had[rank]});
    had[child.rank] = message;
    sent[rank] = t.All({sent[rank], message});
    Scatter(t, tree, block, child.rank, child.level, had, sent);
  }
}

}  // namespace

Result<Phases> ScatterGatherBroadcastTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "scatter_gather"));
  const double block = q.bytes / RanksOf(w);
  const RankTree tree(w.ranks, q.root, 2);
  Timetable t(w);
  CHORUS_RETURN_IF_ERROR(t.Allows("scatter_gather", w.ranks * (w.ranks - 1)));
  Numbers had(w.ranks, Timetable::kNothing), sent = had;
  Scatter(t, tree, block, q.root, tree.levels(), had, sent);
  // Around the ring from the root, which gets nothing: turn k of a rank waits for its turn k - 1
  // and for what its left neighbour sent in that.
  Numbers from_left(w.ranks, Timetable::kNothing);  // by turn
  for (std::int64_t hop = 0; hop + 1 < w.ranks; ++hop) {
    const std::int64_t from = (q.root + hop) % w.ranks, to = (from + 1) % w.ranks;
    const Number ready = t.All({had[from], had[to], sent[to], sent[from]});
    Numbers to_right(w.ranks, Timetable::kNothing);
    for (std::int64_t turn = 0; turn + 1 < w.ranks; ++turn) {
      const Number left = turn == 0 ? Timetable::kNothing : from_left[turn - 1];
      const Number before = turn == 0 ? Timetable::kNothing : to_right[turn - 1];
      to_right[turn] = t.Send(from, to, block, {ready, left, before});
    }
    from_left = std::move(to_right);
  }
  return Listed(std::move(t), "scatter_gather");
}

}  // namespace chorus
