// Rounds: in which exchange a step of a schedule takes part, counted from 1.
//
// A message belongs to the round after the latest message that its send depends on; a reduce or
// copy to the latest round it depends on, 0 if to none. The number of rounds is what a latency
// formula calls steps: 2(N - 1) of a ring all_reduce. Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/schedule/expansion.h"

namespace chorus {

// [rank][step]. Errors: as LinearOrder (schedule/linear_order.h).
Result<std::vector<std::vector<std::int64_t>>> Rounds(const Expansion& expansion);

}  // namespace chorus
