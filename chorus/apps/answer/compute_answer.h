// The part of chorus estimate that is not a collective: a product, a layer, a training step, a read
// of memory.
#pragma once

#include <string>

#include "chorus/apps/answer/json.h"
#include "chorus/base/status.h"
#include "chorus/topology/machine.h"

namespace chorus::answer {

struct ComputeQuestion {
  std::string what;    // "product", "layer", "training", "read"
  std::string dims;    // "B=4096,D=8192"
  double element = 2;  // bytes
  Bytes bytes;         // of read
};

// True for the four words above.
bool IsComputeQuestion(const std::string& what);

// The same numbers for programs and for people.
struct ComputeAnswer {
  Json json;
  std::string text;  // lines with their ends
};

// Errors: a dimension that is missing (which ones there are is said) or unknown; hardware without
// the figures it takes.
Result<ComputeAnswer> EstimateCompute(const ComputeQuestion& question, const Machine& machine);

}  // namespace chorus::answer
