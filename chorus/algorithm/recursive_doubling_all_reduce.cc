// Recursive doubling all_reduce: in round k every rank exchanges its sum with the one 2^k away.
//
// steps: log2 P (and 2 more if N is not P, the power of two below), bytes sent per rank: V log2 P
//
// Worked example, N = 5 (P = 4), rank 2, which is v = 1 of the core [0 2 3 4]; 1 is folded on 0:
//   1. (rank 0 takes x1 from rank 1: x0 + x1)
//   2. round 0: sends x2 to v = 0, rank 0, and takes x0 + x1
//   3. adds, the lower on the left: (x0 + x1) + x2. Round 1: the same with v = 3, rank 4, which has
//      x3 + x4: the sum, by the same formula on every rank of the core, hence the same bits
//   4. (rank 0 gives the sum to rank 1)
// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
// MPICH", 2005, section 4.5.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/folded_ranks.h"

namespace chorus {

Schedule RecursiveDoublingAllReduce() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), levels = CoreLevels();
  const Expr k = Expr::Variable("k"), w = Expr::Variable("w");
  const LabelExpr u = Label("u"), x = Label("x"), y = Label("y"), e = Label("e");
  const LabelExpr s = Label("s"), g = Label("g"), a = Label("a"), z = Label("z");
  const FoldedRanks fold;
  const Expr last = levels - 1;
  ScheduleBuilder b("recursive_doubling", OpKind::kAllReduce);
  b.Blocks(1).Order(ReduceOrder::kRank).Scratch(2, 4).Tiles(2);
  fold.Define(b);
  b.Copy(u, Out(0), Scaled(In(0))).Finish().When(Eq(n, 1));
  // 1. Fold.
  b.Send(x, {In(0)}).To(r - 1).As(0).When(fold.IsFolded());
  b.Recv(y, {Tmp(0, 0)}).From(r + 1).As(0).When(fold.Folds());
  b.Reduce(e, Acc(0, 0), Scaled(In(0)), Scaled(Tmp(0, 0))).After(y).When(fold.Folds());
  b.For(k, 0, last, [&] {
    b.Define(w, fold.v ^ (Expr(1) << k));
    // What stands for one rank is a raw contribution in round 0.
    const Expr mine_raw = And(Eq(k, 0), Not(fold.Stands(fold.v)));
    const Expr other_raw = And(Eq(k, 0), Not(fold.Stands(w)));
    // 2. Exchange; sums and what arrives have two slots each, used in turn. First what is folded
    // comes in, without which nothing can go on and which would share the port.
    b.Send(s[k], {Select(mine_raw, In(0), Acc(k % 2, 0))})
        .To(fold.RankOf(w))
        .As(k + 1)
        .After(e, a[k - 1])
        .When(fold.core);
    b.Recv(g[k], {Select(other_raw, Tmp(1, 0), Acc(2 + k % 2, 0))})
        .From(fold.RankOf(w))
        .As(k + 1)
        .After(y, a[k - 2], s[k - 1])
        .When(fold.core);
    // 3. Add, the lower ranks on the left.
    const ChunkExpr mine = Select(mine_raw, Scaled(In(0)), Acc(k % 2, 0));
    const ChunkExpr other = Select(other_raw, Scaled(Tmp(1, 0)), Acc(2 + k % 2, 0));
    const ChunkExpr left = Select(Lt(fold.v, w), mine, other);
    const ChunkExpr right = Select(Lt(fold.v, w), other, mine);
    b.Reduce(a[k], Acc((k + 1) % 2, 0), left, right)
        .After(g[k], e, a[k - 1], s[k - 1])
        .When(And(fold.core, Lt(k, last)));
    // In place it overwrites what s[0] sends.
    b.Reduce(a[k], Out(0), left, right)
        .Finish()
        .After(g[k], e, a[k - 1], s[0])
        .When(And(fold.core, Eq(k, last)));
  });
  // 4. Unfold.
  b.Send(z, {Out(0)}).To(r + 1).As(levels + 1).After(a[last]).When(fold.Folds());
  b.Recv(z, {Out(0)}).From(r - 1).As(levels + 1).After(x).When(fold.IsFolded());
  return std::move(b).Build();
}

const Algorithm kRecursiveDoublingAllReduce = {
    "recursive_doubling",
    OpKind::kAllReduce,
    "in round k every rank exchanges its sum with the one 2^k away",
    "steps: log2 P (2 more if N > P, the power of two below), bytes sent per rank: V log2 P",
    R"(  Contributions summed, N = 4; * is finished.
           rank 0    rank 1    rank 2    rank 3
  start    0         1         2         3          0 - 1   2 - 3
  round 0  01        01        23        23         0 - 2   1 - 3
  round 1  0123*     0123*     0123*     0123*
)",
    RecursiveDoublingAllReduce,
};

}  // namespace chorus
