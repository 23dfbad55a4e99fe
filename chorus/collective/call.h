// Call: one collective call of one rank as a value, checked before anything is sent.
//
// It owns no memory, so that to make one costs nothing: counts and algorithm are the caller's, and
// from the moment the call has a shape those of its shape.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/group.h"

namespace chorus {

// One of several all_reduces that go through a group as one (coalesce.h).
struct PackedPart {
  const void* in = nullptr;
  void* out = nullptr;
  std::int64_t count = 0;  // elements
};

// What a call settles that is no operation of a user's: an all_gather of records (Exchange).
enum class Agreement : std::uint8_t { kNone, kSplit, kAllocate, kOpenWindow, kPrepare, kGrow };
// "split", "open_window", ...; "" for kNone.
std::string_view Name(Agreement agreement);

struct Call {
  OpKind op = OpKind::kBarrier;
  ConstBuffer in;
  MutableBuffer out;
  Reduction reduce = ReduceOp::kSum;
  int root = 0;
  bool has_counts = false;                    // the v-variants
  std::span<const std::int64_t> counts;       // by rank; of all_to_all_v what it sends to each
  std::span<const std::int64_t> recv_counts;  // of all_to_all_v: what it is sent by each
  int group_size = 1;                         // set when the call is submitted
  Agreement agreement = Agreement::kNone;     // counted apart
  // As in CallOptions.
  std::chrono::milliseconds timeout{0};
  std::string_view algorithm;
  const Schedule* schedule = nullptr;
  bool is_persistent = false;  // started by PersistentCalls
  // Not null: the call stands for these, at least two; then `in` and `out` have sizes alone.
  std::shared_ptr<const std::vector<PackedPart>> packed;

  // Elements of all blocks together: V of one rank's copy; as far as this rank knows them if counts
  // are private.
  std::int64_t total() const;
  // A v-variant in which ranks do not know each other's counts: of gather, scatter, all_to_all. A
  // disagreement shows where a message has another size than its receiver expects.
  bool CountsArePrivate() const {
    return has_counts && op != OpKind::kAllGather && op != OpKind::kReduceScatter;
  }
  // Becomes `next`, which has the same shape.
  void UseMemoryOf(const Call& next) {
    in.data = next.in.data;
    out.data = next.out.data;
    timeout = next.timeout;
    if (packed != next.packed) packed = next.packed;
  }
  // Lets go of the caller's counts and algorithm for equal ones.
  void BorrowFrom(const Call& equal) {
    counts = equal.counts;
    recv_counts = equal.recv_counts;
    algorithm = equal.algorithm;
  }
};

// Everything that one rank can know to be wrong by itself: null data, negative or disagreeing
// counts, dtypes that differ, a root outside the group, buffers that overlap. The message begins
// with the operation and says both numbers.
Status CheckCall(const Call& call, int rank, int size);

// Whether the call reads `in`, or writes `out`, of this rank at all.
bool UsesIn(const Call& call, int rank);
bool UsesOut(const Call& call, int rank);

// The name the user called it by: "all_gather_v".
std::string NameOf(const Call& call);

// The buffers of `call` overlap in a way that needs a detour of what is written: reduce_scatter
// into the beginning of `in` by a rank other than 0, all_to_all in place. REQUIRES: CheckCall
// passed.
bool NeedsDetour(const Call& call, int rank);

// Operation, dtype, reduction (without a factor or function) and root in one word, to publish and
// compare; of a packed call, how many calls it is.
std::uint64_t PackCall(const Call& call);
// "all_reduce", "split", ...
std::string_view NameOfPacked(std::uint64_t packed);
// "f32 x 10 sum", "bf16 x 8 from root 2", "i32 x 9 by counts", "" for a barrier and a split.
std::string DescribePacked(std::uint64_t packed, std::int64_t total);
// How many calls it stands for: 1 but for a packed one.
int CallsOfPacked(std::uint64_t packed);
// As if it stood for one.
std::uint64_t WithoutPacking(std::uint64_t packed);
// What may differ between calls that are described alike: "another factor, other counts or another
// algorithm".
std::string_view WhatElseMayDiffer(std::uint64_t packed);

}  // namespace chorus
