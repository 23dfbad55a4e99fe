#include "chorus/collective/plan_cache.h"

#include <fmt/format.h>

#include <utility>

#include "chorus/algorithm/algorithm.h"
#include "chorus/mesh/spec.h"
#include "chorus/run/lower.h"
#include "chorus/run/validate.h"
#include "chorus/schedule/schedule.h"

namespace chorus {

Result<PlanCache::Entry*> PlanCache::For(const Call& call) {
  const CallOptions& options = call.options;
  const Algorithm* algorithm = nullptr;
  if (options.schedule == nullptr && options.algorithm.empty()) {
    const Bytes total(call.total() * SizeOf(call.in.dtype));
    algorithm = &ChooseAlgorithm(call.op, links_.size(), total);
  } else if (options.schedule == nullptr) {
    CHORUS_ASSIGN_OR_RETURN(algorithm, FindAlgorithm(options.algorithm, call.op));
  } else if (options.schedule->op() != call.op) {
    return InvalidArgument(fmt::format("{}: the schedule given, {}, is one of {}", Name(call.op),
                                       options.schedule->name(), Name(options.schedule->op())));
  }
  const void* key = options.schedule;
  if (algorithm != nullptr) key = algorithm;
  const std::int64_t root = HasRoot(call.op) ? call.root : 0;
  for (const auto& entry : entries_) {
    if (entry->key == key && entry->root == root) return entry.get();
  }
  const Schedule schedule = algorithm != nullptr ? algorithm->Build() : *options.schedule;
  auto entry = std::make_unique<Entry>();
  entry->key = key;
  entry->root = root;
  CHORUS_ASSIGN_OR_RETURN(entry->plan, Lower(schedule, links_.size(), links_.rank(), root));
  CHORUS_RETURN_IF_ERROR(CheckPlan(entry->plan, schedule));
  entry->executor = std::make_unique<Executor>(&entry->plan, &links_, &scratch_, kernels_);
  entries_.push_back(std::move(entry));
  return entries_.back().get();
}

Result<std::vector<std::int64_t>> PlanCache::BlockSizes(const Call& call, const LoweredPlan& plan) {
  const std::int64_t blocks = plan.frame.blocks;
  if (HasOwners(call.op) && (blocks != plan.group_size || plan.frame.own != plan.rank)) {
    return Unsupported(
        fmt::format("{}: the schedule {} has {} blocks and rank {} owns block {}; a call needs one "
                    "block a rank, "
                    "each rank owning its own number",
                    Name(call.op), plan.algorithm, blocks, plan.rank, plan.frame.own));
  }
  if (call.has_counts) return call.counts;
  std::vector<std::int64_t> sizes;
  for (std::int64_t b = 0; b < blocks; ++b) {
    sizes.push_back(SplitEvenly(call.total(), blocks, b).size);
  }
  return sizes;
}

}  // namespace chorus
