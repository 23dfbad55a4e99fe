// Which operation and algorithm the words of a question mean.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "chorus/algorithm/algorithm.h"

namespace chorus::answer {

// Errors: not found, with the operations that exist.
Result<OpKind> OperationNamed(const std::string& name);
// Errors: not found, with what exists.
Result<std::shared_ptr<const Algorithm>> AlgorithmNamed(const std::string& name,
                                                        const std::string& operation);

// True if there is a schedule of that name: else a formula alone, or nothing.
bool HasSchedule(std::string_view name, const std::string& operation);

// Where none is named: a ring where there is one, since it is what estimates speak of first.
const Algorithm& UsualAlgorithm(OpKind op, std::int64_t ranks, Bytes bytes);

}  // namespace chorus::answer
