// The two phases of rings in two directions, shared by bidirectional_ring_*.cc.
//
// Of the N - 1 hops that separate a block from all others, B = ceil((N - 1) / 2) are made to the
// right and A = floor((N - 1) / 2) to the left, at the same time.
#pragma once

#include "chorus/schedule/builder.h"

namespace chorus {

// out[r] becomes the finished sum over all ranks of in[r]: partial sums start at the farthest ranks
// on both sides of r and meet there. The step that ends the phase is f (N > 2), h (N = 2) or u (N =
// 1). Uses messages 0 .. N - 2 of both directions, tmp slots 0 and 1, acc slots 0 to 4.
void AddTwoWayReduceScatter(ScheduleBuilder& b);

// Every block of out becomes what its owner has of it in `first`, from which it goes out both ways
// once `ready` has ended. Messages are numbered from first_message on.
void AddTwoWayAllGather(ScheduleBuilder& b, const ChunkExpr& first,
                        const std::vector<LabelExpr>& ready, const Expr& first_message);

}  // namespace chorus
