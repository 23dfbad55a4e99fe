// Bidirectional ring all_gather: every block goes half way around the ring in each direction.
//
// steps: floor(N / 2), bytes sent per rank: (N - 1)/N V, half of it to either side
//
// Worked example, N = 4, rank 1 (the numbers are those in AddTwoWayAllGather):
//   1. every rank copies its own block from `in` to `out`: rank 1 has B
//   2. turn 0: sends B to the right and to the left
//   3. takes A from the left and C from the right. Turn 1, to the right only: sends A, takes D
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/two_way_phases.h"

namespace chorus {

Schedule BidirectionalRingAllGather() {
  const Expr r = Expr::Rank();
  ScheduleBuilder b("bidirectional_ring", OpKind::kAllGather);
  b.Blocks(Expr::GroupSize()).Tiles(2);
  // 1. The own block.
  b.Copy(Label("c"), Out(r), In(r));
  AddTwoWayAllGather(b, In(r), {}, 0);
  return std::move(b).Build();
}

const Algorithm kBidirectionalRingAllGather = {
    "bidirectional_ring",
    OpKind::kAllGather,
    "every block goes half way around the ring in each direction",
    "steps: floor(N / 2), bytes sent per rank: (N - 1)/N V",
    R"(          rank 0    rank 1    rank 2    rank 3        0 <-> 1
  start   A . . .   . B . .   . . C .   . . . D       ^     ^
  turn 0  A B . D   A B C .   . B C D   A . C D       v     v
  turn 1  A B C D   A B C D   A B C D   A B C D       3 <-> 2
)",
    BidirectionalRingAllGather,
};

}  // namespace chorus
