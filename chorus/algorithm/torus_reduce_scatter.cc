// Torus reduce_scatter: rings of groups of blocks along the first axis, then of what is left along
// the next one.
//
// steps: (A - 1) + (B - 1) for an A x B torus, bytes sent per rank: (N - 1)/N V; the first step
// along the first axis as elements, the others as accumulators
//
// Worked example, torus 2 x 2, rank 0:
//   1. along axis 0: sends x0 of blocks 2 and 3 to rank 2, takes x2 of blocks 0 and 1
//   2. and has x2 + x0 of both
//   3. along axis 1: sends that of block 1 to rank 1, takes x3 + x1 of block 0:
//      out[0] = (x3 + x1) + (x2 + x0)
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/torus.h"

namespace chorus {

Schedule TorusReduceScatter(const AlgorithmNumbers& sizes) {
  const Torus torus(sizes);
  ScheduleBuilder b(torus.ScheduleName(), OpKind::kReduceScatter);
  b.Blocks(Expr::GroupSize()).Order(ReduceOrder::kAny);
  b.Scratch(torus.TmpSlots(), torus.AccSlots()).Tiles(2);
  torus.AddReduceScatter(b);
  return std::move(b).Build();
}

const Algorithm kTorusReduceScatter = {
    "torus:2x3",
    OpKind::kReduceScatter,
    "rings of groups of blocks along the first axis, then of what is left along the next one",
    "steps: sum over axes of (size - 1), bytes sent per rank: (N - 1)/N V (after the first step as "
    "accumulators)",
    R"(  How many contributions each rank has summed; * is finished. Torus 2 x 2: ranks 0 1
                                                                               2 3
           rank 0    rank 1    rank 2    rank 3
  start    1 1 1 1   1 1 1 1   1 1 1 1   1 1 1 1
  axis 0   2 2 1 1   2 2 1 1   1 1 2 2   1 1 2 2    0 - 2   1 - 3
  axis 1   * 2 1 1   2 * 1 1   1 1 * 2   1 1 2 *    0 - 1   2 - 3
)",
    nullptr,
    &kTorusParameter,
    TorusReduceScatter,
};

}  // namespace chorus
