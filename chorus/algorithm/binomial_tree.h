// The tree of binomial_broadcast.cc and binomial_reduce.cc: aligned halves of the ranks.
//
// At level k the ranks are cut into aligned blocks of 2^k; block c is {c 2^k, ..., (c+1) 2^k - 1},
// as far as these ranks exist. Each block has a holder: the root if it is in the block, else its
// lowest rank. Block c and its sibling c ^ 1 are the halves of one block of level k + 1, and the
// holder of that is the holder of one of the two halves. Every holder of a half that does not hold
// the whole exchanges one message with the one that does. A tree for N = 6, root 4:
//
//   level 2   [0 1 2 3][4 5]      4 <-> 0
//   level 1   [0 1][2 3][4 5]     0 <-> 2
//   level 0   [0][1][2][3][4][5]  0 <-> 1, 2 <-> 3, 4 <-> 5
//
// Neighbouring halves keep ranks in order for every root, which the usual rotation by the root
// does not. The root reaches all in ceil(log2 N) levels; each other rank is given one message.
#pragma once

#include "chorus/schedule/builder.h"

namespace chorus {

// Formulas of rank r at level k, as variables that Define defines.
struct BinomialTree {
  Expr k = Expr::Variable("k");          // the level
  Expr mine = Expr::Variable("mine");    // the half with r
  Expr other = Expr::Variable("other");  // its sibling
  Expr peer = Expr::Variable("peer");    // the holder of the sibling
  Expr below = Expr::Variable("below");  // the holder of the half with r
  Expr above = Expr::Variable("above");  // the holder of both halves

  // 1 where r holds both halves and the sibling has ranks: the side of the root.
  Expr upper = Expr::Variable("upper");
  // 1 where r holds its half only: the side away from the root.
  Expr lower = Expr::Variable("lower");

  // Adds the definitions to the loop being written. REQUIRES: k is a variable of that loop.
  void Define(ScheduleBuilder& b) const;
  // The half holds one rank only, so its contribution is raw.
  Expr IsSingle(const Expr& half) const;
};

}  // namespace chorus
