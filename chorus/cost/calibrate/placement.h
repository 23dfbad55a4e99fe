// Where the ranks of a log can have lain on a machine.
#pragma once

#include "chorus/base/status.h"
#include "chorus/cost/calibrate/measurement.h"
#include "chorus/topology/machine.h"

namespace chorus {

// Errors: the machine has fewer devices than the measurement has ranks; or so many ranks, which
// fill its nodes one after another, lie otherwise than the log says. Each says what would be right.
// Thread safety: pure.
Status CheckPlacement(const Machine& like, const Measurement& measured);

}  // namespace chorus
