// MappedExecutor: carries out a MappedPlan if the buffers of all ranks turn out to be mapped, else
// a pulled one if there is one and all ranks can read each other's memory through the kernel, else
// hands the call to an executor that moves messages.
//
//   1. tell     a line to every rank (lane phase 0): where my buffers are, and what I can do
//   2. hear     a rank that can do neither knows the outcome, and leaves this out
//   3. work     in pieces, so that other operations of this rank get their turn
//   4. tell     a line to every rank (phase 1): done, and how much of what you sent I have moved
//   5. hear     the same of everyone; only then may the buffers be used again
//
// Stores into the buffers of peers go past this core's caches: who reads them next is another core,
// and lines that are dirty in a cache are the slowest to be had.
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "chorus/kernel/kernel_set.h"
#include "chorus/kernel/reduce.h"
#include "chorus/run/executor.h"
#include "chorus/run/mapped_plan.h"
#include "chorus/transport/lane.h"
#include "chorus/transport/transport.h"

namespace chorus {

class MappedExecutor final : public Executor {
 public:
  // Lane phases used before the outcome is known: `otherwise` begins after them.
  static constexpr unsigned kPhases = 1;

  // All pointers must outlive this. `pulled`: nullptr if it should not be used; alike on all ranks.
  // `otherwise` carries out the same call with messages.
  MappedExecutor(const MappedPlan* plan, const MappedPlan* pulled, const Binding* binding,
                 Links* links, Transport* transport, KernelSet kernels, Executor* otherwise);

  // REQUIRES: `binding` is the one it was made for.
  void Start(const Binding& binding, const CallMemory& memory) override;
  Progress Advance() override;
  void Stop() override;
  const Trouble& trouble() const override;
  const std::vector<Wait>& Waits() override;

 private:
  enum class Stage : std::uint8_t { kTell, kHear, kWork, kHearDone, kOtherwise };
  // What a rank tells of its buffers, and of what it has moved.
  struct Begun {
    std::uint32_t is_mapped = 0;
    std::uint32_t can_pull = 0;
    std::uint64_t in = 0;  // addresses of RegionKeys
    std::uint64_t out = 0;
    std::uint64_t own_in = 0;  // addresses of its process
    std::uint64_t own_out = 0;
  };
  struct Done {
    std::int64_t bytes = 0;
    std::int64_t messages = 0;
  };
  struct Place {
    std::size_t rank = 0;
    bool is_in = false;
    bool scaled = false;
    std::int64_t offset = 0;  // bytes
  };
  struct Work {
    std::size_t owner = 0;
    std::vector<Place> sources;
    std::vector<Place> destinations;
    std::int64_t count = 0;  // elements
    bool finish = false;
    bool is_first_part = true;  // its messages count once, wherever the work is shared out
  };

  std::vector<Work> WorksOf(const MappedPlan& plan);
  std::int64_t BytesHeld(bool is_in) const;
  bool CanReadAll();
  bool MayBegin(LaneSender& lane) const;
  bool Tell();  // true once all are told
  void WakePeers();
  bool Hear();  // true once all are heard
  // Enters the stage that all that was told leads to.
  void Decide();
  Progress DoPieces();  // some of the works
  void DoPiece(const Work& work, std::int64_t count);
  // The same where the source is to be read. False if that fails: see trouble_, or the peer is
  // lost.
  bool PullPiece(const Work& work, std::int64_t count);
  void TellDone();
  bool HearDone();  // true once all are heard
  void Count(const Work& work);
  // The line of `peer`, or nullptr while it has not come or if it is another call's: see trouble_.
  const LaneLine* Find(std::size_t peer, unsigned phase);

  const MappedPlan& plan_;
  const Binding& binding_;
  Links& links_;
  Transport& transport_;
  const KernelSet kernels_;
  Executor& otherwise_;
  std::vector<Work> works_;
  std::vector<Work> pulls_;
  const bool can_pull_;        // this rank
  std::int64_t in_bytes_ = 0;  // that this rank holds
  std::int64_t out_bytes_ = 0;
  bool streams_own_ = false;  // stores into own memory too go past the caches
  std::vector<ReduceSource> sources_;
  std::vector<void*> destinations_;

  CallMemory memory_;
  Stage stage_ = Stage::kTell;
  std::vector<Begun> begun_;  // by rank
  bool may_map_ = false;      // so far as was heard: all buffers are mapped
  bool may_pull_ = false;     // and all ranks can read
  bool pulls_now_ = false;
  std::size_t next_peer_ = 0;  // to tell, or to hear
  std::size_t next_work_ = 0;
  std::int64_t done_elements_ = 0;  // of the next work
  std::vector<std::byte*> in_;      // by rank
  std::vector<std::byte*> out_;
  std::vector<Done> moved_;  // by rank that sent it
  std::optional<Trouble> trouble_;
};

}  // namespace chorus
