// Expansion: all ranks of one schedule, for one N and one root, side by side.
//
// What needs to see every rank at once works on it: the interpreter and the verifier. The executor
// and the simulator do not; they expand one rank. Thread safety: a value.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/schedule/schedule.h"

namespace chorus {

struct Expansion {
  OpKind op = OpKind::kBarrier;
  ReduceOrder order = ReduceOrder::kNone;
  std::int64_t group_size = 1;
  std::int64_t root = 0;
  std::vector<Frame> frames;             // by rank
  std::vector<std::vector<Step>> ranks;  // by rank, in listing order
  // What InHolds and OutHolds ask about a rank.
  Member MemberOf(std::int64_t rank) const {
    return {op, group_size, root, rank, frames[rank].own};
  }
  friend bool operator==(const Expansion&, const Expansion&) = default;
};

// Errors: as Schedule::ForRank; ranks that differ in the number of blocks.
Result<Expansion> Expand(const Schedule& schedule, std::int64_t group_size, std::int64_t root = 0);

// What matches a send with its recv: (from, to, message number).
using MessageKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;
// REQUIRES: step.IsMessage().
MessageKey KeyOf(const Step& step, std::int64_t rank);

}  // namespace chorus
