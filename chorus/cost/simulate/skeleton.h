// Skeleton: what of a schedule takes time, as tables that the simulator runs through.
//
// A class is a set of ranks whose steps are the same but for a shift: ranks c, c + shift, ... with
// shift from symmetry.h, or one rank each. The steps of one rank of each class are expanded; peers
// become displacements (peer - rank mod N), so that one table serves all ranks of the class.
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/schedule/schedule.h"

namespace chorus {

// How many bytes the blocks of one call have.
struct Payload {
  double bytes = 0;                 // all blocks together, evenly cut
  std::vector<double> block_bytes;  // of each block instead, if not empty
  double accumulator_ratio = 1;     // bytes of an accumulator / bytes of an element
  double tile_bytes = 0;            // blocks go in pieces of this size; 0: whole
};

struct SkeletonStep {
  Verb verb = Verb::kCopy;
  std::int32_t channel = -1;  // send, recv: which of the class's displacements
  std::int32_t partner = -1;  // send, recv: the step at the other end
  // send, recv: the messages before and after it of its ordered pair of ranks, in a circle: what is
  // before the first is the last, of the tile before.
  std::int32_t previous = -1, next = -1;
  std::int32_t after_begin = 0, after_end = 0;          // into Skeleton::after
  std::int32_t dependent_begin = 0, dependent_end = 0;  // into Skeleton::dependents
  std::int64_t message = 0;
  double weight = 0;  // bytes, with tiles: of a whole block's worth
};

struct Skeleton {  // of one class
  std::vector<SkeletonStep> steps;
  std::vector<std::int32_t> after;          // steps that must have ended
  std::vector<std::int32_t> dependents;     // steps that wait for this one
  std::vector<std::int64_t> displacements;  // by channel
};

struct SkeletonSet {
  std::int64_t group_size = 1;
  std::int64_t shift = 1;  // classes.size()
  std::int64_t tiles_in_flight = 1;
  std::vector<double> tile_share;  // of each tile: its part of every step's bytes
  std::vector<Skeleton> classes;
};

struct SkeletonLimits {
  bool local_takes_time = false;
  // What else there is allows only shifts that this one divides; group_size: none but itself.
  std::int64_t least_shift = 1;
  std::int64_t most_held = INT64_MAX;  // steps, chunks and dependencies of the ranks simulated
};

// Errors: as Schedule::ForRank; block sizes that are not one per block; a send without its recv or
// the other way round; more than limits.most_held (kResourceExhausted), by a sample of the ranks.
Result<SkeletonSet> BuildSkeletons(const Schedule& schedule, std::int64_t group_size,
                                   std::int64_t root, const Payload& payload,
                                   const SkeletonLimits& limits);

}  // namespace chorus
