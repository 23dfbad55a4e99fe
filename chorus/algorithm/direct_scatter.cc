// Direct scatter: the root sends every rank its block.
//
// steps: 1, bytes sent per rank: 0, by the root (N - 1)/N V
//
// Worked example, N = 3, root 1:
//   1. rank 1 has its own block: out[1] = in[1]
//   2. rank 1 sends in[2] to rank 2, then in[0] to rank 0
//   3. which take out[2] and out[0]
#include "chorus/algorithm/builders.h"
#include "chorus/schedule/builder.h"

namespace chorus {

Schedule DirectScatter() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), root = Expr::Root();
  const Expr d = Expr::Variable("d"), to = Expr::Variable("q");
  ScheduleBuilder b("direct", OpKind::kScatter);
  b.Blocks(n).Tiles(2);
  // 1. The root's own block.
  b.Copy(Label("c"), Out(r), In(r)).When(Eq(r, root));
  b.For(d, 1, n - 1, [&] {
    b.Define(to, (root + d) % n);
    // 2. To everyone.
    b.Send(Label("s")[to], {In(to)}).To(to).As(0).When(Eq(r, root));
  });
  // 3. From the root.
  b.Recv(Label("v"), {Out(r)}).From(root).As(0).When(Ne(r, root));
  return std::move(b).Build();
}

const Algorithm kDirectScatter = {
    "direct",
    OpKind::kScatter,
    "the root sends every rank its block",
    "steps: 1, bytes sent per rank: 0, by the root (N - 1)/N V",
    R"(  N = 3, root 1
          rank 0    rank 1    rank 2          0 <-- 1 --> 2
  start   . . .     A B C     . . .
  step 1  A . .     . B .     . . C
)",
    DirectScatter,
};

}  // namespace chorus
