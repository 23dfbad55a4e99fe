// StagedPlan: what one rank does for a schedule when ranks reach each other's stages (stage.h) but
// not each other's buffers: the works of mapped_works.h, tile by tile, by way of the stages.
//
//   direct all_reduce, N = 2, rank 0                       each line is a pass over one tile
//     fill   slot[0] = in[1]                                 what rank 1 needs of my input
//     work   1@slot[0], out[0] = in[0] op 1@slot[0]; finish  what I compute, for rank 1 and for me
//     take   out[1] = slot[0]                                what rank 1 has computed for me
//
// A result for several ranks goes into a slot of its owner. One for a single rank goes back into
// the slot by which that rank gave its input, if it did: these lines are in the owner's cache.
//
// Passes of one kind are done together, for tile after tile; a tile's passes wait for the passes
// before them on whatever stages they read. Slots exist for kDepth tiles in flight.
//
// bytes moved per rank for V bytes of direct all_reduce: (N-1)/N V into its stage, V read from its
// input and the stages, V/N stored twice, (N-1)/N V out of the stages. Messages through channels
// would be written and read as often, and wait for each other in order.
// Thread safety: value types; functions are pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/run/mapped_works.h"
#include "chorus/transport/stage.h"

namespace chorus {

// A tile of a block in own memory, or of a slot of a stage.
struct StagedPlace {
  static constexpr std::int64_t kOwnMemory = -1;

  std::int64_t slot = kOwnMemory;
  std::int64_t rank = 0;                 // whose stage it is in
  BufferKind buffer = BufferKind::kIn;   // in own memory: in or out
  bool scaled = false;                   // a source: multiplied by the caller's pre-scale first
  std::int64_t by = 0;                   // a source in a slot: there once this rank has passed
  StagePhase since = StagePhase::kFill;  // this phase

  bool is_staged() const { return slot != kOwnMemory; }
  friend bool operator==(const StagedPlace&, const StagedPlace&) = default;
};

// All destinations = sources[0] op sources[1] op ..., for a tile of the block.
struct StagedPass {
  std::int64_t block = 0;
  std::vector<StagedPlace> sources;
  std::vector<StagedPlace> destinations;  // slots first
  bool finish = false;                    // averaged and rounded before it is stored

  std::string ToString(std::int64_t rank) const;  // as `rank` does it
  friend bool operator==(const StagedPass&, const StagedPass&) = default;
};

struct StagedPlan {
  // A rank, perhaps this one, that reads slots which this one has stored, and in which phase.
  struct Reader {
    std::int64_t rank = 0;
    StagePhase phase = StagePhase::kWork;
    friend bool operator==(const Reader&, const Reader&) = default;
  };

  OpKind op = OpKind::kBarrier;
  std::int64_t group_size = 1;
  std::int64_t rank = 0;
  std::int64_t slots = 0;  // of a tile, in the stage that needs most: the same for all ranks
  std::vector<StagedPass> fills;
  std::vector<StagedPass> works;
  std::vector<StagedPass> takes;
  std::vector<Reader> fill_readers;  // of what the fills store
  std::vector<Reader> work_readers;  // of what the works store
  std::vector<std::int64_t> sent;    // blocks this rank sends by the schedule, as often as it does

  std::string ToString() const;  // one line a pass
  friend bool operator==(const StagedPlan&, const StagedPlan&) = default;
};

// REQUIRES: 0 <= rank < works.group_size.
StagedPlan LowerStaged(const MappedWorks& works, std::int64_t rank);

}  // namespace chorus
