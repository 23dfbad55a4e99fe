// The two phases of ring algorithms, shared by ring_reduce_scatter.cc, ring_all_gather.cc and
// ring_all_reduce.cc. Rank r sends to r + 1 and receives from r - 1 (mod N).
#pragma once

#include "chorus/schedule/builder.h"

namespace chorus {

// Block out[own] becomes the finished sum over all ranks of in[own].
// `own` is the block of rank r, such that rank r + 1 owns `own` + 1 (mod N). The steps that end the
// phase are a[N - 2] (N > 1) or u (N = 1). Uses messages 0 .. N - 2, tmp slot 0, acc slots 0 and 1.
void AddRingReduceScatter(ScheduleBuilder& b, const Expr& own);

// Every block of out becomes what its owner has of it; the first send is of `first`, the owner's
// copy of its block, once `ready` has ended. Uses messages first_message .. first_message + N - 2.
void AddRingAllGather(ScheduleBuilder& b, const Expr& own, const ChunkExpr& first,
                      const std::vector<LabelExpr>& ready, const Expr& first_message);

// (r + offset) % N, or r for 0.
Expr RingOwner(std::int64_t offset);

}  // namespace chorus
