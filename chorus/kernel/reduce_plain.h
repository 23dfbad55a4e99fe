// The reference of Reduce: element by element, as written in its contract. Not a public header.
#pragma once

#include "chorus/kernel/reduce.h"

namespace chorus {

// As Reduce.
void ReducePlain(const Reduction& reduction);

}  // namespace chorus
