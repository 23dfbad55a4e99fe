// What is certain to have happened before what: the proofs that no two steps race, and that no
// rank leaves a barrier early.
#pragma once

#include <cstdint>
#include <optional>

#include "chorus/verify/fault.h"
#include "chorus/verify/step_graph.h"

namespace chorus {

// Two steps that touch one location of one rank, one of them writing, must happen one after the
// other. `pairs` is increased by the number of such pairs that were checked.
std::optional<Fault> FindRace(const Expansion& e, const StepGraph& graph, bool in_place,
                              std::int64_t& pairs);

// Every rank's beginning must happen before every rank's end.
std::optional<Fault> FindEarlyExit(const Expansion& e, const StepGraph& graph);

}  // namespace chorus
