// Torus all_reduce: reduce_scatter axis by axis, then all_gather of the sums axis by axis back.
//
// steps: 2((A - 1) + (B - 1)) for an A x B torus, bytes sent per rank: 2(N - 1)/N V
//
// Worked example, torus 2 x 2, rank 0:
//   1. as in torus_reduce_scatter.cc it ends with out[0]
//   2. as in torus_all_gather.cc it gives that along axis 1, then out[0] and out[1] along axis 0
// On an 8 x 8 torus 28 steps where a ring of 64 ranks takes 126.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/torus.h"

namespace chorus {

Schedule TorusAllReduce(const AlgorithmNumbers& sizes) {
  const Torus torus(sizes);
  ScheduleBuilder b(torus.ScheduleName(), OpKind::kAllReduce);
  b.Blocks(Expr::GroupSize()).Order(ReduceOrder::kAny);
  b.Scratch(torus.TmpSlots(), torus.AccSlots()).Tiles(2);
  // 1. Every rank has the finished sum of its block,
  torus.AddReduceScatter(b);
  // 2. and gives it to all.
  torus.AddAllGather(b, Out(Expr::Rank()), {torus.ReduceScatterDone()}, torus.Messages());
  return std::move(b).Build();
}

const Algorithm kTorusAllReduce = {
    "torus:2x3",
    OpKind::kAllReduce,
    "reduce_scatter axis by axis, then all_gather of the sums axis by axis back",
    "steps: 2 times the sum over axes of (size - 1), bytes sent per rank: 2(N - 1)/N V (sums after "
    "the first step as accumulators)",
    R"(  How many contributions each rank has summed; * is finished. Torus 2 x 2: ranks 0 1
                                                                               2 3
                  rank 0    rank 1    rank 2    rank 3
  start           1 1 1 1   1 1 1 1   1 1 1 1   1 1 1 1
  sum    axis 0   2 2 1 1   2 2 1 1   1 1 2 2   1 1 2 2    0 - 2   1 - 3
  sum    axis 1   * 2 1 1   2 * 1 1   1 1 * 2   1 1 2 *    0 - 1   2 - 3
  gather axis 1   * * 1 1   * * 1 1   1 1 * *   1 1 * *    0 - 1   2 - 3
  gather axis 0   * * * *   * * * *   * * * *   * * * *    0 - 2   1 - 3
)",
    nullptr,
    &kTorusParameter,
    TorusAllReduce,
};

}  // namespace chorus
