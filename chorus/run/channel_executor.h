// ChannelExecutor: carries out a LoweredPlan with messages that stream through channels.
//
// Advance does whatever can be done now, on every tile in flight, and returns. An instruction runs
// when those before it have ended and its messages are next in their channels; a send copies as
// much as the channel takes, a reduction as much as has arrived on all the channels it reads.
//
// bytes copied per rank: each byte sent once into a channel, each byte received once out of it (by
// the reduction itself where the plan says so). Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/kernel/kernel_set.h"
#include "chorus/run/executor.h"
#include "chorus/run/lowered_plan.h"
#include "chorus/run/scratch_memory.h"
#include "chorus/transport/links.h"

namespace chorus {

class ChannelExecutor final : public Executor {
 public:
  // `plan`, `links` and `scratch` must outlive this. Executors that share scratch or links take
  // turns: one runs from Start to kDone or Stop. REQUIRES: the plan is of links.rank() and size().
  ChannelExecutor(const LoweredPlan* plan, Links* links, ScratchMemory* scratch, KernelSet kernels);

  void Start(const Binding& binding, const CallMemory& memory) override;
  Progress Advance() override;
  void Stop() override;
  const Trouble& trouble() const override { return trouble_; }
  const std::vector<Wait>& Waits() override;

 private:
  // Facts of the plan worked out once.
  struct Static {
    std::vector<std::int64_t> successors;
    std::int64_t send_position = 0;            // among the sends to its peer
    std::vector<std::int64_t> take_positions;  // by taken message, among those from its peer
  };
  struct Channel {
    std::int64_t sends_per_tile = 0;
    std::int64_t takes_per_tile = 0;
    std::int64_t sent = 0;  // messages complete, of all tiles
    std::int64_t taken = 0;
  };
  struct Running {
    std::int64_t waits = 0;   // instructions before it that have not ended
    std::int64_t chunk = 0;   // send, recv: the chunk it is at
    std::int64_t offset = 0;  // bytes within the chunk; reduce: elements done
    bool begun = false;       // the header is written, or all headers are seen
    bool ended = false;
  };
  struct Tile {
    std::int64_t number = -1;  // -1: none
    std::int64_t left = 0;     // instructions that have not ended
    std::vector<Running> running;
  };
  struct Piece {
    std::byte* data = nullptr;
    std::int64_t elements = 0;
    DType dtype = DType::kF32;
    std::int64_t bytes() const { return elements * SizeOf(dtype); }
  };
  enum class Outcome : std::uint8_t { kNothing, kMoved, kEnded, kTrouble };

  void StartTile(Tile& tile, std::int64_t number);
  Outcome AdvanceTile(Tile& tile);
  Outcome Step(const Tile& tile, std::size_t i, Running& running);
  Outcome Send(const Tile& tile, std::size_t i, Running& running);
  Outcome Recv(const Tile& tile, std::size_t i, Running& running);
  Outcome Reduce(const Tile& tile, std::size_t i, Running& running);
  void CopyPiece(std::byte* to, const std::byte* from, std::size_t bytes, bool is_last_use) const;
  // 1: the message is at the front; 0: not yet; -1: trouble.
  int Expect(std::int64_t peer, std::int64_t message, std::int64_t bytes);
  bool IsNext(const Tile& tile, std::size_t i) const;
  bool HasArrived(std::int64_t peer);
  // The memory, or for a message the size, of a chunk in a tile.
  Piece PieceOf(const Chunk& chunk, std::int64_t tile) const;
  std::int64_t BytesOf(const std::vector<Chunk>& chunks, std::int64_t tile) const;

  const LoweredPlan& plan_;
  Links& links_;
  ScratchMemory& scratch_memory_;
  const KernelSet kernels_;
  std::vector<Static> statics_;      // by instruction
  std::vector<std::int64_t> slots_;  // tmp slots, then acc slots: index in scratch, or -1 if unused
  std::int64_t used_slots_ = 0;

  const Binding* binding_ = nullptr;
  CallMemory memory_;
  std::int64_t tile_elements_ = 0;  // no more than the largest block has
  bool streams_ = false;
  std::int64_t tile_count_ = 0;
  std::int64_t slot_bytes_ = 0;
  std::byte* scratch_ = nullptr;
  std::vector<Tile> tiles_;  // in flight, oldest first modulo their number
  std::int64_t next_tile_ = 0;
  std::int64_t tiles_left_ = 0;
  std::vector<Channel> channels_;      // by peer
  std::vector<ReduceSource> sources_;  // of the reduction being carried out
  Trouble trouble_;
};

}  // namespace chorus
