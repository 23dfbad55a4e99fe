// The own checks of `chorus bench --strict`: what the data of nccl-tests cannot see.
#pragma once

#include "chorus/apps/cli/bench_buffers.h"
#include "chorus/apps/cli/bench_result.h"
#include "chorus/apps/cli/bench_settings.h"
#include "chorus/collective/group.h"

namespace chorus::cli {

// Checks the operation of `c` around its size. A collective call; every rank gets the same.
//   equal bits  where all ranks get the same result, of data that rounds
//   error       of sums and averages of floats against f64: at most half a unit for narrow floats,
//               which are rounded once, and half a unit for each addition of f32 and f64
//   uneven      one element more and less than ranks divide, and blocks of different sizes
//   zero        no element
Result<BenchChecks> CheckStrictly(Group& group, const BenchCase& c, const CallOptions& options);

}  // namespace chorus::cli
