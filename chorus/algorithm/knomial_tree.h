// The tree of knomial_*.cc: ranks cut into aligned parts, K of which make one of the next level.
//
// At level l the ranks are cut into aligned parts of K^l; part c is {c K^l, ..., (c + 1) K^l - 1},
// as far as these ranks exist. Each part has a holder: the root if it is in the part, else its
// lowest rank. The holder of a part of level l + 1 is the holder of one of its K parts of level l,
// and exchanges one message with each holder of the others. For K = 2 it is the tree of
// binomial_tree.h; a larger K has fewer levels and more messages a level. K = 3, N = 8, root 4:
//
//   level 2   [0 1 2 3 4 5 6 7]       4 <-> 0, 6
//   level 1   [0 1 2][3 4 5][6 7]     0 <-> 1, 2    4 <-> 3, 5    6 <-> 7
//   level 0   [0][1][2][3][4][5][6][7]
//
// Parts keep ranks in order, for every root.
#pragma once

#include <functional>

#include "chorus/algorithm/algorithm.h"
#include "chorus/schedule/builder.h"

namespace chorus {

// K of "knomial:K".
extern const AlgorithmParameter kKnomialParameter;

// Formulas of rank r at a level, as variables that Define defines.
struct KnomialTree {
  explicit KnomialTree(std::int64_t k) : arity(k) {}

  std::int64_t arity;
  Expr level = Expr::Variable("l");
  Expr size = Expr::Variable("z");       // ranks of a full part
  Expr mine = Expr::Variable("mine");    // the part with r
  Expr first = Expr::Variable("p");      // the first of the K parts that mine is one of
  Expr above = Expr::Variable("above");  // the holder of all K
  Expr upper = Expr::Variable("upper");  // 1 where r is that holder: the side of the root
  Expr lower = Expr::Variable("lower");  // 1 where r holds its part only: away from the root

  // Levels above 0.
  Expr Levels() const { return CeilLog(arity, Expr::GroupSize()); }
  // Adds the definitions to the loop being written. REQUIRES: level is a variable of that loop.
  void Define(ScheduleBuilder& b) const;
  // The holder of a part, and its ranks: [Begin, End).
  Expr HolderOf(const Expr& part) const;
  Expr Begin(const Expr& part) const { return part * size; }
  Expr End(const Expr& part) const { return Min((part + 1) * size, Expr::GroupSize()); }
  // 1 where the j-th of the K parts has ranks; where it has, and is not the one with r.
  Expr Exists(const Expr& j) const { return Lt(Begin(first + j), Expr::GroupSize()); }
  Expr IsOther(const Expr& j) const { return And(Exists(j), Ne(first + j, mine)); }
  // The part has one rank only, so what it contributes to a sum is raw.
  Expr IsSingle(const Expr& part) const { return Eq(End(part) - Begin(part), 1); }
};

// The blocks of ever smaller parts, from `in` of the root: every rank ends with those of the part
// that it holds, in the places that `place` gives them. Steps v and s, messages 0. In
// knomial_scatter.cc.
void AddKnomialScatter(ScheduleBuilder& b, std::int64_t arity,
                       const std::function<ChunkExpr(const Expr&)>& place);

}  // namespace chorus
