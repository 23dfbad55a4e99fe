// K-nomial scatter: the blocks of ever smaller parts of the ranks travel together from the root.
//
// steps: ceil(log_K N) rounds of up to K - 1 messages a rank, bytes sent per rank: the blocks of
// the parts it gives away, 0 at the leaves, by the root (N - 1)/N V
//
// Worked example, K = 3, N = 8, root 4 (the tree is drawn in knomial_tree.h):
//   1. rank 4 has its own block: out[4] = in[4]
//   2. level 1: 0 takes blocks 0 1 2 and 6 takes 6 7
//   3. from 4; level 0: 4 sends 3 and 5 to ranks 3 and 5, 0 sends 1 and 2 to ranks 1 and 2, ...
// All blocks are of one size, or all ranks know the sizes: they pass through other ranks.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/knomial_tree.h"

namespace chorus {

Schedule KnomialScatter(std::int64_t arity) {
  const Expr r = Expr::Rank(), root = Expr::Root();
  const LabelExpr c = Label("c");
  ScheduleBuilder b("knomial_" + std::to_string(arity), OpKind::kScatter);
  b.Blocks(Expr::GroupSize()).Scratch(Expr::GroupSize(), 0).Tiles(2);
  // 1. The root's own block.
  b.Copy(c, Out(r), In(r)).When(Eq(r, root));
  AddKnomialScatter(b, arity, [&](const Expr& block) {
    return Select(Eq(block, r), Out(block), Tmp(block, block));
  });
  return std::move(b).Build();
}

void AddKnomialScatter(ScheduleBuilder& b, std::int64_t arity,
                       const std::function<ChunkExpr(const Expr&)>& place) {
  const Expr r = Expr::Rank(), root = Expr::Root();
  const Expr t = Expr::Variable("t"), j = Expr::Variable("j"), i = Expr::Variable("i");
  const LabelExpr s = Label("s"), v = Label("v");
  const KnomialTree tree(arity);
  b.For(t, 1, tree.Levels(), [&] {
    b.Define(tree.level, tree.Levels() - t);
    tree.Define(b);
    // 2. Take the blocks of the own part once,
    b.Recv(v, {Each(i, tree.Begin(tree.mine), tree.End(tree.mine) - 1, place(i))})
        .From(tree.above)
        .As(0)
        .When(tree.lower);
    b.For(j, 0, arity - 1, [&] {
      // 3. and pass on those of the other parts, ever closer.
      const Expr part = tree.first + j;
      b.Send(s[tree.level][j],
             {Each(i, tree.Begin(part), tree.End(part) - 1, Select(Eq(r, root), In(i), place(i)))})
          .To(tree.HolderOf(part))
          .As(0)
          .After(v)
          .When(And(tree.upper, tree.IsOther(j)));
    });
  });
}

const Algorithm kKnomialScatter = {
    "knomial:2",
    OpKind::kScatter,
    "the blocks of ever smaller parts of the ranks travel together from the root",
    "steps: ceil(log_K N), bytes sent per rank: V/N times the ranks it serves, by the root "
    "(N - 1)/N V",
    R"(  K = 2, N = 4, root 0
           rank 0    rank 1    rank 2    rank 3
  start    A B C D   . . . .   . . . .   . . . .
  level 1  A B C D   . . . .   . . C D   . . . .    0 -> 2
  level 0  A B C D   . B . .   . . C D   . . . D    0 -> 1   2 -> 3
)",
    nullptr,
    &kKnomialParameter,
    [](const AlgorithmNumbers& numbers) { return KnomialScatter(numbers[0]); },
};

}  // namespace chorus
