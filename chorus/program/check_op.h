// Checks of one operation of a StepProgram, by kind: what it takes and what it must leave.
//
// Internal to the room. Thread safety: pure.
#pragma once

#include <vector>

#include "chorus/base/status.h"
#include "chorus/program/program.h"

namespace chorus {

// Ok if the specs, dtypes and `into` of `op` follow from its kind. Does not look at lifetimes.
// REQUIRES: every id of `op` is kNoValue or inside `values`.
Status CheckOp(const std::vector<ProgramValue>& values, const ProgramOp& op);

}  // namespace chorus
