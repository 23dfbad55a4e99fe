// ShapeCache: everything about a call but its memory and its number, worked out once.
//
// A training run makes the same few calls over and over. The second call of a shape (operation,
// dtype, counts, reduction, root, algorithm) finds here its plan, its sizes, its fingerprint and
// the executor that is right for it:
//
//   small messages                    LaneExecutor
//   larger, the schedule has works    MappedExecutor, and if buffers are neither mapped
//                                     nor read: LaneExecutor or StageExecutor, by size
//   everything else                   ChannelExecutor
//
// The choice uses only what all ranks know alike. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/call.h"
#include "chorus/collective/plan_cache.h"
#include "chorus/run/executor.h"
#include "chorus/transport/transport.h"

namespace chorus {

// What may be used at all; the same on every rank of a group.
struct Ways {
  bool lanes = true;
  bool mapped = true;
  bool staged = true;
  bool pulled = true;
};

struct CallShape {
  Call call;  // without memory; counts and algorithm are the next three
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> recv_counts;
  std::string algorithm;
  PlanCache::Entry* plan = nullptr;
  Binding binding;
  CallRecord record;                      // of the call running last
  std::vector<std::int64_t> part_counts;  // of a packed call: elements of each
  bool is_large = false;                  // so that a look at the clock costs it nothing
  Executor* executor = nullptr;           // of `own` or of the plan
  std::vector<std::unique_ptr<Executor>> own;

  // Bytes that this rank reads and writes; 0 where it does not.
  std::int64_t in_bytes = 0;
  std::int64_t out_bytes = 0;
  bool may_be_in_place = false;  // with `in` where `out` is

  // Whether it is the shape of another call too.
  bool IsOf(const Call& other) const;
  // Whether CheckCall would pass a call of this shape. False: it has to be asked.
  bool HasPlainMemory(const Call& other) const;
};

class ShapeCache {
 public:
  // The pointers must outlive this.
  ShapeCache(Links* links, Transport* transport, KernelSet kernels, Ways ways,
             const Choices* choices)
      : links_(*links),
        transport_(*transport),
        kernels_(kernels),
        ways_(ways),
        plans_(links, kernels, &scratch_, choices) {}

  // The shape of a checked call. Errors: those of PlanCache::For.
  Result<std::shared_ptr<CallShape>> For(const Call& call);
  // Whether the plan for the call adds up every element left to right in rank order, wherever it
  // lies. The same on all ranks.
  bool AddsInRankOrder(const Call& call);

  // A shape that is not kept, for calls whose memory does not change. `mapped`: all ranks can reach
  // the memory of all; if not, messages that fit lanes go through them without asking for it.
  // Errors: those of PlanCache::For.
  Result<std::shared_ptr<CallShape>> MakeFor(const Call& call, bool mapped);
  // What the shape of the call would have as its fingerprint.
  Result<std::uint64_t> FingerprintOf(const Call& call);

 private:
  // `mapped`: the memory of all ranks may be one that all can reach.
  std::shared_ptr<CallShape> Make(const Call& call, PlanCache::Entry* plan, bool mapped);
  bool StreamsFills(OpKind op) const;

  Links& links_;
  Transport& transport_;
  const KernelSet kernels_;
  const Ways ways_;
  ScratchMemory scratch_;  // operations of a group take turns, so one is enough
  PlanCache plans_;
  std::vector<std::shared_ptr<CallShape>> shapes_;  // the last ones used
  std::size_t oldest_ = 0;
};

// A number that ranks with different calls, or different plans for one, do not share.
std::uint64_t Fingerprint(const Call& call, const LoweredPlan& plan);

// The history of a group after one more call.
std::uint64_t Chain(std::uint64_t history, std::uint64_t fingerprint);

}  // namespace chorus
