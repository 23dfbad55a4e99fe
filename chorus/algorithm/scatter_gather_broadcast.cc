// Scatter-gather (van de Geijn) broadcast: the array is scattered in blocks along a tree, which
// then go around a ring.
//
// steps: ceil(log2 N) + N - 1, bytes sent per rank: at most (N - 1)/N V, by the root 2(N - 1)/N V:
// for long arrays, where a tree would send V from the root log2 N times
//
// Worked example, N = 4, root 1, blocks A B C D:
//   1. rank 1 copies in to out
//   2. scatter: 1 sends C D to 2 and A to 0; 2 sends D to 3
//   3. ring: in turn k rank r passes block r - k to r + 1; nobody sends to the root, and the root
//      sends from in
// Source: Barnett, Shuler, van de Geijn, Gupta, Payne, Watts, "Interprocessor collective
// communication library", 1994.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/knomial_tree.h"

namespace chorus {

Schedule ScatterGatherBroadcast() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), root = Expr::Root();
  const Expr k = Expr::Variable("k"), j = Expr::Variable("j");
  const LabelExpr c = Label("c"), s = Label("s"), v = Label("v"), f = Label("f"), g = Label("g");
  ScheduleBuilder b("scatter_gather", OpKind::kBroadcast);
  b.Blocks(n).Tiles(2);
  b.For(j, 0, n - 1, [&] {
    // 1. The root's own copy.
    b.Copy(c[j], Out(j), In(j)).When(Eq(r, root));
  });
  // 2. Every rank has its block, the holders of parts those of their part.
  AddKnomialScatter(b, 2, [](const Expr& block) { return Out(block); });
  b.For(k, 0, n - 2, [&] {
    // 3. Pass on the own block, then what came last. What a holder had already comes again, when it
    // has been sent. One block after the other, and none before the scatter's: the root has them
    // all, and blocks that share its port would all be late.
    const Expr passed = (r - k) % n;
    b.Send(f[k], {Select(Eq(r, root), In(passed), Out(passed))})
        .To((r + 1) % n)
        .As(k + 1)
        .After(v, g[k - 1], f[k - 1], Every(s))
        .When(Ne((r + 1) % n, root));
    b.Recv(g[k], {Out((r - k - 1) % n)})
        .From((r - 1) % n)
        .As(k + 1)
        .After(v, Every(s))
        .When(Ne(r, root));
  });
  return std::move(b).Build();
}

const Algorithm kScatterGatherBroadcast = {
    "scatter_gather",
    OpKind::kBroadcast,
    "the array is scattered in blocks along a tree, which then go around a ring (van de Geijn)",
    "steps: ceil(log2 N) + N - 1, bytes sent per rank: about (N - 1)/N V, by the root 2(N - 1)/N V",
    R"(  N = 4, root 0       rank 0    rank 1    rank 2    rank 3
  start               A B C D   . . . .   . . . .   . . . .
  scatter level 1     A B C D   . . . .   . . C D   . . . .     0 -> 2
  scatter level 0     A B C D   . B . .   . . C D   . . . D     0 -> 1   2 -> 3
  ring    turn 0      A B C D   A B . .   . B C D   . . C D     0 -> 1 -> 2 -> 3
  ring    turn 1      A B C D   A B . D   A B C D   . B C D
  ring    turn 2      A B C D   A B C D   A B C D   A B C D
)",
    ScatterGatherBroadcast,
};

}  // namespace chorus
