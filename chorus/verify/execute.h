// Symbolic execution: carries out all steps on terms and compares the end with the equation.
#pragma once

#include <cstdint>
#include <optional>

#include "chorus/verify/fault.h"
#include "chorus/verify/step_graph.h"
#include "chorus/verify/watch.h"

namespace chorus {

// Carries out `e` in graph.order(). REQUIRES: no race, so that any other order gives the same.
// The fault is a read of memory that holds nothing or another block, a write where none is allowed,
// a sum that is wrong or would be rounded, or a result that is not what the operation promises.
// `terms` is set to the number of different values met. `watched`, if it is not null, is given what
// every step has written.
std::optional<Fault> ExecuteOnTerms(const Expansion& e, const StepGraph& graph, bool in_place,
                                    std::int64_t& terms, WatchedRun* watched = nullptr);

}  // namespace chorus
