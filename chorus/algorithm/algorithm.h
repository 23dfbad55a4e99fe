// The algorithms Chorus knows: one schedule builder a file, and the choice between them.
//
// Start here. An algorithm is found by name and operation ("ring", all_reduce) or chosen by Choose;
// its Build returns a Schedule, a value for all ranks, N and sizes. Nothing here runs anything.
// In the formulas V is the bytes of all blocks together, of one rank's copy, and N the ranks.
//
// A name may carry numbers, which are the builder's: "knomial:4", "two_level:8", "two_level:3+1+2",
// "torus:2x3". Thread safety: all functions are pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/schedule/schedule.h"

namespace chorus {

using AlgorithmNumbers = std::vector<std::int64_t>;

// What the numbers behind the colon of a name mean, for all algorithms of that name.
struct AlgorithmParameter {
  std::string_view form;     // "K"
  std::string_view meaning;  // "into how many parts a round cuts the ranks, 2 to 64"
  char separator;            // between several numbers: 'x', '+'; 0 where there is one
  // Ok, or why the numbers are none for this algorithm: "1 is not in 2 .. 64".
  Status (*Check)(const AlgorithmNumbers& numbers);
  // Ok, or why they do not fit a group of that size. Null: they fit all.
  Status (*Fits)(const AlgorithmNumbers& numbers, std::int64_t group_size);
};

struct Algorithm {
  std::string_view name;     // "ring", "knomial:4"
  OpKind op;                 // what it carries out
  std::string_view idea;     // one sentence
  std::string_view cost;     // "steps: N - 1, bytes sent per rank: (N - 1)/N V"
  std::string_view picture;  // a worked example for a small N
  Schedule (*builder)();     // null where there are numbers
  // Of a name with numbers; else null.
  const AlgorithmParameter* parameter = nullptr;
  Schedule (*builder_of)(const AlgorithmNumbers& numbers) = nullptr;
  AlgorithmNumbers numbers = {};

  Schedule Build() const { return parameter != nullptr ? builder_of(numbers) : builder(); }
  // Ok if the schedule is one for groups of that size. Most are for all.
  Status Fits(std::int64_t group_size) const;
};

// All algorithms, those of one operation together, best known first. Of those with numbers, one
// with numbers to show it by.
const std::vector<Algorithm>& AllAlgorithms();
// The algorithms of one operation, in the same order.
std::vector<const Algorithm*> AlgorithmsFor(OpKind op);

// A pointer that owns nothing. REQUIRES: a member of AllAlgorithms, which lives for ever.
inline std::shared_ptr<const Algorithm> Unowned(const Algorithm& algorithm) {
  return {std::shared_ptr<const Algorithm>(), &algorithm};
}

// "direct, ring, knomial:K": the names of the algorithms of one operation, for messages.
std::string NamesOfAlgorithms(OpKind op);

// A member of AllAlgorithms where the name is that of one. Errors: kNotFound with the names that
// exist for `op`; kInvalidArgument for numbers that are none for the algorithm, with what would be.
Result<std::shared_ptr<const Algorithm>> FindAlgorithm(std::string_view name, OpKind op);

// What a group of `group_size` uses when the caller names no algorithm. `total` is V of one rank.
// The same arguments give the same answer everywhere, so ranks agree and bytes can be predicted.
// If `rank_order`, the sum is in rank order whatever the size (reproducible results).
// The rule and its reasons are at the definition. REQUIRES: group_size >= 1.
const Algorithm& ChooseAlgorithm(OpKind op, std::int64_t group_size, Bytes total,
                                 bool rank_order = false);

// What a v-variant of gather, scatter or all_to_all uses when the caller names no algorithm: one in
// which no rank handles blocks whose sizes only others know.
const Algorithm& AlgorithmForPrivateCounts(OpKind op);

}  // namespace chorus
