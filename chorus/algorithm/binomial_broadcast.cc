// Binomial broadcast: the ranks that have the value double in every round.
//
// steps: ceil(log2 N), bytes sent per rank: V times its children; the root sends up to
// ceil(log2 N) V, all ranks together (N - 1) V
//
// Worked example, N = 6, root 4 (the tree is drawn in binomial_tree.h):
//   1. rank 4 copies in to out
//   2. level 2: 4 sends to 0. Level 1: 0 sends to 2; 4's sibling half [6 7] has no ranks
//   3. level 0: 0 sends to 1, 2 to 3, 4 to 5
#include "chorus/algorithm/binomial_tree.h"
#include "chorus/algorithm/builders.h"

namespace chorus {

Schedule BinomialBroadcast() {
  const Expr r = Expr::Rank(), root = Expr::Root(), levels = CeilLog2(Expr::GroupSize());
  const Expr round = Expr::Variable("t");
  const LabelExpr c = Label("c"), s = Label("s"), v = Label("v");
  const BinomialTree tree;
  ScheduleBuilder b("binomial", OpKind::kBroadcast);
  b.Blocks(1).Tiles(4);
  // 1. The root's own copy.
  b.Copy(c, Out(0), In(0)).When(Eq(r, root));
  b.For(round, 1, levels, [&] {
    b.Define(tree.k, levels - round);
    tree.Define(b);
    // 2. Take it once,
    b.Recv(v, {Out(0)}).From(tree.peer).As(0).When(tree.lower);
    // 3. and pass it to ever closer ranks.
    b.Send(s[tree.k], {Select(Eq(r, root), In(0), Out(0))})
        .To(tree.peer)
        .As(0)
        .After(v)
        .When(tree.upper);
  });
  return std::move(b).Build();
}

const Algorithm kBinomialBroadcast = {
    "binomial",
    OpKind::kBroadcast,
    "the ranks that have the value double in every round",
    "steps: ceil(log2 N), bytes sent per rank: V times its children, (N - 1) V in all",
    R"(  N = 8, root 0                    0
  round 1 (level 2)       0 -> 4      +-----+--+
  round 2 (level 1)   0 -> 2, 4 -> 6  4     2  1
  round 3 (level 0)   0->1 2->3       +--+  |
                      4->5 6->7       6  5  3
                                      |
                                      7
)",
    BinomialBroadcast,
};

}  // namespace chorus
