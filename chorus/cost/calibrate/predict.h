// Predicting from what was measured on the machine itself. Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/cost/formula/formula.h"

namespace chorus {

// True if the machine has a curve of this operation with as many ranks and nodes and this root, or
// one that does not say its root.
bool HasFit(const Wiring& wiring, const Question& question);

// The roots with which a machine that has none of this root was measured; empty if HasFit, or if
// there is no curve of this operation with as many ranks and nodes.
std::vector<std::int64_t> OtherRoots(const Wiring& wiring, const Question& question);

// The estimate "measured", whose reason says how well the curve fits and how far it was tried.
// REQUIRES: HasFit.
Estimate EstimateFromFit(const Wiring& wiring, const Question& question);

}  // namespace chorus
