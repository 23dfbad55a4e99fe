// Dissemination barrier: in round k everyone signals the rank 2^k to the right.
//
// steps: ceil(log2 N), bytes sent per rank: 0, signals sent per rank: ceil(log2 N)
//
// Worked example, N = 5, rank 0:
//   1. round 0 signals rank 1 and waits for rank 4
//   2. round 1, having heard from 4, signals rank 2 and waits for rank 3, which speaks for 3 and 2
//   3. round 2 signals rank 4 and waits for rank 1, which speaks for 1, 0, 4 and 3: all have begun
// Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988.
#include "chorus/algorithm/builders.h"
#include "chorus/schedule/builder.h"

namespace chorus {

Schedule DisseminationBarrier() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), k = Expr::Variable("k");
  const LabelExpr s = Label("s"), v = Label("v");
  ScheduleBuilder b("dissemination", OpKind::kBarrier);
  b.Blocks(0);
  b.For(k, 0, CeilLog2(n) - 1, [&] {
    // A signal in round k says that 2^k ranks have begun, so all earlier ones must have come.
    b.Send(s[k], {}).To((r + (Expr(1) << k)) % n).As(k).After(Every(v));
    b.Recv(v[k], {}).From((r - (Expr(1) << k)) % n).As(k);
  });
  return std::move(b).Build();
}

const Algorithm kDisseminationBarrier = {
    "dissemination",
    OpKind::kBarrier,
    "in round k every rank signals the rank 2^k to its right, for all it has heard of",
    "steps: ceil(log2 N), bytes sent per rank: 0, signals sent per rank: ceil(log2 N)",
    R"(  Whom rank 0 has heard of, N = 8
  round 0 from 7    . . . . . . . 7
  round 1 from 6    . . . . . 5 6 7
  round 2 from 4    . 1 2 3 4 5 6 7
)",
    DisseminationBarrier,
};

}  // namespace chorus
