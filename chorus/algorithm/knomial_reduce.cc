// K-nomial reduce: K neighbouring parts of the ranks are added, level by level, in rank order.
//
// steps: ceil(log_K N) rounds of up to K - 1 messages to a rank, bytes sent per rank: V, and 0 by
// the root; a rank that is alone in its part sends elements, the others accumulators
//
// Worked example, K = 3, N = 8, root 4 (the tree is drawn in knomial_tree.h):
//   1. level 0: 1 and 2 send to 0, 3 and 5 to 4, 7 to 6
//   2. which take all
//   3. and add from the left: 0 has (x0+x1)+x2, 4 has (x3+x4)+x5, 6 has x6+x7. Level 1: 0 and 6
//   send
//      to 4: out = (((x0+x1)+x2) + ((x3+x4)+x5)) + (x6+x7)
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/knomial_tree.h"

namespace chorus {

Schedule KnomialReduce(std::int64_t arity) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), j = Expr::Variable("j");
  const LabelExpr u = Label("u"), s = Label("s"), v = Label("v"), a = Label("a");
  const KnomialTree tree(arity);
  const Expr& level = tree.level;
  ScheduleBuilder b("knomial_" + std::to_string(arity), OpKind::kReduce);
  // acc 0 is the sum of the own part, 1 a sum in progress; what the j-th part sends goes to slot j
  // of tmp or 2 + j of acc.
  b.Blocks(1).Order(ReduceOrder::kRank).Scratch(arity, 2 + arity).Tiles(4);
  b.Copy(u, Out(0), Scaled(In(0))).Finish().When(Eq(n, 1));
  b.For(level, 0, tree.Levels() - 1, [&] {
    tree.Define(b);
    // 1. Away from the root: pass the sum of the own part on, and be done.
    b.Send(s, {Select(tree.IsSingle(tree.mine), In(0), Acc(0, 0))})
        .To(tree.above)
        .As(0)
        .After(Every(a))
        .When(tree.lower);
    // 2. Towards the root: take the sums of the other parts.
    b.For(j, 0, arity - 1, [&] {
      const Expr part = tree.first + j;
      b.Recv(v[level][j], {Select(tree.IsSingle(part), Tmp(j, 0), Acc(2 + j, 0))})
          .From(tree.HolderOf(part))
          .As(0)
          .After(Every(a))
          .When(And(tree.upper, tree.IsOther(j)));
    });
    // 3. Add them up from the left. The last one of the last level ends the sum.
    const auto term = [&](const Expr& i) {
      const Expr part = tree.first + i;
      const Expr single = tree.IsSingle(part);
      return Select(Eq(part, tree.mine), Select(single, Scaled(In(0)), Acc(0, 0)),
                    Select(single, Scaled(Tmp(i, 0)), Acc(2 + i, 0)));
    };
    b.For(j, 1, arity - 1, [&] {
      const Expr is_last = Or(Eq(j, arity - 1), Not(tree.Exists(j + 1)));
      const Expr ends = And(is_last, Eq(level, tree.Levels() - 1));
      const Expr here = And(tree.upper, tree.Exists(j));
      const ChunkExpr sum = Select(Eq(j, 1), term(0), Acc(1, 0));
      b.Reduce(a[level][j], Acc(Select(is_last, 0, 1), 0), sum, term(j))
          .After(v[level][j - 1], v[level][j], Every(a))
          .When(And(here, Not(ends)));
      b.Reduce(a[level][j], Out(0), sum, term(j))
          .Finish()
          .After(v[level][j - 1], v[level][j], Every(a))
          .When(And(here, ends));
    });
  });
  return std::move(b).Build();
}

const Algorithm kKnomialReduce = {
    "knomial:4",
    OpKind::kReduce,
    "K neighbouring parts of the ranks are added, level by level, in rank order",
    "steps: ceil(log_K N), bytes sent per rank: V, by the root 0",
    R"(  K = 3, N = 9, root 0
  level 0   x0 <- x1, x2   x3 <- x4, x5   x6 <- x7, x8
  level 1   x0+x1+x2  <--  x3+x4+x5,      x6+x7+x8
  end       (x0+x1+x2)+(x3+x4+x5)+(x6+x7+x8)
)",
    nullptr,
    &kKnomialParameter,
    [](const AlgorithmNumbers& numbers) { return KnomialReduce(numbers[0]); },
};

}  // namespace chorus
