// PlanCache: the lowered plans of one group, each made and validated once.
//
// A plan depends on the schedule and the root only, so a training run makes a handful. Choosing an
// algorithm for a call is here too. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/algorithm/choices.h"
#include "chorus/base/status.h"
#include "chorus/collective/call.h"
#include "chorus/kernel/kernel_set.h"
#include "chorus/run/executor.h"
#include "chorus/run/lowered_plan.h"
#include "chorus/run/mapped_plan.h"
#include "chorus/run/scratch_memory.h"
#include "chorus/run/staged_plan.h"
#include "chorus/transport/links.h"

namespace chorus {

class PlanCache {
 public:
  // Bounds that hold for every rank alike, so that all decide by the same numbers.
  struct Messages {
    std::int64_t per_pair = 0;  // of an ordered pair of ranks, in one tile
    std::int64_t chunks = 0;    // of a message
  };
  struct Entry {
    bool adds_left_to_right = false;  // every element, in rank order: see schedule/sum_order.h
    std::string algorithm;            // the name it was asked for by; empty for a user's schedule
    const Schedule* schedule = nullptr;  // the user's
    std::int64_t root = 0;
    ReduceOrder order = ReduceOrder::kNone;  // the schedule's
    LoweredPlan plan;
    std::vector<int> owners;            // by rank: the block it owns; of operations with owners
    bool meets_foreign_blocks = false;  // some rank handles blocks whose sizes a call of private
                                        // counts does not tell it
    Messages messages;
    std::optional<MappedPlan> mapped;  // empty: the schedule has none
    std::optional<MappedPlan> pulled;  // the same, or its works are more than copies
    std::optional<StagedPlan> staged;  // empty: the schedule has none
    std::unique_ptr<Executor> executor;
  };

  // The pointers must outlive this.
  PlanCache(Links* links, KernelSet kernels, ScratchMemory* scratch, const Choices* choices)
      : links_(*links), kernels_(kernels), scratch_(*scratch), choices_(*choices) {}

  // The plan for a checked call. Valid until the cache ends. Errors: no such algorithm, a schedule
  // of another operation, one that cannot be expanded here, or one that adds in any order where the
  // reduction does not commute.
  Result<Entry*> For(const Call& call);

  // Sizes and places of the plan's blocks under the call. The buffers of a call lie in the order of
  // the ranks, whichever blocks they own.
  static void BindBlocks(const Call& call, const Entry& entry, Binding& binding);

 private:
  // The name of the algorithm for a call whose schedule is not the user's own.
  std::string_view NameFor(const Call& call) const;
  static Result<Entry*> Checked(const Call& call, Entry* entry);
  static void BindPairs(const Call& call, const LoweredPlan& plan, Binding& binding);

  Links& links_;
  const KernelSet kernels_;
  ScratchMemory& scratch_;
  const Choices& choices_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace chorus
