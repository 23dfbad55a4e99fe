// What the all_to_all algorithms share: the names of blocks, and the direct exchange.
#pragma once

#include "chorus/schedule/builder.h"

namespace chorus {

// The block that rank `from` has for rank `to`.
Expr PairBlock(const Expr& from, const Expr& to);

// Every block of in goes to its place in out: the own one by the step c, the others as messages 0
// (steps s[q] and v[p]).
void AddDirectAllToAll(ScheduleBuilder& b);

}  // namespace chorus
