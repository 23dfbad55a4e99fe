// MappedPlan: what one rank does for a schedule when it can reach the buffers of all ranks.
//
// Its part of the works of mapped_works.h, done in the callers' buffers themselves.
//
// bytes moved over all ranks: every input byte is loaded once, every output byte stored once. No
// schedule through messages can do with less.
//
//   all ranks   signal "I have begun"        after it my buffers may be read and written
//               wait for all of them
//               do the work
//               signal "I am done"           after it nobody waits for me
//               wait for all of them         before it my buffers are not mine
//
// Nothing orders the work of different ranks between the two waits.
//
// Where the schedule gives ranks unequal work (a root that sends everything), each work is shared
// out among the ranks it names, the more to a rank the fewer works name it: for 2 ranks, root and
// receiver move half of a broadcast each. What is moved counts as sent along the schedule's edges,
// whoever moved it. Thread safety: value types; functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chorus/run/mapped_works.h"

namespace chorus {

struct MappedPlan {
  OpKind op = OpKind::kBarrier;
  std::int64_t group_size = 1;
  std::int64_t rank = 0;
  std::vector<MappedWork> works;

  std::string ToString() const;  // one line a work
  friend bool operator==(const MappedPlan&, const MappedPlan&) = default;
};

// REQUIRES of all: 0 <= rank < works.group_size.
MappedPlan LowerMapped(const MappedWorks& works, std::int64_t rank);

// What `rank` does where ranks may read each other's buffers but not write them: it brings itself
// whatever ends in its own. Empty if works are more than copies.
std::optional<MappedPlan> LowerPulled(const MappedWorks& works, std::int64_t rank);

}  // namespace chorus
