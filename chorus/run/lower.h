// Lower: Schedule -> LoweredPlan of one rank.
//
// Two rewritings, each exact in what is computed, including every rounding:
//   1. recv x; reduce d = ... x ...   with x in scratch, read nowhere else:
//      the reduction reads the message in the channel.
//   2. reduce x = A; reduce d = x op b   with x in scratch, read nowhere else, x on the left:
//      one reduction d = A, b. Partial sums are in accumulators anyway, so bits are the same. A
//      partial sum on the right stays by itself: a op (b op c) is not (a op b) op c.
//
// Both make a message wait in its channel where the schedule would have put it aside. They are left
// out where a rank could then wait for its own sends before it takes what lets others send; that
// the plans of all ranks cannot block for good is what CheckTogether proves (validate.h). Pure.
// Nothing is done for the pre-scale of chunks: the calls of collective have none.
#pragma once

#include <cstdint>

#include "chorus/base/status.h"
#include "chorus/run/lowered_plan.h"
#include "chorus/schedule/schedule.h"

namespace chorus {

struct LowerOptions {
  bool fuse = true;  // false: one instruction a step, to compare with
};

// Errors: those of Schedule::ForRank.
Result<LoweredPlan> Lower(const Schedule& schedule, std::int64_t group_size, std::int64_t rank,
                          std::int64_t root, const LowerOptions& options = {});

}  // namespace chorus
