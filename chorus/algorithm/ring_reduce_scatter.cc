// Ring reduce_scatter: a partial sum of each block walks once around the ring.
//
// steps: N - 1, bytes sent per rank: (N - 1)/N V; one block of V/N as elements, N - 2 as
// accumulators
//
// Worked example, N = 3, offset 0, rank 2 (the numbers are those in AddRingReduceScatter):
//   1. N > 1, so there is nothing to copy
//   2. turn 0 sends in[1], raw, to rank 0
//   3. ... and takes rank 1's in[0]
//   4. ... to which it adds its own in[0]: acc = x1[0] + x2[0]. Turn 1 sends that to rank 0, which
//      finishes it, takes x0[2] + x1[2] and adds x2[2]: out[2] = x0[2] + x1[2] + x2[2]
// The sum of block b begins at rank b + 1 - offset and follows the ring: order any. A rank adds
// its contribution on the right of what came.
// Source: as ring_all_gather.cc; the lecture notes' trace is offset 1 (rank r ends with r + 1).
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/ring_phases.h"

namespace chorus {

Schedule RingReduceScatter(std::int64_t offset) {
  const Expr own = RingOwner(offset);
  ScheduleBuilder b(offset == 0 ? "ring" : "shifted_ring", OpKind::kReduceScatter);
  b.Blocks(Expr::GroupSize()).Owns(own).Order(ReduceOrder::kAny).Scratch(1, 2).Tiles(2);
  AddRingReduceScatter(b, own);
  return std::move(b).Build();
}

namespace {
constexpr std::string_view kCost =
    "steps: N - 1, bytes sent per rank: (N - 1)/N V (after the first step as accumulators)";
}  // namespace

const Algorithm kRingReduceScatter = {
    "ring",
    OpKind::kReduceScatter,
    "a partial sum of each block walks once around the ring and ends at its owner",
    kCost,
    R"(  How many contributions each rank has summed, N = 4; * is finished.
          rank 0    rank 1    rank 2    rank 3        0 -> 1
  start   1 1 1 1   1 1 1 1   1 1 1 1   1 1 1 1       ^    |
  turn 0  1 1 2 1   1 1 1 2   2 1 1 1   1 2 1 1       |    v
  turn 1  1 3 2 1   1 1 3 2   2 1 1 3   3 2 1 1       3 <- 2
  turn 2  * 3 2 1   1 * 3 2   2 1 * 3   3 2 1 *
)",
    [] { return RingReduceScatter(); },
};

const Algorithm kShiftedRingReduceScatter = {
    "shifted_ring",
    OpKind::kReduceScatter,
    "the ring of lecture notes: rank r sends block r first and ends with block r + 1 (mod N)",
    kCost,
    R"(  How many contributions each rank has summed, N = 4; * is finished.
          rank 0    rank 1    rank 2    rank 3        0 -> 1
  start   1 1 1 1   1 1 1 1   1 1 1 1   1 1 1 1       ^    |
  turn 0  1 1 1 2   2 1 1 1   1 2 1 1   1 1 2 1       |    v
  turn 1  1 1 3 2   2 1 1 3   3 2 1 1   1 3 2 1       3 <- 2
  turn 2  1 * 3 2   2 1 * 3   3 2 1 *   * 3 2 1
)",
    [] { return RingReduceScatter(1); },
};

}  // namespace chorus
