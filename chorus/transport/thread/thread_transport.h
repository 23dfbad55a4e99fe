// The transport between ranks that are threads of one process.
//
// Any memory of any rank can be mapped: a key's address is the address. It is the transport of
// tests and of the thread sanitizer, and shares all but memory and liveness with shm.
#pragma once

#include <memory>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/transport/transport.h"

namespace chorus {

// The transports of ranks 0 .. n-1. Memory they allocate lives until the last of them is gone.
// REQUIRES: n >= 1.
std::vector<std::unique_ptr<Transport>> MakeThreadTransports(int n);

}  // namespace chorus
