// A port number that no program of this host uses at the moment, for jobs that need not choose one.
#pragma once

#include "chorus/base/status.h"

namespace chorus {

// Errors: kResourceExhausted when the system gives none.
Result<int> FreePort();

}  // namespace chorus
