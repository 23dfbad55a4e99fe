// Direct all_gather: every rank sends its block to every other at once.
//
// steps: 1, bytes sent per rank: (N - 1)/N V
//
// Worked example, N = 3, rank 0:
//   1. out[0] = in[0]
//   2. sends in[0] to rank 1, then to rank 2: at distance d to rank r + d, so that no two ranks
//      turn to the same peer at the same time
//   3. takes out[2] from rank 2 and out[1] from rank 1
#include "chorus/algorithm/builders.h"
#include "chorus/schedule/builder.h"

namespace chorus {

Schedule DirectAllGather() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr d = Expr::Variable("d"), from = Expr::Variable("p"), to = Expr::Variable("q");
  ScheduleBuilder b("direct", OpKind::kAllGather);
  b.Blocks(n).Tiles(2);
  // 1. The own block.
  b.Copy(Label("c"), Out(r), In(r));
  b.For(d, 1, n - 1, [&] {
    b.Define(to, (r + d) % n);
    b.Define(from, (r - d) % n);
    // 2. To everyone.
    b.Send(Label("s")[to], {In(r)}).To(to).As(0);
    // 3. From everyone.
    b.Recv(Label("v")[from], {Out(from)}).From(from).As(0);
  });
  return std::move(b).Build();
}

const Algorithm kDirectAllGather = {
    "direct",
    OpKind::kAllGather,
    "every rank sends its block to every other at once",
    "steps: 1, bytes sent per rank: (N - 1)/N V",
    R"(          rank 0    rank 1    rank 2          0 --- 1
  start   A . .     . B .     . . C            \   /
  step 1  A B C     A B C     A B C              2
)",
    DirectAllGather,
};

}  // namespace chorus
