// Bidirectional ring all_reduce: reduce_scatter, then all_gather of the sums, both in two
// directions.
//
// steps: 2 floor(N / 2), bytes sent per rank: 2(N - 1)/N V, half of it to either side
//
// Worked example, N = 5, rank 0:
//   1. as in bidirectional_ring_reduce_scatter.cc it ends with out[0]
//   2. and sends it to both sides, as in bidirectional_ring_all_gather.cc
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/two_way_phases.h"

namespace chorus {

Schedule BidirectionalRingAllReduce() {
  const Expr n = Expr::GroupSize();
  ScheduleBuilder b("bidirectional_ring", OpKind::kAllReduce);
  b.Blocks(n).Order(ReduceOrder::kAny).Scratch(2, 5).Tiles(2);
  // 1. Rank r has the finished sum of its own block,
  AddTwoWayReduceScatter(b);
  // 2. and passes it both ways.
  AddTwoWayAllGather(b, Out(Expr::Rank()), {Label("h"), Label("f")}, 2 * n);
  return std::move(b).Build();
}

const Algorithm kBidirectionalRingAllReduce = {
    "bidirectional_ring",
    OpKind::kAllReduce,
    "ring reduce_scatter, then ring all_gather of the sums, both in two directions",
    "steps: 2 floor(N / 2), bytes sent per rank: 2(N - 1)/N V (steps 2 to floor(N / 2) as "
    "accumulators)",
    R"(  How many contributions each rank has summed, N = 3; * is finished.
                  rank 0   rank 1   rank 2          0 <-> 1
  start           1 1 1    1 1 1    1 1 1            ^   ^
  sum     turn 0  * 1 1    1 * 1    1 1 *             v v
  gather  turn 0  * * *    * * *    * * *              2
)",
    BidirectionalRingAllReduce,
};

}  // namespace chorus
