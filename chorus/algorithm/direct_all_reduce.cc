// Direct (two-shot) all_reduce: direct reduce_scatter, then direct all_gather of the sums.
//
// steps: 2, bytes sent per rank: 2(N - 1)/N V, all as elements
//
// Worked example, N = 3, rank 1:
//   1. sends in[2] to rank 2 and in[0] to rank 0
//   2. takes x0[1] and x2[1]
//   3. out[1] = (x0[1] + x1[1]) + x2[1]
//   4. sends out[1] to ranks 2 and 0
//   5. takes out[0] and out[2]
// Only one rank adds up a block, so all ranks hold the same bits.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/direct_phases.h"

namespace chorus {

Schedule DirectAllReduce() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr d = Expr::Variable("d"), from = Expr::Variable("p"), to = Expr::Variable("q");
  ScheduleBuilder b("direct", OpKind::kAllReduce);
  b.Blocks(n).Order(ReduceOrder::kRank).Scratch(n - 1, 1).Tiles(2);
  // 1. to 3. Rank r has the finished sum of block r.
  AddDirectReduceScatter(b);
  b.For(d, 1, n - 1, [&] {
    b.Define(to, (r + d) % n);
    b.Define(from, (r - d) % n);
    // 4. The finished block to everyone.
    b.Send(Label("f")[to], {Out(r)}).To(to).As(1).After(Label("a")[n - 1]);
    // 5. The finished blocks of the others. In place this overwrites in[p], which s[p] has sent:
    // the block that comes contains it, so the sending is over.
    b.Recv(Label("g")[from], {Out(from)}).From(from).As(1);
  });
  return std::move(b).Build();
}

const Algorithm kDirectAllReduce = {
    "direct",
    OpKind::kAllReduce,
    "every rank adds up one block in rank order and sends the sum to every other (two-shot)",
    "steps: 2, bytes sent per rank: 2(N - 1)/N V",
    R"(  How many contributions each rank has summed, N = 3; * is finished.
          rank 0    rank 1    rank 2          0 --- 1
  start   1 1 1     1 1 1     1 1 1            \   /
  step 1  * 1 1     1 * 1     1 1 *              2
  step 2  * * *     * * *     * * *
)",
    DirectAllReduce,
};

}  // namespace chorus
