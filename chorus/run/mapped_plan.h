// MappedPlan: what one rank does for a schedule when it can reach the buffers of all ranks.
//
// A message then need not be one: its receiver loads from the sender's buffer, or the sender stores
// into the receiver's. What is left of the schedule is work, each one pass over memory:
//
//   direct all_reduce, N = 3, rank 1:
//     plan     send in[2] to 2, send in[0] to 0, reduce out[1] = ..., send out[1] to 2 and 0, ...
//     mapped   0@out[1], 1@out[1], 2@out[1] = 0@in[1] op 1@in[1] op 2@in[1]; finish
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
// Nothing orders the work of different ranks between the two waits, so no work may write what
// another reads or writes. A schedule has a mapped plan if every message carries what its sender
// had from the start or has itself finished, every sum is of inputs alone, left to right, and the
// works do not meet, in place or not. Direct and one-shot schedules do; rings and trees, whose
// messages hand on partial sums and others' blocks, do not: they are for memory that is not shared.
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

#include "chorus/base/status.h"
#include "chorus/schedule/expansion.h"
#include "chorus/schedule/schedule.h"

namespace chorus {

struct MappedPlace {
  std::int64_t rank = 0;
  BufferKind buffer = BufferKind::kIn;  // in or out
  std::int64_t block = 0;
  bool scaled = false;  // a source: multiplied by the caller's pre-scale first

  friend bool operator==(const MappedPlace&, const MappedPlace&) = default;
};

// All destinations = sources[0] op sources[1] op ..., for a part of the block's elements.
struct MappedWork {
  // A rank's part of a block of n elements begins at element n x begin / kWhole.
  static constexpr std::int64_t kWhole = std::int64_t{1} << 20;

  std::int64_t owner = 0;  // the rank that does this by the schedule
  std::vector<MappedPlace> sources;
  std::vector<MappedPlace> destinations;
  bool finish = false;  // averaged and rounded before it is stored
  std::int64_t begin = 0;
  std::int64_t end = kWhole;

  // "0@out[1], 1@out[1] = 0@in[1] op 1@in[1]; finish".
  std::string ToString() const;
  friend bool operator==(const MappedWork&, const MappedWork&) = default;
};

struct MappedPlan {
  OpKind op = OpKind::kBarrier;
  std::int64_t group_size = 1;
  std::int64_t rank = 0;
  std::vector<MappedWork> works;

  std::string ToString() const;  // one line a work
  friend bool operator==(const MappedPlan&, const MappedPlan&) = default;
};

// Empty if the schedule has none. REQUIRES: 0 <= rank < expansion.group_size.
std::optional<MappedPlan> LowerMapped(const Expansion& expansion, std::int64_t rank);

}  // namespace chorus
