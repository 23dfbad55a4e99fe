// Ring all_gather: every rank passes on what it got last; after N - 1 turns all have all.
//
// steps: N - 1, bytes sent per rank: (N - 1)/N V
//
// Worked example, N = 4, blocks A B C D (the numbers are those in AddRingAllGather):
//   1. every rank copies its own block from `in` to `out`: rank 1 has out[1] = B
//   2. turn 0 sends the own block to the right: rank 1 sends B to rank 2
//   3. ... and takes the left one's: rank 1 has A B; turn 1 passes A on and takes D, and so on
// Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
// MPICH", 2005, section 4.1.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/ring_phases.h"

namespace chorus {

Schedule RingAllGather(std::int64_t offset) {
  const Expr own = RingOwner(offset);
  ScheduleBuilder b("ring", OpKind::kAllGather);
  b.Blocks(Expr::GroupSize()).Owns(own).Tiles(2);
  // 1. The own block.
  b.Copy(Label("c"), Out(own), In(own));
  AddRingAllGather(b, own, In(own), {}, 0);
  return std::move(b).Build();
}

const Algorithm kRingAllGather = {
    "ring",
    OpKind::kAllGather,
    "every rank passes on what it got last",
    "steps: N - 1, bytes sent per rank: (N - 1)/N V",
    R"(          rank 0    rank 1    rank 2    rank 3        0 -> 1
  start   A . . .   . B . .   . . C .   . . . D       ^    |
  turn 0  A . . D   A B . .   . B C .   . . C D       |    v
  turn 1  A . C D   A B . D   A B C .   . B C D       3 <- 2
  turn 2  A B C D   A B C D   A B C D   A B C D
)",
    [] { return RingAllGather(); },
};

}  // namespace chorus
