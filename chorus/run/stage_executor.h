// StageExecutor: carries out a StagedPlan over the stages of a group.
//
//   tile      0      1      2      3
//   fill      a0     a1     a2     a3        a2 overwrites the slots of a0 where there are but two
//   work             b0     b1     b2        tiles in flight: it waits until their readers show
//   take                    c0     c1        that they have passed tile 0
//
// What is furthest along goes first, so a tile leaves as soon as it can and little is in flight.
// Everything ever waited for is a word of a peer's stage. A rank is done when it has passed all its
// tiles, whether or not others have: its half of the stage is left alone until they have too.
//
// Ranks must have told each other of the call on lane phase 0, as MappedExecutor does: what a peer
// shows is used only once its line was read and agrees.
// Thread safety: one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "chorus/kernel/kernel_set.h"
#include "chorus/kernel/reduce.h"
#include "chorus/run/executor.h"
#include "chorus/run/staged_plan.h"
#include "chorus/transport/stage.h"

namespace chorus {

class StageExecutor final : public Executor {
 public:
  // Whether a tile of all slots of the plan has room in stages of so many bytes a half, for blocks
  // of `binding`. The same on all ranks.
  static bool Fits(const StagedPlan& plan, const Binding& binding, std::int64_t half_bytes);

  // `streams_fills`: what goes into the stage is stored past this core's caches. All pointers must
  // outlive this. REQUIRES: Fits.
  StageExecutor(const StagedPlan* plan, const Binding* binding, Links* links, KernelSet kernels,
                bool streams_fills);

  // REQUIRES: `binding` is the one it was made for; all members have finished operation
  // memory.sequence - 2.
  void Start(const Binding& binding, const CallMemory& memory) override;
  Progress Advance() override;
  void Stop() override {}  // a tile is shown whole or not at all
  const Trouble& trouble() const override { return *trouble_; }
  const std::vector<Wait>& Waits() override;

 private:
  struct Place {
    bool is_staged = false;
    bool is_in = false;
    bool scaled = false;
    std::size_t rank = 0;
    std::int64_t offset = 0;  // bytes: of the slot in a tile, or of the block in `in` or `out`
  };
  // What this rank takes of another by the schedule.
  struct Taken {
    std::int64_t from = 0;
    std::int64_t bytes = 0;
  };
  struct Pass {
    std::int64_t elements = 0;  // of the block
    std::vector<Place> sources;
    std::vector<Place> destinations;
    std::size_t own = 0;  // of the destinations, the last so many are own memory
    bool finish = false;
  };
  // Before this rank passes tile t, `rank` must have passed tile t - lag in a phase of its own.
  struct Need {
    std::size_t rank = 0;
    StagePhase phase = StagePhase::kFill;
    std::int64_t lag = 0;  // 0: it stores what is read here; else it reads what is stored here

    friend bool operator==(const Need&, const Need&) = default;
  };
  struct Phase {
    std::vector<Pass> passes;
    std::vector<Need> needs;
    std::int64_t tiles = 0;  // passed
  };

  static std::int64_t TileElements(const StagedPlan& plan, const Binding& binding,
                                   std::int64_t half_bytes);
  Place PlaceOf(const StagedPlace& from, std::int64_t block) const;
  void AddPasses(Phase& phase, const std::vector<StagedPass>& passes);
  // The phase whose next tile this rank would pass, the one furthest along first, of those for
  // which test(phase) holds. Empty if there is none.
  template <typename Test>
  std::optional<StagePhase> FirstPhase(Test test);
  bool CanPass(const Phase& phase);
  // True once the peer's line has been read and agrees; else it is missing, or see trouble_.
  bool IsHeard(std::size_t peer);
  // Does the next tile of a phase and shows it. Returns bytes stored.
  std::int64_t PassTile(StagePhase which);
  void CountSent();
  // How often to look for what this rank waits for.
  int Looks();
  std::byte* At(const Place& place, std::int64_t tile) const;

  const StagedPlan& plan_;
  const Binding& binding_;
  Links& links_;
  const KernelSet kernels_;
  std::vector<Stage> stages_;  // by rank
  std::int64_t tile_elements_ = 0;
  std::int64_t slot_bytes_ = 0;
  std::int64_t tile_count_ = 0;
  const bool streams_fills_;
  bool streams_ = false;
  std::array<Phase, kStagePhases> phases_;
  std::vector<Taken> taken_;
  std::vector<ReduceSource> sources_;
  std::vector<void*> destinations_;

  CallMemory memory_;
  std::int64_t tiles_left_ = 0;                               // of all phases
  std::vector<std::byte*> halves_;                            // by rank: data of this call
  std::vector<bool> heard_;                                   // by rank
  std::vector<std::array<std::int64_t, kStagePhases>> seen_;  // by rank: tiles
  std::optional<Trouble> trouble_;
};

}  // namespace chorus
