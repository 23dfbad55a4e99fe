// Reading what nccl-tests, or chorus bench, print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chorus/base/status.h"
#include "chorus/cost/calibrate/measurement.h"

namespace chorus {

// What the log itself may not say; "" and 0 where nobody says it.
struct LogDefaults {
  std::string op;
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
  std::string algorithm = {};
};

// Errors: what is given is not what the log says of itself: "my.log:7: the log says 8 ranks, but
// --ranks 4 is given; leave it out, or read this log for itself".
Status CheckAgrees(const LogDefaults& given, const LogDefaults& log, const std::string& place);

// Reads the lines of nccl-tests: the operation from "Collective test starting: all_reduce_perf"
// (older releases do not say it), ranks from "#  Rank r ... on HOST", the columns of time and
// #wrong from the head of the table (and the algorithm, which chorus bench adds), one measurement a
// data row. Lines that do not begin with a size are not rows: programs print between them. Errors
// name `origin` and the line: an operation or a number of ranks that nobody has named, or that two
// name differently; ranks that fill no number of like hosts one after another, as 5, 2 and 1.
// Thread safety: pure.
Result<MeasurementLog> ParseNcclTestsLog(std::string_view text, const std::string& origin,
                                         const LogDefaults& defaults);

}  // namespace chorus
