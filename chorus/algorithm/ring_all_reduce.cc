// Ring all_reduce: ring reduce_scatter, then ring all_gather of the sums.
//
// steps: 2(N - 1), bytes sent per rank: 2(N - 1)/N V
//
// Worked example, N = 3, rank 0:
//   1. reduce_scatter in turns 0 and 1: rank 0 ends with out[0] = x1[0] + x2[0] + x0[0]
//   2. all_gather in turns 0 and 1: sends out[0], takes out[2], sends out[2], takes out[1]
// In place out[b] may overwrite in[b]: a finished block b comes back only after this rank's own
// contribution to it has been read, because it is part of the sum.
// Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/ring_phases.h"

namespace chorus {

Schedule RingAllReduce(std::int64_t offset) {
  const Expr n = Expr::GroupSize(), own = RingOwner(offset);
  ScheduleBuilder b("ring", OpKind::kAllReduce);
  b.Blocks(n).Order(ReduceOrder::kAny).Scratch(1, 2).Tiles(2);
  // 1. Rank r has the finished sum of its own block,
  AddRingReduceScatter(b, own);
  // 2. and passes it around. Messages are numbered on from those of 1.
  AddRingAllGather(b, own, Out(own), {Label("a")[n - 2]}, n - 1);
  return std::move(b).Build();
}

const Algorithm kRingAllReduce = {
    "ring",
    OpKind::kAllReduce,
    "ring reduce_scatter, then ring all_gather of the sums",
    "steps: 2(N - 1), bytes sent per rank: 2(N - 1)/N V (steps 2 to N - 1 as accumulators)",
    R"(  How many contributions each rank has summed, N = 4; * is finished.
                  rank 0    rank 1    rank 2    rank 3        0 -> 1
  start           1 1 1 1   1 1 1 1   1 1 1 1   1 1 1 1       ^    |
  sum     turn 0  1 1 2 1   1 1 1 2   2 1 1 1   1 2 1 1       |    v
  sum     turn 1  1 3 2 1   1 1 3 2   2 1 1 3   3 2 1 1       3 <- 2
  sum     turn 2  * 3 2 1   1 * 3 2   2 1 * 3   3 2 1 *
  gather  turn 0  * 3 2 *   * * 3 2   2 * * 3   3 2 * *
  gather  turn 1  * 3 * *   * * 3 *   * * * 3   3 * * *
  gather  turn 2  * * * *   * * * *   * * * *   * * * *
)",
    [] { return RingAllReduce(); },
};

}  // namespace chorus
