// Direct reduce: everyone sends to the root, which adds up in rank order.
//
// steps: 1, bytes sent per rank: V, by the root 0, all as elements
//
// Worked example, N = 3, root 1:
//   1. ranks 0 and 2 send x0 and x2 to rank 1
//   2. which takes both
//   3. out = (x0 + x1) + x2
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/direct_phases.h"

namespace chorus {

Schedule DirectReduce() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), root = Expr::Root();
  const Expr d = Expr::Variable("d"), from = Expr::Variable("p");
  ScheduleBuilder b("direct", OpKind::kReduce);
  b.Blocks(1).Order(ReduceOrder::kRank).Scratch(n - 1, 1).Tiles(2);
  // 1. To the root.
  b.Send(Label("s"), {In(0)}).To(root).As(0).When(Ne(r, root));
  b.For(d, 1, n - 1, [&] {
    b.Define(from, (root + d) % n);
    // 2. From everyone.
    b.Recv(Label("v")[from], {Tmp(DirectSlot(from), 0)}).From(from).As(0).When(Eq(r, root));
  });
  // 3. The sum in rank order.
  AddSumInRankOrder(b, 0, {}, Eq(r, root));
  return std::move(b).Build();
}

const Algorithm kDirectReduce = {
    "direct",
    OpKind::kReduce,
    "everyone sends to the root, which adds up in rank order",
    "steps: 1, bytes sent per rank: V, by the root 0",
    R"(  How many contributions each rank has summed, N = 3, root 1; * is finished.
          rank 0   rank 1   rank 2          0 --> 1 <-- 2
  start   1        1        1
  step 1  1        *        1
)",
    DirectReduce,
};

}  // namespace chorus
