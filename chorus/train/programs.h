// ModelPrograms: what a configuration asks the ranks to do, written down.
//
//   [model]             -> graph -> gradients
//   [strategy], [mesh]  -> table of specs        -> programs of a training step and a forward pass
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "chorus/base/status.h"
#include "chorus/mesh/spec.h"
#include "chorus/program/program.h"
#include "chorus/train/config.h"

namespace chorus {

// Inputs of the model, and the dimension of its samples.
inline constexpr std::string_view kTokensName = "tokens";
inline constexpr std::string_view kTargetsName = "targets";
inline constexpr std::string_view kBatchDim = "B";

struct ModelPrograms {
  StepProgram step;      // gives the loss; gradients and the update of every parameter within
  StepProgram evaluate;  // gives the loss
  StepProgram generate;  // tokens alone; gives the logits, whole on every rank
  DimSizes sizes;        // of all dimensions, for a training batch
  // Standard deviation of the start of each parameter, by name.
  std::map<std::string, double> init_std;
};

// `vocabulary` is the number of tokens of the text.
// Errors: a strategy that is unknown or contradicts itself or the mesh; the message says where.
Result<ModelPrograms> MakePrograms(const TrainConfig& config, std::int64_t vocabulary);

}  // namespace chorus
