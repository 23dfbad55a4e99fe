// The bound of a bench: how fast this machine moves the least bytes that an operation must move.
#pragma once

#include "chorus/apps/cli/bench_buffers.h"
#include "chorus/collective/group.h"

namespace chorus::cli {

// Microseconds in which every rank, all at once, reads and writes its share of LeastTraffic(c) in
// its own memory, no rank waiting for another: the median of a few times, the larger of all ranks,
// the best of stores through and past the caches. 0 for cases under 4 KiB,
// which wait for lines to cross between cores rather than for bytes. A collective call.
Result<double> MeasureBound(Group& group, const BenchCase& c, BenchBuffers& buffers);

}  // namespace chorus::cli
