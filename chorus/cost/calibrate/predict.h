// Predicting from what was measured on the machine itself. Thread safety: pure.
#pragma once

#include "chorus/cost/formula/formula.h"

namespace chorus {

// True if the machine has a curve of this operation with as many ranks and nodes.
bool HasFit(const Wiring& wiring, const Question& question);

// The estimate "measured", whose reason says how well the curve fits and how far it was tried.
// REQUIRES: HasFit.
Estimate EstimateFromFit(const Wiring& wiring, const Question& question);

}  // namespace chorus
