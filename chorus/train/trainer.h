// Trainer: a model on one rank, and the things that are done to it step by step.
//
// All functions but the accessors are collective calls: every rank of the world makes the same ones
// in the same order. Thread safety: none; one rank, one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/group.h"
#include "chorus/program/plain_array.h"
#include "chorus/tensor/executable.h"
#include "chorus/tensor/runtime.h"
#include "chorus/train/batch.h"
#include "chorus/train/config.h"
#include "chorus/train/programs.h"
#include "chorus/train/text.h"

namespace chorus {

class Trainer {
 public:
  // Plans, allocates and initialises. A parameter starts as normal numbers that are a function of
  // (seed, its name, position in the whole array). Errors: those of MakePrograms and of loading.
  static Result<std::unique_ptr<Trainer>> Create(const TrainConfig& config, Text text, Group world,
                                                 const RuntimeOptions& options);

  // One step on the batch of `step` (from 1) at `learning_rate`; the mean loss of that batch, in
  // nats a character, before the update.
  Result<double> Step(std::int64_t step, double learning_rate);
  // The mean loss of `samples` places of the held-out part, rounded up to whole batches.
  Result<double> HeldOutLoss(std::int64_t samples);
  // `characters` that the model continues `prompt` with, drawn at `temperature` (0: the likeliest).
  // The same text on every rank. Errors: a character of the prompt that the text does not have.
  Result<std::string> Generate(std::string_view prompt, std::int64_t characters,
                               double temperature);
  // The whole of a bound value, "w" or its optimizer state. Errors: no value of that name.
  Result<PlainArray> Array(const std::string& name);

  const ModelPrograms& programs() const { return programs_; }
  const Text& text() const { return text_; }
  Runtime& runtime() { return *runtime_; }
  // The program of a step; its counters are of the last Step.
  const Executable& step() const { return *step_; }

 private:
  Trainer(TrainConfig config, Text text, ModelPrograms programs, std::unique_ptr<Runtime> runtime);

  Status InitParameters();
  // Binds the inputs of a batch of `samples`; `make(begin, count)` gives any part of it.
  template <typename Make>
  Status BindBatch(const DimSizes& sizes, Make make);
  Result<double> LossOf(const Executable& program);

  const TrainConfig config_;
  const Text text_;
  const ModelPrograms programs_;
  const std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Executable> step_;
  std::unique_ptr<Executable> evaluate_;
  std::unique_ptr<Executable> generate_;  // for one sample, made when text is generated
  ArrayStore store_;
};

}  // namespace chorus
