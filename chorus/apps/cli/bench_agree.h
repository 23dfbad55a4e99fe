// One number of all ranks, out of one of each.
#pragma once

#include "chorus/apps/cli/bench_settings.h"
#include "chorus/collective/group.h"

namespace chorus::cli {

// Collective calls: every rank gets the same.
Result<double> Agree(Group& group, double mine, BenchAverage how);
Result<std::int64_t> SumOverRanks(Group& group, std::int64_t mine);
// `mine` of every rank, by rank.
Result<std::vector<std::int64_t>> OfAllRanks(Group& group, std::int64_t mine);

}  // namespace chorus::cli
