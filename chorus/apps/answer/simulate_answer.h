// chorus simulate: a schedule carried out on a machine, event by event.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chorus/apps/answer/json.h"
#include "chorus/apps/answer/machine_choice.h"
#include "chorus/apps/answer/option_rules.h"
#include "chorus/base/op_kind.h"
#include "chorus/cost/simulate/simulate.h"

namespace chorus::answer {

// As it was typed; what is empty was not given.
struct SimulateQuestion {
  std::string op;
  MachineOptions machine;
  std::string algorithm;  // empty: a ring if there is one
  std::string file;       // of a schedule, instead of an algorithm; a page never sets it
  std::string bytes;      // empty: 1 MiB, and of a barrier none
  std::optional<std::int64_t> ranks;
  std::int64_t root = 0;
  double accumulator_ratio = 1;
  std::string tile;
  std::vector<std::string> slow;  // "3:2"
  double jitter = 0;
  std::string seed;  // empty: 1
  std::string local;
  bool no_symmetry = false;
  bool trace = false;  // every event is kept
  bool compare = false;
  double most_seconds = 0;  // that several simulations may take together; 0: any
  std::int64_t most_ranks = std::int64_t{1} << 18;       // in seconds and 1 GiB
  std::int64_t most_held = SimulateOptions().most_held;  // of one simulation
};

// One schedule with one size.
struct Simulated {
  std::string name;  // of the algorithm, or of the schedule of a file
  OpKind op;
  SimulatedCall call;  // its schedule is null
  Bytes bytes;
  Simulation result;

  // Of no bytes, or in no time, none. In bytes per second; busbw is comparable with a link.
  BytesPerSecond Algbw() const;
  BytesPerSecond Busbw() const;
};

struct SimulateAnswer {
  explicit SimulateAnswer(Machine on) : machine(std::move(on)) {}

  Machine machine;
  std::vector<Simulated> simulations;  // size after size, of each the fastest first
  std::vector<std::string> left_out;   // what was too much to simulate, and why
};

// Which options go with which operations.
const std::vector<OptionRule>& SimulateRules();

Result<SimulateAnswer> Answer(const SimulateQuestion& question);
Json ToJson(const SimulateAnswer& answer);

}  // namespace chorus::answer
