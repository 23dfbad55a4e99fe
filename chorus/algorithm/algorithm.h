// The algorithms Chorus knows: one schedule builder a file, and the choice between them.
//
// Start here. An algorithm is found by name and operation ("ring", all_reduce) or chosen by Choose;
// its Build returns a Schedule, a value for all ranks, N and sizes. Nothing here runs anything.
// In the formulas V is the bytes of all blocks together, of one rank's copy, and N the ranks.
// Thread safety: all functions are pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/schedule/schedule.h"

namespace chorus {

struct Algorithm {
  std::string_view name;     // "ring"
  OpKind op;                 // what it carries out
  std::string_view idea;     // one sentence
  std::string_view cost;     // "steps: N - 1, bytes sent per rank: (N - 1)/N V"
  std::string_view picture;  // a worked example for a small N
  Schedule (*Build)();
};

// All algorithms, those of one operation together, best known first.
const std::vector<Algorithm>& AllAlgorithms();
// The algorithms of one operation, in the same order.
std::vector<const Algorithm*> AlgorithmsFor(OpKind op);

// Errors: not found, with the names that exist for `op`. The pointer is valid for ever.
Result<const Algorithm*> FindAlgorithm(std::string_view name, OpKind op);

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
