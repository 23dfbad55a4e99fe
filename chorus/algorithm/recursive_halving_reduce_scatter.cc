// Recursive halving reduce_scatter: halves of the blocks are summed with ever farther ranks, until
// each rank has its own.
//
// steps: log2 P (and 2 more if N is not P, the power of two below), bytes sent per rank:
// (N - 1)/N V for N = P; a folded rank V
//
// In round k core number v keeps the blocks of the core numbers that are v modulo 2^(k+1): near
// ranks are summed first, so sums keep rank order.
//
// Worked example, N = 5 (P = 4), rank 2, which is v = 1 of the core [0 2 3 4]; 1 is folded on 0:
//   1. (rank 0 takes all of x1 from rank 1 and adds it)
//   2. round 0, with v = 0, rank 0: sends x2 of the blocks of v = 0, 2, which are 0, 1 and 3, and
//   takes
//      x0 + x1 of those of v = 1, 3, which are 2 and 4
//   3. adds. Round 1, with v = 3, rank 4: sends the sum of block 4, takes x3 + x4 of block 2:
//      out[2] = ((x0 + x1) + x2) + (x3 + x4)
//   4. (rank 0 finishes block 1 too and gives it to rank 1)
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/folded_ranks.h"

namespace chorus {

Schedule RecursiveHalvingReduceScatter() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), levels = CoreLevels();
  const Expr k = Expr::Variable("k"), w = Expr::Variable("w"), j = Expr::Variable("j");
  const Expr i = Expr::Variable("i"), q = Expr::Variable("q"), block = Expr::Variable("b");
  const LabelExpr u = Label("u"), x = Label("x"), y = Label("y"), e = Label("e");
  const LabelExpr s = Label("s"), g = Label("g"), a = Label("a"), z = Label("z");
  const FoldedRanks fold;
  const Expr v = fold.v, last = levels - 1;
  ScheduleBuilder b("recursive_halving", OpKind::kReduceScatter);
  b.Blocks(n).Order(ReduceOrder::kRank).Scratch(2 * n + 1, 2 * n).Tiles(2);
  fold.Define(b);
  b.Copy(u, Out(0), Scaled(In(0))).Finish().When(Eq(n, 1));
  // 1. Fold: everything.
  b.Send(x, {Each(j, 0, n - 1, In(j))}).To(r - 1).As(0).When(fold.IsFolded());
  b.Recv(y, {Each(j, 0, n - 1, Tmp(j, j))}).From(r + 1).As(0).When(fold.Folds());
  b.For(j, 0, n - 1, [&] {
    b.Reduce(e[j], Acc(j, j), Scaled(In(j)), Scaled(Tmp(j, j))).After(y).When(fold.Folds());
  });
  // The j-th of the core numbers whose blocks core number `number` keeps in round k.
  const auto kept = [&](const Expr& number) {
    return number % (Expr(2) << k) + j * (Expr(2) << k);
  };
  const Expr end = (fold.core_size >> (k + 1)) - 1;
  b.For(k, 0, last, [&] {
    b.Define(w, v ^ (Expr(1) << k));
    const Expr mine_raw = And(Eq(k, 0), Not(fold.Stands(v)));
    const Expr other_raw = And(Eq(k, 0), Not(fold.Stands(w)));
    // 2. Give the half that the other keeps, take the half that this one keeps.
    b.Send(s[k],
           {Each(j, 0, end,
                 fold.EachRankOf(
                     kept(w), [&](const Expr& c) { return Select(mine_raw, In(c), Acc(c, c)); }))})
        .To(fold.RankOf(w))
        .As(k + 1)
        .After(Every(e), Every(a))
        .When(fold.core);
    b.Recv(g[k], {Each(j, 0, end,
                       fold.EachRankOf(kept(v),
                                       [&](const Expr& c) {
                                         return Select(other_raw, Tmp(n + c, c), Acc(n + c, c));
                                       }))})
        .From(fold.RankOf(w))
        .As(k + 1)
        .After(Every(a))
        .When(fold.core);
    b.For(j, 0, end, [&] {
      b.Define(q, kept(v));
      b.For(i, 0, fold.Stands(q), [&] {
        b.Define(block, fold.RankOf(q) + i);
        // 3. Add, the lower ranks on the left. The last round leaves the own block, and that of the
        // folded rank.
        const ChunkExpr mine = Select(mine_raw, Scaled(In(block)), Acc(block, block));
        const ChunkExpr other =
            Select(other_raw, Scaled(Tmp(n + block, block)), Acc(n + block, block));
        const ChunkExpr left = Select(Lt(v, w), mine, other);
        const ChunkExpr right = Select(Lt(v, w), other, mine);
        b.Reduce(a[k][block], Acc(block, block), left, right)
            .After(g[k], e[block], a[k - 1][block])
            .When(And(fold.core, Lt(k, last)));
        b.Reduce(a[k][block], Select(Eq(i, 0), Out(block), Tmp(2 * n, block)), left, right)
            .Finish()
            .After(g[k], e[block], a[k - 1][block])
            .When(And(fold.core, Eq(k, last)));
      });
    });
  });
  // 4. Unfold.
  b.Send(z, {Tmp(2 * n, r + 1)}).To(r + 1).As(levels + 1).After(a[last][r + 1]).When(fold.Folds());
  b.Recv(z, {Out(r)}).From(r - 1).As(levels + 1).After(x).When(fold.IsFolded());
  return std::move(b).Build();
}

const Algorithm kRecursiveHalvingReduceScatter = {
    "recursive_halving",
    OpKind::kReduceScatter,
    "halves of the blocks are summed with ever farther ranks, until each has its own",
    "steps: log2 P (2 more if N > P, the power of two below), bytes sent per rank: (N - 1)/N V "
    "(after round 0 as accumulators)",
    R"(  How many contributions each rank has summed, N = 4; * is finished.
           rank 0    rank 1    rank 2    rank 3
  start    1 1 1 1   1 1 1 1   1 1 1 1   1 1 1 1    0 - 1   2 - 3
  round 0  2 1 2 1   1 2 1 2   2 1 2 1   1 2 1 2    0 - 2   1 - 3
  round 1  * 1 2 1   1 * 1 2   2 1 * 1   1 2 1 *
)",
    RecursiveHalvingReduceScatter,
};

}  // namespace chorus
