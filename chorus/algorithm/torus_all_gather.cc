// Torus all_gather: rings along the last axis, then rings of what was gathered along the one before
// it.
//
// steps: (A - 1) + (B - 1) for an A x B torus, bytes sent per rank: (N - 1)/N V
//
// Worked example, torus 2 x 2, blocks A B C D, rank 0:
//   1. has its own block A
//   2. along axis 1: sends A to rank 1, takes B
//   3. along axis 0: sends A B to rank 2, takes C D
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/torus.h"

namespace chorus {

Schedule TorusAllGather(const AlgorithmNumbers& sizes) {
  const Expr r = Expr::Rank();
  const Torus torus(sizes);
  ScheduleBuilder b(torus.ScheduleName(), OpKind::kAllGather);
  b.Blocks(Expr::GroupSize()).Tiles(2);
  // 1. The own block.
  b.Copy(Label("c"), Out(r), In(r));
  // 2. and 3. Axis by axis.
  torus.AddAllGather(b, In(r), {Label("c")}, 0);
  return std::move(b).Build();
}

const Algorithm kTorusAllGather = {
    "torus:2x3",
    OpKind::kAllGather,
    "rings along the last axis, then rings of what was gathered along the axis before it",
    "steps: sum over axes of (size - 1), bytes sent per rank: (N - 1)/N V",
    R"(  Torus 2 x 2: ranks 0 1
                     2 3
           rank 0    rank 1    rank 2    rank 3
  start    A . . .   . B . .   . . C .   . . . D
  axis 1   A B . .   A B . .   . . C D   . . C D    0 - 1   2 - 3
  axis 0   A B C D   A B C D   A B C D   A B C D    0 - 2   1 - 3
)",
    nullptr,
    &kTorusParameter,
    TorusAllGather,
};

}  // namespace chorus
