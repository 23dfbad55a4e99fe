// What show and verify share: which operation and algorithm the words on the command line mean.
#pragma once

#include <string>

#include "chorus/algorithm/algorithm.h"

namespace chorus::answer {

// Errors: not found, with the operations that exist.
Result<OpKind> OperationNamed(const std::string& name);
// Errors: not found, with what exists.
Result<std::shared_ptr<const Algorithm>> AlgorithmNamed(const std::string& name,
                                                        const std::string& operation);

}  // namespace chorus::answer
