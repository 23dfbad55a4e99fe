// MappedExecutor: carries out a MappedPlan if the buffers of all ranks turn out to be mapped, else
// hands the call to an executor that moves messages.
//
//   1. tell     a line to every rank (lane phase 0): where my buffers are, or that they are mine
//   2. hear     with own buffers that are not mapped the outcome is known, and step 2 is left out
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

  // All pointers must outlive this. `otherwise` carries out the same call with messages.
  MappedExecutor(const MappedPlan* plan, const Binding* binding, Links* links, Transport* transport,
                 KernelSet kernels, Executor* otherwise);

  // REQUIRES: `binding` is the one it was made for.
  void Start(const Binding& binding, const CallMemory& memory) override;
  Progress Advance() override;
  void Stop() override;
  const Trouble& trouble() const override;
  std::vector<Wait> Waits() override;

 private:
  enum class Stage : std::uint8_t { kTell, kHear, kWork, kHearDone, kOtherwise };
  // What a rank tells of its buffers, and of what it has moved.
  struct Begun {
    std::uint64_t is_mapped = 0;
    std::uint64_t in = 0;  // addresses of RegionKeys
    std::uint64_t out = 0;
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

  std::int64_t BytesHeld(bool is_in) const;
  bool MayBegin(LaneSender& lane) const;
  bool Tell();  // true once all are told
  void WakePeers();
  bool Hear();     // true once all are heard
  void DoPiece();  // a little of the next work
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
  std::int64_t in_bytes_ = 0;  // that this rank holds
  std::int64_t out_bytes_ = 0;
  bool streams_own_ = false;  // stores into own memory too go past the caches
  std::vector<ReduceSource> sources_;
  std::vector<void*> destinations_;

  CallMemory memory_;
  Stage stage_ = Stage::kTell;
  bool is_mapped_ = false;  // this rank's own buffers
  Begun begun_;
  std::size_t next_peer_ = 0;  // to tell, or to hear
  std::size_t next_work_ = 0;
  std::int64_t done_elements_ = 0;  // of the next work
  std::vector<std::byte*> in_;      // by rank
  std::vector<std::byte*> out_;
  std::vector<Done> moved_;  // by rank that sent it
  std::optional<Trouble> trouble_;
};

}  // namespace chorus
