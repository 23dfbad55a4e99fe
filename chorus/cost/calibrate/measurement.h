// Measurements: what a log of nccl-tests, or of chorus bench, says about the time of collectives.
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"

namespace chorus {

struct Measurement {
  std::string op;  // "all_reduce"
  std::int64_t ranks = 0;
  std::int64_t nodes = 1;
  double bytes = 0;    // as nccl-tests counts them
  double seconds = 0;  // of one call, out of place
  friend bool operator==(const Measurement&, const Measurement&) = default;
};

// What the log itself may not say; its own words win.
struct LogDefaults {
  std::string op;
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
};

// Reads the lines of nccl-tests: the operation from "Collective test starting: all_reduce_perf"
// (older releases do not say it), ranks from "#  Rank r ... on HOST", one measurement a data row.
// Rows of no bytes or no time are left out. Errors name `origin` and the line: no row at all, a
// row that is cut off, an operation or a number of ranks that nobody has named.
Result<std::vector<Measurement>> ParseNcclTestsLog(std::string_view text, const std::string& origin,
                                                   const LogDefaults& defaults);

// One measurement for each operation, ranks, nodes and size, in the order in which each came first:
// the median time of all that there are, so that sweeps repeated outweigh a disturbed one.
std::vector<Measurement> Medians(const std::vector<Measurement>& measurements);

// "all_reduce" of "all_reduce_perf", "AllReduce", "alltoall"; "" if it is none.
std::string OperationOfName(std::string_view name);

}  // namespace chorus
