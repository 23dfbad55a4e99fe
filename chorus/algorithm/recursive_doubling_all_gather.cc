// Recursive doubling all_gather: in round k every rank exchanges all it has with the one 2^k away.
//
// steps: log2 P (and 2 more if N is not P, the power of two below), bytes sent per rank: (P - 1)/N
// V for N = P; with surplus ranks an even rank below 2 (N - P) sends about V more
//
// Worked example, N = 5 (P = 4), rank 2, which is v = 1 of the core [0 2 3 4]; 1 is folded on 0:
//   1. has its own block C; (rank 0 takes B from rank 1)
//   2. round 0: sends C to v = 0, rank 0, and takes A B
//   3. round 1: sends A B C to v = 3, rank 4, and takes D E
//   4. (rank 0 gives rank 1 what it lacks)
// Source: as recursive_doubling_all_reduce.cc, section 4.1.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/folded_ranks.h"

namespace chorus {

Schedule RecursiveDoublingAllGather() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), levels = CoreLevels();
  const Expr k = Expr::Variable("k"), w = Expr::Variable("w"), j = Expr::Variable("j");
  const LabelExpr c = Label("c"), x = Label("x"), s = Label("s"), g = Label("g"), z = Label("z");
  const FoldedRanks fold;
  ScheduleBuilder b("recursive_doubling", OpKind::kAllGather);
  b.Blocks(n).Tiles(2);
  fold.Define(b);
  // 1. The own block, and that of the rank that is folded on this one.
  b.Copy(c, Out(r), In(r));
  b.Send(x, {In(r)}).To(r - 1).As(0).When(fold.IsFolded());
  b.Recv(x, {Out(r + 1)}).From(r + 1).As(0).When(fold.Folds());
  // What core number `u` has before round k: the blocks of all in its aligned 2^k.
  const auto held = [&](const Expr& u) {
    return Each(j, 0, (Expr(1) << k) - 1,
                fold.EachRankOf(((u >> k) << k) + j, [](const Expr& rank) { return Out(rank); }));
  };
  b.For(k, 0, levels - 1, [&] {
    b.Define(w, fold.v ^ (Expr(1) << k));
    // 2. and 3. Exchange all there is. What comes in comes one after the other, so that nothing
    // shares the port with what more depends on.
    b.Send(s[k], {held(fold.v)}).To(fold.RankOf(w)).As(k + 1).After(c, x, Every(g)).When(fold.core);
    b.Recv(g[k], {held(w)}).From(fold.RankOf(w)).As(k + 1).After(x, g[k - 1]).When(fold.core);
  });
  // 4. What the folded rank lacks.
  b.Send(z, {EachIf(j, 0, n - 1, Ne(j, r + 1), Out(j))})
      .To(r + 1)
      .As(levels + 1)
      .After(c, Every(g))
      .When(fold.Folds());
  b.Recv(z, {EachIf(j, 0, n - 1, Ne(j, r), Out(j))})
      .From(r - 1)
      .As(levels + 1)
      .When(fold.IsFolded());
  return std::move(b).Build();
}

const Algorithm kRecursiveDoublingAllGather = {
    "recursive_doubling",
    OpKind::kAllGather,
    "in round k every rank exchanges all it has with the one 2^k away",
    "steps: log2 P (2 more if N > P, the power of two below), bytes sent per rank: (N - 1)/N V",
    R"(           rank 0    rank 1    rank 2    rank 3
  start    A . . .   . B . .   . . C .   . . . D    0 - 1   2 - 3
  round 0  A B . .   A B . .   . . C D   . . C D    0 - 2   1 - 3
  round 1  A B C D   A B C D   A B C D   A B C D
)",
    RecursiveDoublingAllGather,
};

}  // namespace chorus
