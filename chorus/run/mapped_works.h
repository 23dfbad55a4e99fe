// Works: what a schedule is when every rank can reach the memory of all.
//
// A message then need not be one: its receiver loads from the sender's buffer, or the sender stores
// into the receiver's. What is left of the schedule is work, each one pass over memory:
//
//   direct all_reduce, N = 3:
//     schedule   rank 1 sends in[2] to 2 and in[0] to 0, reduces out[1] = ..., sends out[1] to both
//     work       1@out[1], 0@out[1], 2@out[1] = 0@in[1] op 1@in[1] op 2@in[1]; finish
//
// mapped_plan.h does the works in the callers' buffers, staged_plan.h tile by tile in memory of the
// library's own. Thread safety: value types; functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

struct MappedWorks {
  OpKind op = OpKind::kBarrier;
  std::int64_t group_size = 1;
  std::vector<MappedWork> all;  // of all ranks

  friend bool operator==(const MappedWorks&, const MappedWorks&) = default;
};

// The works of a schedule; none writes what another reads or writes, in place or not. Empty if the
// schedule has none: if a message carries something else than what its sender had from the start or
// has itself finished, if a sum is not of inputs alone, left to right, or if works meet. Direct and
// one-shot schedules have works; rings and trees, whose messages hand on partial sums and others'
// blocks, do not: they are for memory that is not shared.
std::optional<MappedWorks> WorksOf(const Expansion& expansion);

}  // namespace chorus
