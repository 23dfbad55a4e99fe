// Binomial reduce: neighbouring halves of the ranks are added, level by level, in rank order.
//
// steps: ceil(log2 N), bytes sent per rank: V, and 0 by the root; a rank that is alone in its half
// sends elements, the others accumulators
//
// Worked example, N = 6, root 4 (the tree is drawn in binomial_tree.h):
//   1. level 0: 1 sends x1 to 0, 3 sends x3 to 2, 5 sends x5 to 4
//   2. which add: 0 has x0+x1, 2 has x2+x3, 4 has x4+x5
//   3. level 1: 2 sends to 0: (x0+x1)+(x2+x3). Level 2: 0 sends to 4, where it goes to the LEFT:
//      out = ((x0+x1)+(x2+x3)) + (x4+x5)
#include "chorus/algorithm/binomial_tree.h"
#include "chorus/algorithm/builders.h"

namespace chorus {

Schedule BinomialReduce() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), levels = CeilLog2(n);
  const LabelExpr u = Label("u"), s = Label("s"), v = Label("v"), a = Label("a");
  const BinomialTree tree;
  const Expr& k = tree.k;
  ScheduleBuilder b("binomial", OpKind::kReduce);
  b.Blocks(1).Order(ReduceOrder::kRank).Scratch(2, Max(levels, 1)).Tiles(4);
  b.Copy(u, Out(0), Scaled(In(0))).Finish().When(Eq(n, 1));
  const Expr alone = Expr::Variable("alone"), lone = Expr::Variable("lone");
  b.For(k, 0, levels - 1, [&] {
    tree.Define(b);
    b.Define(alone, tree.IsSingle(tree.mine));
    b.Define(lone, tree.IsSingle(tree.other));
    // 1. Away from the root: pass the sum of the own half on, and be done.
    b.Send(s, {Select(alone, In(0), Acc(0, 0))})
        .To(tree.peer)
        .As(0)
        .After(Every(a))
        .When(tree.lower);
    // 2. Towards the root: take the sum of the other half. Each level has a slot of its own, so
    // that messages may come in any order.
    const Expr tmp_slot = Min(k, 1);
    b.Recv(v[k], {Select(lone, Tmp(tmp_slot, 0), Acc(k, 0))})
        .From(tree.peer)
        .As(0)
        .When(tree.upper);
    // 3. The lower half goes to the left. The last level of the root ends the sum.
    const ChunkExpr mine = Select(alone, Scaled(In(0)), Acc(0, 0));
    const ChunkExpr other = Select(lone, Scaled(Tmp(tmp_slot, 0)), Acc(k, 0));
    const Expr mine_is_left = Lt(tree.mine, tree.other);
    const ChunkExpr left = Select(mine_is_left, mine, other);
    const ChunkExpr right = Select(mine_is_left, other, mine);
    b.Reduce(a[k], Acc(0, 0), left, right)
        .After(v[k], Every(a))
        .When(And(tree.upper, Lt(k, levels - 1)));
    b.Reduce(a[k], Out(0), left, right)
        .Finish()
        .After(v[k], Every(a))
        .When(And(tree.upper, Eq(k, levels - 1)));
  });
  return std::move(b).Build();
}

const Algorithm kBinomialReduce = {
    "binomial",
    OpKind::kReduce,
    "neighbouring halves of the ranks are added, level by level, in rank order",
    "steps: ceil(log2 N), bytes sent per rank: V, by the root 0",
    R"(  N = 4, root 0
  level 0   x0 <- x1          x2 <- x3
  level 1   x0+x1  <--------  x2+x3
  end       (x0+x1)+(x2+x3)
)",
    BinomialReduce,
};

}  // namespace chorus
