// chorus estimate: what a collective, a product, a layer, a training step or a read costs, by
// formula.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chorus/apps/answer/compute_answer.h"
#include "chorus/apps/answer/json.h"
#include "chorus/apps/answer/machine_choice.h"
#include "chorus/apps/answer/option_rules.h"
#include "chorus/cost/formula/formula.h"

namespace chorus::answer {

// As it was typed; what is empty was not given.
struct EstimateQuestion {
  std::string op;
  MachineOptions machine;
  std::string bytes;
  std::optional<std::int64_t> ranks;  // empty: all devices
  std::int64_t root = 0;
  std::string algorithm;  // empty: the usual one
  std::string model;      // empty: sum
  double accumulator_ratio = 1;
  bool compare = false;
  std::string measured;  // a time, to compare with
  std::string dims;      // of product, layer, training
  double element = 2;
};

// A time that somebody measured, beside the estimate.
struct MeasuredBeside {
  Seconds time;
  BytesPerSecond algbw;
  double factor = 1;  // busbw / algbw
  BytesPerSecond busbw;
  double times = 1;  // that of the estimate
};

// The size above which another algorithm is the fastest.
struct FastestChange {
  std::string from;
  std::string to;
  Bytes bytes;
};

struct EstimateAnswer {
  explicit EstimateAnswer(Machine on) : machine(std::move(on)) {}

  Machine machine;
  std::optional<ComputeAnswer> compute;  // of the four questions that are no collective; then only

  Wiring wiring;
  LatencyModel model = LatencyModel::kSum;
  std::vector<Estimate> estimates;        // size after size, of each the fastest first
  std::vector<Bytes> sizes;               // one or more
  std::vector<LowerBound> lower_bounds;   // one a size
  std::vector<FastestChange> crossovers;  // where all are compared
  std::optional<MeasuredBeside> measured;
  std::vector<std::string> remarks;  // why what was measured on the machine is not shown
  std::optional<Estimate> fastest;   // by formula, where one algorithm was asked for
};

// The size of an estimate in whole bytes.
inline Bytes SizeOf(const Estimate& e) { return WholeBytes(e.bytes); }

// Ok if estimate knows the word. Errors: not found, with the nearest.
Status CheckEstimateOperation(const std::string& op);
// Which options go with which questions.
const std::vector<OptionRule>& EstimateRules();

// The algorithms among them of which there is a formula alone: what others carry out, or a bound.
std::vector<std::string> WithoutSchedule(const std::vector<Estimate>& estimates);

Result<EstimateAnswer> Answer(const EstimateQuestion& question);
Json ToJson(const EstimateAnswer& answer);

}  // namespace chorus::answer
