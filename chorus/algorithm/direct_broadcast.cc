// Direct broadcast: the root sends to everyone.
//
// steps: 1, bytes sent per rank: 0, by the root (N - 1) V
//
// Worked example, N = 3, root 1:
//   1. rank 1 copies in to out
//   2. and sends it to rank 2, then to rank 0
//   3. which take it
#include "chorus/algorithm/builders.h"
#include "chorus/schedule/builder.h"

namespace chorus {

Schedule DirectBroadcast() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), root = Expr::Root();
  const Expr d = Expr::Variable("d");
  ScheduleBuilder b("direct", OpKind::kBroadcast);
  b.Blocks(1).Tiles(4);
  // 1. The root's own copy.
  b.Copy(Label("c"), Out(0), In(0)).When(Eq(r, root));
  b.For(d, 1, n - 1, [&] {
    // 2. To everyone.
    b.Send(Label("s")[d], {In(0)}).To((root + d) % n).As(0).When(Eq(r, root));
  });
  // 3. From the root.
  b.Recv(Label("v"), {Out(0)}).From(root).As(0).When(Ne(r, root));
  return std::move(b).Build();
}

const Algorithm kDirectBroadcast = {
    "direct",
    OpKind::kBroadcast,
    "the root sends to everyone",
    "steps: 1, bytes sent per rank: 0, by the root (N - 1) V",
    R"(  N = 3, root 1
          rank 0   rank 1   rank 2          0 <-- 1 --> 2
  start   .        A        .
  step 1  A        A        A
)",
    DirectBroadcast,
};

}  // namespace chorus
