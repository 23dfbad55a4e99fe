// Executor: carries out a plan on one rank, a little at a time, never blocking.
//
//   lane_executor.h      small messages: each a line or a few, whole from the start
//   mapped_executor.h    buffers that all ranks can reach: loads and stores, no message at all
//   channel_executor.h   everything else: streams of messages through channels
//
// Which of them does a call follows from what every rank knows of it alike: the plan, the sizes,
// and for mapped memory what the ranks tell each other as the call begins.
// Thread safety: one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/base/reduction.h"
#include "chorus/kernel/reduce.h"
#include "chorus/transport/links.h"

namespace chorus {

// What a plan leaves open and all calls of one shape share: sizes, dtype, reduction.
struct Binding {
  std::vector<std::int64_t> block_elements;  // by block; of blocks the rank never meets, anything
  std::vector<std::int64_t> in_offsets;      // by block: elements before it in `in`, if it is there
  std::vector<std::int64_t> out_offsets;     // the same for `out`
  DType dtype = DType::kF32;
  Reduction reduction = ReduceOp::kSum;
  // Elements of each block in one tile; partial sums and scratch of a tile should fit the cache.
  // The same on all ranks. REQUIRES: > 0.
  std::int64_t tile_elements = std::int64_t{1} << 62;
  std::uint64_t fingerprint = 0;

  // Elements of the largest block; 0 if there is none.
  std::int64_t LargestBlock() const {
    std::int64_t largest = 0;
    for (const std::int64_t size : block_elements) largest = std::max(largest, size);
    return largest;
  }
  // Whether a pass from `sources` to `to` would only copy what lies there: then nothing is to do.
  bool IsThere(std::span<const ReduceSource> sources, const void* to) const {
    if (sources.size() != 1 || sources[0].data != to) return false;
    switch (reduction.op()) {
      case ReduceOp::kPremulSum:
        return !sources[0].scaled;
      case ReduceOp::kLogicalAnd:
      case ReduceOp::kLogicalOr:
      case ReduceOp::kLogicalXor:
        return false;  // any other value than 0 becomes 1
      default:
        return true;
    }
  }
  // What every pass of the call has in common; `finish` as in Instruction. The rest is to be set.
  ReduceArgs Args(bool finish, std::int64_t group_size) const {
    ReduceArgs args;
    args.op = reduction.op();
    args.divisor = finish && reduction.op() == ReduceOp::kAvg ? group_size : 1;
    args.factor = reduction.factor();
    args.user = reduction.user();
    return args;
  }
};

// What differs from call to call.
struct CallMemory {
  // By the rules of schedule/op.h; only the blocks the rank holds.
  const void* in = nullptr;
  void* out = nullptr;
  std::uint64_t sequence = 0;
  // Of this call and those before it: see agreement.h. What lanes carry.
  std::uint64_t history = 0;
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
      kUnreadable,  // no message: the kernel does not let this rank read the peer's buffer
    };
    Kind kind = Kind::kOtherCall;
    int peer = -1;
    MessageHeader header;
    std::int64_t expected_bytes = 0;  // of the message that should have been there
    std::string why{};                // kUnreadable
  };
  struct Wait {
    int peer = -1;
    bool sending = false;  // for room; else for a message
  };

  // Bytes moved before other operations get a turn; some 100 us.
  static constexpr std::int64_t kBytesOfTurn = std::int64_t{1} << 20;
  // Results in own memory that are larger do not stay in the caches anyway.
  static constexpr std::int64_t kLeastStreamed = std::int64_t{16} << 20;

  virtual ~Executor() = default;

  // Begins a call. No allocation after the first. REQUIRES: `binding` lives until the call ends;
  // it has as many block sizes as the plan has blocks.
  virtual void Start(const Binding& binding, const CallMemory& memory) = 0;
  virtual Progress Advance() = 0;
  // Gives the call up: messages half sent are cut.
  virtual void Stop() = 0;

  virtual const Trouble& trouble() const = 0;
  // What the call waits for, a rank at most twice. Empty if it can move. Valid until the next look.
  virtual const std::vector<Wait>& Waits() = 0;

 protected:
  explicit Executor(std::int64_t group_size) {
    waits_.reserve(2 * static_cast<std::size_t>(group_size));
  }

  std::vector<Wait> waits_;  // what Waits found last
};

}  // namespace chorus
