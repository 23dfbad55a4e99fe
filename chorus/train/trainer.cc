#include "chorus/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "chorus/base/random.h"

namespace chorus {
namespace {

// A token drawn from exp(logits / temperature), by a number in [0, 1).
std::int32_t Draw(const std::vector<double>& logits, double temperature, double uniform) {
  const auto largest = std::max_element(logits.begin(), logits.end());
  if (temperature == 0) return static_cast<std::int32_t>(largest - logits.begin());
  std::vector<double> weights;
  double sum = 0;
  for (const double logit : logits) {
    weights.push_back(std::exp((logit - *largest) / temperature));
    sum += weights.back();
  }
  double left = uniform * sum;
  for (std::size_t v = 0; v < weights.size(); ++v) {
    left -= weights[v];
    if (left < 0) return static_cast<std::int32_t>(v);
  }
  return static_cast<std::int32_t>(largest - logits.begin());  // rounding used up the sum
}

}  // namespace

Trainer::Trainer(TrainConfig config, Text text, ModelPrograms programs,
                 std::unique_ptr<Runtime> runtime)
    : config_(std::move(config)),
      text_(std::move(text)),
      programs_(std::move(programs)),
      runtime_(std::move(runtime)) {}

Result<std::unique_ptr<Trainer>> Trainer::Create(const TrainConfig& config, Text text, Group world,
                                                 const RuntimeOptions& options) {
  // Before anything is done: a run must not fail at its end.
  CHORUS_RETURN_IF_ERROR(text.Encode(config.loop.prompt).status().WithContext("[train] prompt"));
  CHORUS_ASSIGN_OR_RETURN(ModelPrograms programs, MakePrograms(config, text.vocabulary_size()));
  CHORUS_ASSIGN_OR_RETURN(std::unique_ptr<Runtime> runtime,
                          Runtime::Create(std::move(world), config.mesh, options));
  std::unique_ptr<Trainer> trainer(
      new Trainer(config, std::move(text), std::move(programs), std::move(runtime)));
  const ModelPrograms& made = trainer->programs_;
  CHORUS_ASSIGN_OR_RETURN(Executable step,
                          Executable::Load(*trainer->runtime_, made.step, made.sizes));
  CHORUS_ASSIGN_OR_RETURN(Executable evaluate,
                          Executable::Load(*trainer->runtime_, made.evaluate, made.sizes));
  trainer->step_ = std::make_unique<Executable>(std::move(step));
  trainer->evaluate_ = std::make_unique<Executable>(std::move(evaluate));
  CHORUS_RETURN_IF_ERROR(trainer->InitParameters());
  return trainer;
}

Status Trainer::InitParameters() {
  const StepProgram& program = programs_.step;
  for (ValueId id = 0; id < program.bound(); ++id) {
    const ProgramValue& value = program.value(id);
    if (value.storage == StorageClass::kInput) continue;
    const auto found = programs_.init_std.find(value.name());
    const double std_dev = found == programs_.init_std.end() ? 0.0 : found->second;
    const RandomStream stream(config_.loop.seed, value.name());
    const auto start = [&](std::int64_t global) {
      return std_dev == 0.0 ? 0.0 : std_dev * stream.Normal(static_cast<std::uint64_t>(global));
    };
    CHORUS_ASSIGN_OR_RETURN(
        ShardedArray array,
        ShardedArray::Generate(*runtime_, value.spec, value.dtype, programs_.sizes, start));
    store_.insert_or_assign(value.name(), std::move(array));
  }
  return OkStatus();
}

template <typename Make>
Status Trainer::BindBatch(const DimSizes& sizes, Make make) {
  const StepProgram& program = programs_.step;
  const Spec& tokens = program.value(program.Find(kTokensName)).spec;
  const Spec& targets = program.value(program.Find(kTargetsName)).spec;
  const Mesh& mesh = runtime_->mesh();
  const int rank = runtime_->rank();
  const std::int64_t window = config_.model.window;
  // Only the samples of this rank are looked up; both inputs split the batch alike.
  const SpecDim& dim = tokens.dims()[0];
  const Block mine = BlockOf(dim.axes, mesh, sizes.find(dim.name)->second, rank);
  const Batch batch = make(mine.begin, mine.size);
  CHORUS_ASSIGN_OR_RETURN(
      ShardedArray local_tokens,
      ShardedArray::Generate(*runtime_, tokens, DType::kI32, sizes, [&](std::int64_t at) {
        return batch.tokens[at - mine.begin * window];
      }));
  CHORUS_ASSIGN_OR_RETURN(
      ShardedArray local_targets,
      ShardedArray::Generate(*runtime_, targets, DType::kI32, sizes,
                             [&](std::int64_t at) { return batch.targets[at - mine.begin]; }));
  store_.insert_or_assign(std::string(kTokensName), std::move(local_tokens));
  store_.insert_or_assign(std::string(kTargetsName), std::move(local_targets));
  return OkStatus();
}

// The loss is the output of a program, and whole on every rank.
Result<double> Trainer::LossOf(const Executable& program) {
  const ValueId output = program.program().outputs()[0];
  const ShardedArray& loss = store_.at(program.program().value(output).name());
  if (loss.dtype() == DType::kF64) return *loss.data<double>();
  return static_cast<double>(*loss.data<float>());
}

Result<double> Trainer::Step(std::int64_t step, double learning_rate) {
  CHORUS_RETURN_IF_ERROR(BindBatch(programs_.sizes, [&](std::int64_t begin, std::int64_t count) {
    return TrainingBatch(text_, config_.model.window, config_.loop.seed, step, begin, count);
  }));
  AdamWSettings settings = config_.optimizer;
  settings.learning_rate = learning_rate;
  settings.step = step;
  CHORUS_RETURN_IF_ERROR(step_->Run(store_, settings));
  return LossOf(*step_);
}

Result<double> Trainer::HeldOutLoss(std::int64_t samples) {
  const std::int64_t batch = config_.loop.batch;
  const std::int64_t batches = (samples + batch - 1) / batch;
  double sum = 0;
  for (std::int64_t i = 0; i < batches; ++i) {
    CHORUS_RETURN_IF_ERROR(BindBatch(programs_.sizes, [&](std::int64_t begin, std::int64_t count) {
      return HeldOutBatch(text_, config_.model.window, batches * batch, i * batch + begin, count);
    }));
    CHORUS_RETURN_IF_ERROR(evaluate_->Run(store_, AdamWSettings()));
    CHORUS_ASSIGN_OR_RETURN(const double loss, LossOf(*evaluate_));
    sum += loss;
  }
  return sum / static_cast<double>(batches);
}

Result<std::string> Trainer::Generate(std::string_view prompt, std::int64_t characters,
                                      double temperature) {
  const std::int64_t window = config_.model.window;
  // The first window is the end of the prompt; where that is short, the held-out text goes before.
  const auto held_out = text_.tokens().begin() + text_.training_size();
  std::vector<std::int32_t> tokens(held_out, held_out + window);
  CHORUS_ASSIGN_OR_RETURN(const std::vector<std::int32_t> said, text_.Encode(prompt));
  tokens.insert(tokens.end(), said.begin(), said.end());
  DimSizes sizes = programs_.sizes;
  sizes[std::string(kBatchDim)] = 1;
  if (generate_ == nullptr) {
    CHORUS_ASSIGN_OR_RETURN(Executable made,
                            Executable::Load(*runtime_, programs_.generate, sizes));
    generate_ = std::make_unique<Executable>(std::move(made));
  }
  const RandomStream stream(config_.loop.seed, "generate");
  const StepProgram& program = generate_->program();
  const std::string& logits_name = program.value(program.outputs()[0]).name();
  std::string out;
  for (std::int64_t i = 0; i < characters; ++i) {
    CHORUS_RETURN_IF_ERROR(BindBatch(sizes, [&](std::int64_t /*begin*/, std::int64_t count) {
      if (count == 0) return Batch();
      return Batch{.tokens = {tokens.end() - window, tokens.end()}, .targets = {0}};
    }));
    CHORUS_RETURN_IF_ERROR(generate_->Run(store_, AdamWSettings()));
    CHORUS_ASSIGN_OR_RETURN(const PlainArray logits, ToGlobal(store_.at(logits_name)));
    tokens.push_back(Draw(logits.elements, temperature, stream.Uniform(i)));
    out += text_.vocabulary()[tokens.back()];
  }
  return out;
}

Result<PlainArray> Trainer::Array(const std::string& name) {
  const auto found = store_.find(name);
  if (found == store_.end()) {
    return NotFound(fmt::format("the model has no value '{}'", name));
  }
  return ToGlobal(found->second);
}

}  // namespace chorus
