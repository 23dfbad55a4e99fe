// PlanCache: the lowered plans of one group, each made and validated once.
//
// A plan depends on the schedule and the root only, so a training run makes a handful. Choosing an
// algorithm for a call is here too. Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/call.h"
#include "chorus/run/executor.h"
#include "chorus/run/lowered_plan.h"
#include "chorus/transport/links.h"

namespace chorus {

class PlanCache {
 public:
  struct Entry {
    const void* key = nullptr;  // the Algorithm or the user's Schedule
    std::int64_t root = 0;
    ReduceOrder order = ReduceOrder::kNone;  // the schedule's
    LoweredPlan plan;
    std::vector<int> owners;            // by rank: the block it owns; of operations with owners
    bool meets_foreign_blocks = false;  // some rank handles blocks whose sizes a call of private
                                        // counts does not tell it
    std::unique_ptr<Executor> executor;
  };

  // `links` must outlive this.
  PlanCache(Links* links, KernelSet kernels) : links_(*links), kernels_(kernels) {}

  // The plan for a checked call. Valid until the cache ends. Errors: no such algorithm, a schedule
  // of another operation, one that cannot be expanded here, or one that adds in any order where the
  // reduction does not commute.
  Result<Entry*> For(const Call& call);

  // Sizes and places of the plan's blocks under the call. The buffers of a call lie in the order of
  // the ranks, whichever blocks they own.
  static void BindBlocks(const Call& call, const Entry& entry, Binding& binding);

 private:
  static Result<Entry*> Checked(const Call& call, Entry* entry);
  static void BindPairs(const Call& call, const LoweredPlan& plan, Binding& binding);

  Links& links_;
  const KernelSet kernels_;
  ScratchMemory scratch_;  // operations of a group take turns, so one is enough
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace chorus
