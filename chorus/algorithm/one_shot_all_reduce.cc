// One-shot all_reduce: everybody sends everything to everybody; each adds up all.
//
// steps: 1, bytes sent per rank: (N - 1) V, all as elements
//
// Worked example, N = 3, rank 1:
//   1. sends in[0], the whole array, to ranks 2 and 0
//   2. takes x0 and x2
//   3. out[0] = (x0 + x1) + x2: the same parentheses on every rank, so all hold the same bits
// One exchange instead of two: the fastest while latency counts and bytes do not.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/direct_phases.h"

namespace chorus {

Schedule OneShotAllReduce() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr d = Expr::Variable("d"), from = Expr::Variable("p"), to = Expr::Variable("q");
  ScheduleBuilder b("one_shot", OpKind::kAllReduce);
  b.Blocks(1).Order(ReduceOrder::kRank).Scratch(n - 1, 1).Tiles(2);
  b.For(d, 1, n - 1, [&] {
    b.Define(to, (r + d) % n);
    b.Define(from, (r - d) % n);
    // 1. Everything to everyone.
    b.Send(Label("s")[to], {In(0)}).To(to).As(0);
    // 2. Everything from everyone.
    b.Recv(Label("v")[from], {Tmp(DirectSlot(from), 0)}).From(from).As(0);
  });
  // 3. The sum in rank order; in place it overwrites what is being sent, so it waits for that.
  AddSumInRankOrder(b, 0, {Every(Label("s"))});
  return std::move(b).Build();
}

const Algorithm kOneShotAllReduce = {
    "one_shot",
    OpKind::kAllReduce,
    "every rank sends all it has to every other, and adds up all in rank order",
    "steps: 1, bytes sent per rank: (N - 1) V",
    R"(  How many contributions each rank has summed, N = 3; * is finished.
          rank 0   rank 1   rank 2          0 --- 1
  start   1        1        1                \   /
  step 1  *        *        *                  2
)",
    OneShotAllReduce,
};

}  // namespace chorus
