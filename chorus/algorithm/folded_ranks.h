// How an algorithm for 2^k ranks serves any N: surplus ranks are folded onto their neighbours.
//
// Let P be the largest power of two that is at most N, and M = N - P. Of the first 2M ranks each
// odd one gives what it has to the even one before it and waits for the result; the P ranks that
// are left are the core, numbered v = 0 .. P - 1 in rank order:
//
//   N = 6, P = 4, M = 2      rank   0 <- 1   2 <- 3   4   5
//                            v      0        1        2   3
//
// Core ranks stand for neighbouring ranks in rank order, so sums that follow v follow the ranks.
#pragma once

#include "chorus/schedule/builder.h"

namespace chorus {

// Formulas of rank r, as variables that Define defines.
struct FoldedRanks {
  Expr core_size = Expr::Variable("P");
  Expr surplus = Expr::Variable("M");
  Expr core = Expr::Variable("core");  // 1 if r is in the core
  Expr v = Expr::Variable("v");  // the number of r in the core, or of the rank it is folded on

  // Adds the definitions. REQUIRES: not within a loop.
  void Define(ScheduleBuilder& b) const;
  // The rank of core number u; with Stands(u) it stands for the rank after it too.
  Expr RankOf(const Expr& u) const;
  Expr Stands(const Expr& u) const { return Lt(u, surplus); }
  // 1 on a core rank that stands for two; on one that is folded.
  Expr Folds() const { return And(core, Stands(v)); }
  Expr IsFolded() const { return Not(core); }
  // In a message: one chunk for each rank that core number u stands for. `chunk_of` makes the chunk
  // of a rank.
  template <typename ChunkOf>
  ChunkExpr EachRankOf(const Expr& u, const ChunkOf& chunk_of) const {
    const Expr i = Expr::Variable("i");
    return Each(i, 0, Stands(u), chunk_of(RankOf(u) + i));
  }
};

// log2 of the core's size, for headers and loops.
Expr CoreLevels();

}  // namespace chorus
