// The measuring part of `chorus tune`: what each rank does.
#pragma once

#include <chrono>
#include <vector>

#include "chorus/apps/cli/tune_choices.h"
#include "chorus/collective/group.h"

namespace chorus::cli {

// The largest of the sizes at which algorithms are timed, of V.
inline constexpr std::int64_t kLargestTuned = std::int64_t{16} << 20;

// Times every algorithm of every operation that has a choice, for this group's number of ranks,
// over sizes from 8 B to 16 MiB, algorithms in turn, in about `budget`. An algorithm that falls
// behind threefold at one size is left out of the next. A collective call: all ranks get the same.
Result<std::vector<TunedTime>> MeasureAlgorithms(Group& group,
                                                 std::chrono::duration<double> budget);

}  // namespace chorus::cli
