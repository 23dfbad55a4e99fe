// Direct gather: every rank sends its block to the root.
//
// steps: 1, bytes sent per rank: V/N, by the root 0
//
// Worked example, N = 3, root 1:
//   1. rank 1 has its own block: out[1] = in[1]
//   2. ranks 0 and 2 send in[0] and in[2] to rank 1
//   3. which takes out[2], then out[0]: from distance d = 1 on, so that no rank is always first
#include "chorus/algorithm/builders.h"
#include "chorus/schedule/builder.h"

namespace chorus {

Schedule DirectGather() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), root = Expr::Root();
  const Expr d = Expr::Variable("d"), from = Expr::Variable("p");
  ScheduleBuilder b("direct", OpKind::kGather);
  b.Blocks(n).Tiles(2);
  // 1. The root's own block.
  b.Copy(Label("c"), Out(r), In(r)).When(Eq(r, root));
  // 2. To the root.
  b.Send(Label("s"), {In(r)}).To(root).As(0).When(Ne(r, root));
  b.For(d, 1, n - 1, [&] {
    b.Define(from, (root + d) % n);
    // 3. From everyone.
    b.Recv(Label("v")[from], {Out(from)}).From(from).As(0).When(Eq(r, root));
  });
  return std::move(b).Build();
}

const Algorithm kDirectGather = {
    "direct",
    OpKind::kGather,
    "every rank sends its block to the root",
    "steps: 1, bytes sent per rank: V/N, by the root 0",
    R"(  N = 3, root 1
          rank 0    rank 1    rank 2          0 --> 1 <-- 2
  start   A . .     . B .     . . C
  step 1  A . .     A B C     . . C
)",
    DirectGather,
};

}  // namespace chorus
