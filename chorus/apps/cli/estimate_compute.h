// The part of chorus estimate that is not a collective: a product, a layer, a training step, a read
// of memory.
#pragma once

#include <string>

#include "chorus/base/status.h"
#include "chorus/topology/machine.h"

namespace chorus::cli {

struct ComputeQuestion {
  std::string what;    // "product", "layer", "training", "read"
  std::string dims;    // "B=4096,D=8192"
  double element = 2;  // bytes
  Bytes bytes;         // of read
  bool json = false;
};

// True for the four words above.
bool IsComputeQuestion(const std::string& what);

// Prints the answer. Errors: a dimension that is missing (which ones there are is said) or unknown;
// hardware without the figures it takes.
Status EstimateCompute(const ComputeQuestion& question, const Machine& machine);

}  // namespace chorus::cli
