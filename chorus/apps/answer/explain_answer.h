// chorus explain: what a sharded product costs, the collectives it takes, and the other ways to do
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chorus/apps/answer/gradient_answer.h"
#include "chorus/apps/answer/json.h"
#include "chorus/apps/answer/machine_choice.h"
#include "chorus/shard/break_even.h"
#include "chorus/shard/placement.h"
#include "chorus/shard/product.h"
#include "chorus/shard/ways.h"

namespace chorus::answer {

// As it was typed; what is empty was not given.
struct ExplainQuestion {
  std::string product;
  std::string mesh;
  std::string dims;
  std::string dtype = "f32";
  std::optional<double> flops_per_byte;  // empty: of the machine, else of an H100
  MachineOptions machine;                // its `on` may be empty
  std::string memory;
  bool alternatives = false;          // the ways are worked out without a machine, too
  bool overlap = false;               // chunks are multiplied while others are on their way
  bool gradients = false;             // of each operand, too
  bool on_this_host = false;          // it will be run here: chunks suit the cores of a host
  std::int64_t most_ranks = 100'000;  // what is done for each of them still ends in seconds
};

// The question with all its parts read, and the answer. Numbers of ranks are those of rank 0, which
// holds the largest blocks.
struct ExplainAnswer {
  Product product;
  Mesh mesh;
  DimSizes sizes;
  DType dtype = DType::kF32;
  Tariff tariff;
  std::optional<MeshPlacement> placement;
  std::optional<Bytes> most_memory;
  chorus::ProductAnswer answer;
  std::vector<ProductWay> ways;  // those of answer.plans, if they are asked for
  std::vector<BreakEven> break_evens;
  std::vector<OperandGradient> gradients;  // if they are asked for
};

// "C[I, K] = all_reduce(C.local, X)": an operation without its dtype and the rest.
std::string OpText(const StepProgram& program, const ProgramOp& op);

// What rank 0 sends in one operation; where blocks change ranks, the busiest rank.
Bytes SentBy(const ExplainAnswer& q, const ProgramOp& op);

// Errors about the texts show the place (base/scanner.h, PlaceOf).
Result<ExplainAnswer> Answer(const ExplainQuestion& o);
Json ToJson(const ExplainAnswer& q);
// Products that could be asked about on the mesh instead of one that is illegal; none where nothing
// is wrong with it.
std::vector<std::string> SpellingsFor(const ExplainQuestion& question);

}  // namespace chorus::answer
