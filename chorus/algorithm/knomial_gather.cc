// K-nomial gather: the blocks of ever larger parts of the ranks travel together to the root.
//
// steps: ceil(log_K N) rounds of up to K - 1 messages to a rank, bytes sent per rank: the blocks of
// the part it holds, V/N at the leaves, by the root 0
//
// Worked example, K = 3, N = 8, root 4 (the tree is drawn in knomial_tree.h):
//   1. rank 4 has its own block: out[4] = in[4]
//   2. level 0: 1 and 2 send their blocks to 0, 3 and 5 to 4, 7 to 6
//   3. which take them, 4 into out. Level 1: 0 sends 0 1 2 and 6 sends 6 7 to 4
// All blocks are of one size, or all ranks know the sizes: they pass through other ranks.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/knomial_tree.h"

namespace chorus {

Schedule KnomialGather(std::int64_t arity) {
  const Expr r = Expr::Rank(), root = Expr::Root();
  const Expr j = Expr::Variable("j"), i = Expr::Variable("i");
  const LabelExpr c = Label("c"), s = Label("s"), v = Label("v");
  const KnomialTree tree(arity);
  ScheduleBuilder b("knomial_" + std::to_string(arity), OpKind::kGather);
  b.Blocks(Expr::GroupSize()).Scratch(Expr::GroupSize(), 0).Tiles(2);
  // 1. The root's own block.
  b.Copy(c, Out(r), In(r)).When(Eq(r, root));
  b.For(tree.level, 0, tree.Levels() - 1, [&] {
    tree.Define(b);
    // 2. Away from the root: the blocks of the own part.
    b.Send(s, {Each(i, tree.Begin(tree.mine), tree.End(tree.mine) - 1,
                    Select(Eq(i, r), In(i), Tmp(i, i)))})
        .To(tree.above)
        .As(0)
        .After(Every(v))
        .When(tree.lower);
    // 3. Towards the root: those of the other parts.
    b.For(j, 0, arity - 1, [&] {
      const Expr part = tree.first + j;
      b.Recv(v[tree.level][j], {Each(i, tree.Begin(part), tree.End(part) - 1,
                                     Select(Eq(r, root), Out(i), Tmp(i, i)))})
          .From(tree.HolderOf(part))
          .As(0)
          .When(And(tree.upper, tree.IsOther(j)));
    });
  });
  return std::move(b).Build();
}

const Algorithm kKnomialGather = {
    "knomial:2",
    OpKind::kGather,
    "the blocks of ever larger parts of the ranks travel together to the root",
    "steps: ceil(log_K N), bytes sent per rank: V/N times the ranks it holds, by the root 0",
    R"(  K = 2, N = 4, root 0
           rank 0    rank 1    rank 2    rank 3
  start    A . . .   . B . .   . . C .   . . . D
  level 0  A B . .   . B . .   . . C D   . . . D    1 -> 0   3 -> 2
  level 1  A B C D   . B . .   . . C D   . . . D    2 -> 0
)",
    nullptr,
    &kKnomialParameter,
    [](const AlgorithmNumbers& numbers) { return KnomialGather(numbers[0]); },
};

}  // namespace chorus
