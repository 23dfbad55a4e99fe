// The logs that chorus calibrate is given.
#pragma once

#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/cost/calibrate/measurement.h"
#include "chorus/cost/calibrate/nccl_log.h"

namespace chorus::cli {

// Reads output of nccl-tests or of chorus bench, or the latter's JSON. Errors: a file that cannot
// be read or is neither; no row that counts in all of them, with why the others do not.
Result<MeasurementLog> ReadLogs(const std::vector<std::string>& paths, const LogDefaults& defaults);

}  // namespace chorus::cli
