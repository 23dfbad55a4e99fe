// The measuring part of `chorus bench`: what each rank does.
#pragma once

#include <functional>

#include "chorus/apps/cli/bench_result.h"
#include "chorus/apps/cli/bench_settings.h"
#include "chorus/apps/cli/bench_table.h"
#include "chorus/collective/group.h"

namespace chorus::cli {

// Told on rank 0 only, in this order: where the ranks of an operation are, then its rows.
struct BenchListener {
  std::function<void(OpKind op, const BenchPlace& place)> on_start;
  std::function<void(const BenchRow& row)> on_row;
};

// All cases of one operation, one after another. A collective call: all ranks of `group` make it
// with the same settings and get the same rows. Errors: of the group, or no memory.
Result<BenchReport> RunBench(Group& group, const BenchSettings& settings, OpKind op,
                             const BenchListener& listener);

}  // namespace chorus::cli
