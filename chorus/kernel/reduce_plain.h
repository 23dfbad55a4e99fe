// The reductions that have no vectors. Not a public header.
#pragma once

#include "chorus/kernel/reduce.h"

namespace chorus {

// The reference of Reduce: element by element, as written in its contract. REQUIRES: not kUser.
void ReducePlain(const ReduceArgs& r);

// kUser: tile by tile through the user's function, the same for both kernel sets.
void ReduceByUser(KernelSet set, const ReduceArgs& r);

}  // namespace chorus
