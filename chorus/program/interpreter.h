// The reference meaning of a StepProgram: all ranks in one thread, in f64, by plain loops.
//
// It takes and gives whole (global) arrays, cuts them into what each rank holds, and carries out
// one operation after the other for every rank. The runtime is compared with it. Thread safety:
// pure.
#pragma once

#include <map>
#include <string>

#include "chorus/base/status.h"
#include "chorus/program/plain_array.h"
#include "chorus/program/program.h"

namespace chorus {

// Runs one step. `bound` holds every bound value by name, in global shape; one that is bound as a
// sum to be done is taken apart into addends that differ from rank to rank.
// Returns by name every bound value as it is afterwards and every output, in global shape; the sum
// of the parts where an output is partial. dtypes do not round: all arithmetic is f64. Errors: a
// bound value missing or of another shape (both shapes are shown), an index outside its table,
// replicas that differ (a defect of the program).
Result<std::map<std::string, PlainArray>> Interpret(const StepProgram& program, const Mesh& mesh,
                                                    const DimSizes& sizes,
                                                    const std::map<std::string, PlainArray>& bound,
                                                    const AdamWSettings& settings);

}  // namespace chorus
