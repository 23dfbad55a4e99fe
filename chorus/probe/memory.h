// How much memory this host has: what an array is weighed against before it is asked for.
#pragma once

#include "chorus/base/units.h"

namespace chorus {

// Of the whole host, whoever uses it. Thread safety: any thread. Cheap after the first call.
Bytes HostMemory();

}  // namespace chorus
