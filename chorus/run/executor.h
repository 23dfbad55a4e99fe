// Executor: carries out a LoweredPlan on one rank, a little at a time, never blocking.
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
#include <memory>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/base/reduction.h"
#include "chorus/kernel/kernel_set.h"
#include "chorus/run/lowered_plan.h"
#include "chorus/transport/links.h"

namespace chorus {

// What a plan leaves open: the buffers and sizes of one call.
struct Binding {
  // By the rules of schedule/op.h; only the blocks the rank holds.
  const void* in = nullptr;
  void* out = nullptr;
  std::vector<std::int64_t> block_elements;  // by block; of blocks the rank never meets, anything
  std::vector<std::int64_t> in_offsets;      // by block: elements before it in `in`, if it is there
  std::vector<std::int64_t> out_offsets;     // the same for `out`
  DType dtype = DType::kF32;
  Reduction reduction = ReduceOp::kSum;
  // Elements of each block in one tile; partial sums and scratch of a tile should fit the cache.
  // The same on all ranks. REQUIRES: > 0.
  std::int64_t tile_elements = std::int64_t{1} << 62;
  std::uint64_t sequence = 0;
  std::uint64_t fingerprint = 0;
};

// Memory for scratch slots, kept from call to call: fresh pages cost more than moving their bytes.
class ScratchMemory {
 public:
  // At least `bytes`, on a multiple of 64. Contents are not kept.
  std::byte* Reserve(std::int64_t bytes);

 private:
  struct Deleter {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Deleter> data_;
  std::int64_t bytes_ = 0;
};

class Executor {
 public:
  enum class Progress : std::uint8_t {
    kDone,
    kMoved,    // something was done, more is left
    kBlocked,  // nothing could be done: see Waits
    kTrouble,  // a message that does not fit: see trouble()
  };
  // A message that is not the one expected.
  struct Trouble {
    enum class Kind : std::uint8_t {
      kOtherCall,   // of this operation's number, but the peer made another call
      kLaterCall,   // of a later operation: the peer is done with this one
      kLeftOver,    // of an earlier one that ended well here: the peer made another call then
      kOtherShape,  // of this call, but another message or size: the schedules differ
    };
    Kind kind = Kind::kOtherCall;
    int peer = -1;
    MessageHeader header;
    std::int64_t expected_bytes = 0;  // of the message that should have been there
  };
  struct Wait {
    int peer = -1;
    bool sending = false;  // for room; else for a message
  };

  // `plan`, `links` and `scratch` must outlive this. Executors that share scratch or links take
  // turns: one runs from Start to kDone or Stop. REQUIRES: the plan is of links.rank() and size().
  Executor(const LoweredPlan* plan, Links* links, ScratchMemory* scratch, KernelSet kernels);

  // Begins a call. No allocation after the first with as many tiles.
  // REQUIRES: as many block sizes as the plan has blocks.
  void Start(const Binding& binding);
  Progress Advance();
  // Gives the call up: messages half sent are cut.
  void Stop();

  const Trouble& trouble() const { return trouble_; }
  // What the call waits for, a rank at most twice. Empty if it can move.
  std::vector<Wait> Waits();

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

  Binding binding_;
  std::int64_t tile_count_ = 0;
  std::int64_t slot_bytes_ = 0;
  std::byte* scratch_ = nullptr;
  std::vector<Tile> tiles_;  // in flight, oldest first modulo their number
  std::int64_t next_tile_ = 0;
  std::int64_t tiles_left_ = 0;
  std::vector<Channel> channels_;  // by peer
  Trouble trouble_;
};

}  // namespace chorus
