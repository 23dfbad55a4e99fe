// Halving-doubling (Rabenseifner) all_reduce: halves of the array are summed with ever farther
// ranks, until each has one block; then blocks are gathered the same way back.
//
// steps: 2 log2 P (and 2 more if N is not P, the power of two below), bytes sent per rank:
// 2(P - 1)/P V; a folded rank V, the one it is folded on V more
//
// The array has P blocks. In round k rank v keeps the blocks that are v modulo 2^(k+1), so near
// ranks are summed first and sums keep rank order, which the usual "far ranks first" does not.
//
// Worked example, N = 4, rank v = 1:
//   1. (N = P: nothing to fold)
//   2. round 0, with rank 0: sends in[0], in[2] and takes its in[1], in[3]
//   3. adds, the lower on the left: x0 + x1 of blocks 1 and 3. Round 1, with rank 3: sends that of
//      block 3, takes x2 + x3 of block 1: out[1] = (x0 + x1) + (x2 + x3)
//   4. back: with rank 3 gives out[1] and takes out[3]; with rank 0 gives 1, 3 and takes 0, 2
//   5. (nothing to unfold)
// Source: Rabenseifner, "Optimization of collective reduction operations", 2004.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/folded_ranks.h"

namespace chorus {

Schedule HalvingDoublingAllReduce() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), levels = CoreLevels();
  const Expr k = Expr::Variable("k"), w = Expr::Variable("w"), j = Expr::Variable("j");
  const Expr t = Expr::Variable("t"), block = Expr::Variable("b");
  const LabelExpr u = Label("u"), x = Label("x"), y = Label("y"), e = Label("e");
  const LabelExpr s = Label("s"), g = Label("g"), a = Label("a"), z = Label("z");
  const LabelExpr f = Label("f"), h = Label("h");
  const FoldedRanks fold;
  const Expr p = fold.core_size, v = fold.v, last = levels - 1;
  const Expr blocks = Expr(1) << levels;
  ScheduleBuilder b("halving_doubling", OpKind::kAllReduce);
  b.Blocks(blocks).Order(ReduceOrder::kRank).Scratch(2 * blocks, 2 * blocks).Tiles(2);
  fold.Define(b);
  b.Copy(u, Out(0), Scaled(In(0))).Finish().When(Eq(n, 1));
  // 1. Fold: everything.
  b.Send(x, {Each(j, 0, p - 1, In(j))}).To(r - 1).As(0).When(fold.IsFolded());
  b.Recv(y, {Each(j, 0, p - 1, Tmp(j, j))}).From(r + 1).As(0).When(fold.Folds());
  b.For(j, 0, p - 1, [&] {
    b.Reduce(e[j], Acc(j, j), Scaled(In(j)), Scaled(Tmp(j, j))).After(y).When(fold.Folds());
  });
  // The j-th of the blocks that core number `number` keeps in round k.
  const auto kept = [&](const Expr& number) {
    return number % (Expr(2) << k) + j * (Expr(2) << k);
  };
  const Expr end = (p >> (k + 1)) - 1;
  b.For(k, 0, last, [&] {
    b.Define(w, v ^ (Expr(1) << k));
    const Expr mine_raw = And(Eq(k, 0), Not(fold.Stands(v)));
    const Expr other_raw = And(Eq(k, 0), Not(fold.Stands(w)));
    // 2. Give the half that the other keeps, take the half that this one keeps: after what is
    // folded, without which nothing can go on and which would share the port.
    b.Send(s[k], {Each(j, 0, end, Select(mine_raw, In(kept(w)), Acc(kept(w), kept(w))))})
        .To(fold.RankOf(w))
        .As(k + 1)
        .After(Every(e), Every(a))
        .When(fold.core);
    b.Recv(g[k], {Each(j, 0, end, Select(other_raw, Tmp(p + j, kept(v)), Acc(p + j, kept(v))))})
        .From(fold.RankOf(w))
        .As(k + 1)
        .After(y, Every(a))
        .When(fold.core);
    b.For(j, 0, end, [&] {
      b.Define(block, kept(v));
      // 3. Add, the lower ranks on the left; the last round leaves one block, finished.
      const ChunkExpr mine = Select(mine_raw, Scaled(In(block)), Acc(block, block));
      const ChunkExpr other = Select(other_raw, Scaled(Tmp(p + j, block)), Acc(p + j, block));
      const ChunkExpr left = Select(Lt(v, w), mine, other);
      const ChunkExpr right = Select(Lt(v, w), other, mine);
      const LabelExpr before = a[k - 1][block >> k];
      b.Reduce(a[k][j], Acc(block, block), left, right)
          .After(g[k], e[block], before)
          .When(And(fold.core, Lt(k, last)));
      b.Reduce(a[k][j], Out(block), left, right)
          .Finish()
          .After(g[k], e[block], before)
          .When(And(fold.core, Eq(k, last)));
    });
  });
  // 4. The way back: whoever shared a half gets the sums of the other half.
  b.For(t, 0, last, [&] {
    b.Define(k, last - t);
    b.Define(w, v ^ (Expr(1) << k));
    b.Send(f[k], {Each(j, 0, end, Out(kept(v)))})
        .To(fold.RankOf(w))
        .As(levels + 1 + t)
        .After(a[last][0], Every(h))
        .When(fold.core);
    b.Recv(h[k], {Each(j, 0, end, Out(kept(w)))})
        .From(fold.RankOf(w))
        .As(levels + 1 + t)
        .When(fold.core);
  });
  // 5. Unfold.
  const Expr unfolds = 2 * levels + 1;
  b.Send(z, {Each(j, 0, p - 1, Out(j))})
      .To(r + 1)
      .As(unfolds)
      .After(a[last][0], Every(h))
      .When(fold.Folds());
  b.Recv(z, {Each(j, 0, p - 1, Out(j))}).From(r - 1).As(unfolds).After(x).When(fold.IsFolded());
  return std::move(b).Build();
}

const Algorithm kHalvingDoublingAllReduce = {
    "halving_doubling",
    OpKind::kAllReduce,
    "halves of the array are summed with ever farther ranks, then gathered the same way back "
    "(Rabenseifner)",
    "steps: 2 log2 P (2 more if N > P, the power of two below), bytes sent per rank: 2(P - 1)/P V "
    "(after round 0 of the sums as accumulators)",
    R"(  How many contributions each rank has summed, N = 4; * is finished.
                   rank 0    rank 1    rank 2    rank 3
  start            1 1 1 1   1 1 1 1   1 1 1 1   1 1 1 1    0 - 1   2 - 3
  sum     round 0  2 1 2 1   1 2 1 2   2 1 2 1   1 2 1 2    0 - 2   1 - 3
  sum     round 1  * 1 2 1   1 * 1 2   2 1 * 1   1 2 1 *    0 - 2   1 - 3
  gather  round 1  * 1 * 1   1 * 1 *   * 1 * 1   1 * 1 *    0 - 1   2 - 3
  gather  round 0  * * * *   * * * *   * * * *   * * * *
)",
    HalvingDoublingAllReduce,
};

}  // namespace chorus
