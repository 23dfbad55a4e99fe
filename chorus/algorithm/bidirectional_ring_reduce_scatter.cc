// Bidirectional ring reduce_scatter: partial sums of a block start at the ranks farthest from its
// owner on both sides and meet there.
//
// steps: floor(N / 2), bytes sent per rank: (N - 1)/N V, half of it to either side; two blocks as
// elements, the others as accumulators
//
// Worked example, N = 5, rank 0, block 0 (the numbers are those in AddTwoWayReduceScatter):
//   1. from the left: rank 3 sends x3 to rank 4, rank 4 sends x3 + x4 to rank 0
//   2. from the right: rank 2 sends x2 to rank 1, rank 1 sends x2 + x1 to rank 0
//   3. out[0] = ((x3 + x4) + x0) + (x2 + x1)
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/two_way_phases.h"

namespace chorus {

Schedule BidirectionalRingReduceScatter() {
  ScheduleBuilder b("bidirectional_ring", OpKind::kReduceScatter);
  b.Blocks(Expr::GroupSize()).Order(ReduceOrder::kAny).Scratch(2, 5).Tiles(2);
  AddTwoWayReduceScatter(b);
  return std::move(b).Build();
}

const Algorithm kBidirectionalRingReduceScatter = {
    "bidirectional_ring",
    OpKind::kReduceScatter,
    "partial sums of a block start farthest from its owner on both sides and meet there",
    "steps: floor(N / 2), bytes sent per rank: (N - 1)/N V (after the first step as accumulators)",
    R"(  Contributions to block 0, N = 5; * is finished.
          rank 3   rank 4   rank 0   rank 1   rank 2
  start   3        4        0        1        2
  turn 0  3 -----> 34       0        21 <---- 2
  turn 1           34 ----> 34021* <- 21
)",
    BidirectionalRingReduceScatter,
};

}  // namespace chorus
