// Direct reduce_scatter: every rank is given all contributions to its block and adds them up.
//
// steps: 1, bytes sent per rank: (N - 1)/N V, all as elements
//
// Worked example, N = 3, rank 1 (the numbers are those in AddDirectReduceScatter):
//   1. sends in[2] to rank 2 and in[0] to rank 0
//   2. takes x0[1] and x2[1]
//   3. out[1] = (x0[1] + x1[1]) + x2[1]: rank order on every rank, one rounding at the end
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/direct_phases.h"

namespace chorus {

Schedule DirectReduceScatter() {
  const Expr n = Expr::GroupSize();
  ScheduleBuilder b("direct", OpKind::kReduceScatter);
  b.Blocks(n).Order(ReduceOrder::kRank).Scratch(n - 1, 1).Tiles(2);
  AddDirectReduceScatter(b);
  return std::move(b).Build();
}

const Algorithm kDirectReduceScatter = {
    "direct",
    OpKind::kReduceScatter,
    "every rank is given all contributions to its block and adds them in rank order",
    "steps: 1, bytes sent per rank: (N - 1)/N V",
    R"(  How many contributions each rank has summed, N = 3; * is finished.
          rank 0    rank 1    rank 2          0 --- 1
  start   1 1 1     1 1 1     1 1 1            \   /
  step 1  * 1 1     1 * 1     1 1 *              2
)",
    DirectReduceScatter,
};

}  // namespace chorus
