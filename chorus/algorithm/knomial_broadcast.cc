// K-nomial broadcast: the ranks that have the value become K times as many in every round.
//
// steps: ceil(log_K N) rounds of up to K - 1 messages a rank, bytes sent per rank: V times its
// children; all ranks together (N - 1) V
//
// Worked example, K = 3, N = 8, root 4 (the tree is drawn in knomial_tree.h):
//   1. rank 4 copies in to out
//   2. level 1: 0 and 6 take it
//   3. from 4; level 0: 4 sends to 3 and 5, 0 to 1 and 2, 6 to 7
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/knomial_tree.h"

namespace chorus {

Schedule KnomialBroadcast(std::int64_t arity) {
  const Expr r = Expr::Rank(), root = Expr::Root(), t = Expr::Variable("t");
  const Expr j = Expr::Variable("j");
  const LabelExpr c = Label("c"), s = Label("s"), v = Label("v");
  const KnomialTree tree(arity);
  ScheduleBuilder b("knomial_" + std::to_string(arity), OpKind::kBroadcast);
  b.Blocks(1).Tiles(4);
  // 1. The root's own copy.
  b.Copy(c, Out(0), In(0)).When(Eq(r, root));
  b.For(t, 1, tree.Levels(), [&] {
    b.Define(tree.level, tree.Levels() - t);
    tree.Define(b);
    // 2. Take it once,
    b.Recv(v, {Out(0)}).From(tree.above).As(0).When(tree.lower);
    b.For(j, 0, arity - 1, [&] {
      // 3. and pass it to the other parts, ever closer.
      b.Send(s[tree.level][j], {Select(Eq(r, root), In(0), Out(0))})
          .To(tree.HolderOf(tree.first + j))
          .As(0)
          .After(v)
          .When(And(tree.upper, tree.IsOther(j)));
    });
  });
  return std::move(b).Build();
}

const Algorithm kKnomialBroadcast = {
    "knomial:4",
    OpKind::kBroadcast,
    "the ranks that have the value become K times as many in every round",
    "steps: ceil(log_K N), bytes sent per rank: V times its children, (N - 1) V in all",
    R"(  K = 3, N = 9, root 0                      0
  round 1 (level 1)   0 -> 3, 6           +---+-+-+---+
  round 2 (level 0)   0 -> 1, 2           3   6   1   2
                      3 -> 4, 5          +-+ +-+
                      6 -> 7, 8          4 5 7 8
)",
    nullptr,
    &kKnomialParameter,
    [](const AlgorithmNumbers& numbers) { return KnomialBroadcast(numbers[0]); },
};

}  // namespace chorus
