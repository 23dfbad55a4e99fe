#include "chorus/collective/plan_cache.h"

#include <fmt/format.h>

#include <utility>

#include "chorus/algorithm/algorithm.h"
#include "chorus/mesh/spec.h"
#include "chorus/run/lower.h"
#include "chorus/run/validate.h"
#include "chorus/schedule/schedule.h"

namespace chorus {
namespace {

// Which block each rank owns. The calls need one block a rank and each block owned once.
Result<std::vector<int>> Owners(const Schedule& schedule, std::int64_t size, std::int64_t root) {
  std::vector<int> owners;
  std::vector<bool> owned(static_cast<std::size_t>(size), false);
  for (std::int64_t rank = 0; rank < size; ++rank) {
    CHORUS_ASSIGN_OR_RETURN(const Frame frame, schedule.FrameFor(size, rank, root));
    if (frame.blocks != size || owned[static_cast<std::size_t>(frame.own)]) {
      return Unsupported(fmt::format(
          "{}: the schedule {} has {} blocks for {} ranks, and rank {} owns block {}; a call needs "
          "one block a rank, each owned once",
          Name(schedule.op()), schedule.name(), frame.blocks, size, rank, frame.own));
    }
    owned[static_cast<std::size_t>(frame.own)] = true;
    owners.push_back(static_cast<int>(frame.own));
  }
  return owners;
}

Status CheckOrder(const Call& call, const PlanCache::Entry& entry) {
  if (!Reduces(call.op) || call.reduce.commutes() || entry.order != ReduceOrder::kAny) {
    return OkStatus();
  }
  return Unsupported(fmt::format(
      "{}: {} does not commute, and {} adds in any order; an algorithm in rank order is "
      "right, such as direct or binomial",
      Name(call.op), call.reduce.ToString(), entry.plan.algorithm));
}

}  // namespace

Result<PlanCache::Entry*> PlanCache::For(const Call& call) {
  const CallOptions& options = call.options;
  const Algorithm* algorithm = nullptr;
  if (options.schedule == nullptr && options.algorithm.empty()) {
    const Bytes total(call.total() * SizeOf(call.in.dtype));
    algorithm = &ChooseAlgorithm(call.op, links_.size(), total, !call.reduce.commutes());
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
    if (entry->key != key || entry->root != root) continue;
    CHORUS_RETURN_IF_ERROR(CheckOrder(call, *entry));
    return entry.get();
  }
  const Schedule schedule = algorithm != nullptr ? algorithm->Build() : *options.schedule;
  auto entry = std::make_unique<Entry>();
  entry->key = key;
  entry->root = root;
  entry->order = schedule.order();
  CHORUS_ASSIGN_OR_RETURN(entry->plan, Lower(schedule, links_.size(), links_.rank(), root));
  CHORUS_RETURN_IF_ERROR(CheckPlan(entry->plan, schedule));
  if (HasOwners(call.op)) {
    CHORUS_ASSIGN_OR_RETURN(entry->owners, Owners(schedule, links_.size(), root));
  }
  entry->executor = std::make_unique<Executor>(&entry->plan, &links_, &scratch_, kernels_);
  entries_.push_back(std::move(entry));
  CHORUS_RETURN_IF_ERROR(CheckOrder(call, *entries_.back()));
  return entries_.back().get();
}

void PlanCache::BindBlocks(const Call& call, const Entry& entry, Binding& binding) {
  const auto blocks = static_cast<std::size_t>(entry.plan.frame.blocks);
  binding.block_elements.resize(blocks);
  binding.block_offsets.resize(blocks);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    // The i-th piece of the buffer: rank i's where ranks own blocks, else block i.
    const std::size_t b = entry.owners.empty() ? i : static_cast<std::size_t>(entry.owners[i]);
    const Block piece =
        SplitEvenly(call.total(), entry.plan.frame.blocks, static_cast<std::int64_t>(i));
    binding.block_elements[b] = call.has_counts ? call.counts[i] : piece.size;
    binding.block_offsets[b] = offset;
    offset += binding.block_elements[b];
  }
}

}  // namespace chorus
