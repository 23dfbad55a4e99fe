// Proof that plans do what their schedule says. Pure; knows nothing of how Lower works.
//
// CheckPlan, of one rank's plan against the schedule:
//   1. every step is done by exactly one instruction, and the instruction is what its steps say:
//      written out with what its own steps have put into scratch, the last step gives the operands
//   2. what a step that was merged away has put into scratch is read by no other instruction
//   3. every dependency between steps of two instructions is one between the instructions
//   4. messages to each peer are sent, and from each peer taken, in the schedule's order
//
// CheckTogether, of the plans of all ranks: no deadlock even if channels held nothing. A send and
// the instruction that takes its message are then one event, for neither can end without the
// other; the events must be free of cycles under dependencies, order in channels, and reuse of
// scratch by later tiles.
#pragma once

#include <vector>

#include "chorus/base/status.h"
#include "chorus/run/lowered_plan.h"
#include "chorus/schedule/schedule.h"

namespace chorus {

// The error names the rule, the instruction and the step.
Status CheckPlan(const LoweredPlan& plan, const Schedule& schedule);

// The error names instructions of one cycle. REQUIRES: plans[r] is rank r's, of one schedule, one
// group size and one root, and has passed CheckPlan.
Status CheckTogether(const std::vector<LoweredPlan>& plans);

}  // namespace chorus
