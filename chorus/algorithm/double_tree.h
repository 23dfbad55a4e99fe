// Two binary trees over the same ranks, in which nearly every rank is a leaf of one and an inner
// node of the other: each carries half of the array, so that all ranks both send and receive all
// the time.
//
// A tree is over positions 1 .. L: the lowest set bit of a position is how high it stands. Odd ones
// are leaves; p has the positions (p - low, p) on its left and (p, p + low) on its right, so a sum
// taken left, own, right follows the positions:
//
//   L = 7:          4
//               2       6
//             1   3   5   7
//
// Position 0, where there is one, stands on top of the root. Over ranks, in rank order
// (all_reduce): tree 0 has position r + 1, so odd ranks are inner nodes; tree 1 has position r, so
// even ranks are. For a root (broadcast, reduce) ranks are counted from it, it stands at position 0
// of both, and tree 1 is shifted by one among the others. Source: Sanders, Speck, Träff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", 2009; the shift by one is NCCL's.
#pragma once

#include <string>

#include "chorus/schedule/builder.h"

namespace chorus {

enum class TreeRoot : std::uint8_t {
  kAnywhere,  // ranks in rank order
  kRoot,      // counted from the root of the operation
};

// One of the two trees, as formulas of rank r.
class HalfTree {
 public:
  HalfTree(int number, TreeRoot root) : number_(number), root_(root) {}

  // Adds the definitions of this tree. REQUIRES: not within a loop.
  void Define(ScheduleBuilder& b) const;
  // Sums of in[block] towards the top, which finishes it in out[block]; block is the tree's number.
  // Uses message `message`, tmp slots 2 block and up, acc slots 3 block and up.
  void AddReduce(ScheduleBuilder& b, const Expr& message) const;
  // out[block] from the top, which has it in `source` once `ready` has ended, down to everyone.
  void AddBroadcast(ScheduleBuilder& b, const ChunkExpr& source,
                    const std::vector<LabelExpr>& ready, const Expr& message) const;
  // The steps after which the top has out[block].
  std::vector<LabelExpr> Finished() const;
  Expr IsTop() const { return Not(has_parent_); }

 private:
  std::string Name(const char* name) const { return name + std::to_string(number_); }
  Expr Last() const;  // position
  Expr RankOf(const Expr& position) const;

  int number_;
  TreeRoot root_;
  Expr block_ = number_;
  Expr position_ = Expr::Variable(Name("p"));
  Expr low_ = Expr::Variable(Name("low"));
  Expr rest_ = Expr::Variable(Name("rest"));  // positions on the right
  Expr parent_ = Expr::Variable(Name("up"));
  Expr right_ = Expr::Variable(Name("right"));
  Expr has_parent_ = Expr::Variable(Name("child"));
  Expr has_left_ = Ge(low_, 2);
  Expr has_right_ = Ge(rest_, 1);
};

}  // namespace chorus
