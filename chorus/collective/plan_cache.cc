#include "chorus/collective/plan_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chorus/algorithm/algorithm.h"
#include "chorus/mesh/spec.h"
#include "chorus/run/channel_executor.h"
#include "chorus/run/lower.h"
#include "chorus/run/validate.h"
#include "chorus/schedule/expansion.h"
#include "chorus/schedule/schedule.h"
#include "chorus/schedule/sum_order.h"

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

// Whether a rank handles blocks that are neither its own nor, as the root, given by it or to it.
bool MeetsForeignBlocks(const Expansion& e) {
  for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Member member{e.op, e.group_size, e.root, rank, e.frames[r].own};
    for (const Step& step : e.ranks[r]) {
      for (const Chunk& chunk : step.chunks) {
        if (!InHolds(member, chunk.block) && !OutHolds(member, chunk.block)) return true;
      }
    }
  }
  return false;
}

PlanCache::Messages MessagesOf(const Expansion& expansion) {
  PlanCache::Messages messages;
  for (const std::vector<Step>& steps : expansion.ranks) {
    std::vector<std::int64_t> sent(static_cast<std::size_t>(expansion.group_size), 0);
    for (const Step& step : steps) {
      if (step.verb != Verb::kSend) continue;
      std::int64_t& to_peer = sent[static_cast<std::size_t>(step.peer)];
      messages.per_pair = std::max(messages.per_pair, ++to_peer);
      messages.chunks = std::max(messages.chunks, std::ssize(step.chunks));
    }
  }
  return messages;
}

}  // namespace

std::string_view PlanCache::NameFor(const Call& call) const {
  if (call.schedule != nullptr) return "";
  if (!call.algorithm.empty()) return call.algorithm;
  if (call.CountsArePrivate()) return AlgorithmForPrivateCounts(call.op).name;
  const Bytes total(call.total() * SizeOf(call.in.dtype));
  return choices_.Choose(call.op, links_.size(), total, !call.reduce.commutes()).name;
}

Result<PlanCache::Entry*> PlanCache::For(const Call& call) {
  const Schedule* const given = call.schedule;
  if (given != nullptr && given->op() != call.op) {
    return InvalidArgument(fmt::format("{}: the schedule given, {}, is one of {}", Name(call.op),
                                       given->name(), Name(given->op())));
  }
  const std::string_view name = NameFor(call);
  const std::int64_t root = HasRoot(call.op) ? call.root : 0;
  for (const auto& entry : entries_) {
    if (entry->plan.op != call.op || entry->root != root) continue;
    if (entry->schedule == given && entry->algorithm == name) return Checked(call, entry.get());
  }
  std::shared_ptr<const Algorithm> algorithm;
  if (given == nullptr) {
    CHORUS_ASSIGN_OR_RETURN(algorithm, FindAlgorithm(name, call.op));
    CHORUS_RETURN_IF_ERROR(algorithm->Fits(links_.size()).WithContext(Name(call.op)));
  }
  const Schedule schedule = given != nullptr ? *given : algorithm->Build();
  auto entry = std::make_unique<Entry>();
  entry->algorithm = name;
  entry->schedule = given;
  entry->root = root;
  entry->order = schedule.order();
  CHORUS_ASSIGN_OR_RETURN(entry->plan, Lower(schedule, links_.size(), links_.rank(), root));
  CHORUS_RETURN_IF_ERROR(CheckPlan(entry->plan, schedule));
  if (HasOwners(call.op)) {
    CHORUS_ASSIGN_OR_RETURN(entry->owners, Owners(schedule, links_.size(), root));
  }
  CHORUS_ASSIGN_OR_RETURN(const Expansion expansion, Expand(schedule, links_.size(), root));
  if (call.op == OpKind::kGather || call.op == OpKind::kScatter || call.op == OpKind::kAllToAll) {
    entry->meets_foreign_blocks = MeetsForeignBlocks(expansion);
  }
  entry->messages = MessagesOf(expansion);
  entry->adds_left_to_right = AddsLeftToRight(expansion);
  if (call.op != OpKind::kBarrier) {
    if (const std::optional<MappedWorks> works = WorksOf(expansion)) {
      entry->mapped = LowerMapped(*works, links_.rank());
      entry->pulled = LowerPulled(*works, links_.rank());
      entry->staged = LowerStaged(*works, links_.rank());
    }
  }
  entry->executor = std::make_unique<ChannelExecutor>(&entry->plan, &links_, &scratch_, kernels_);
  entries_.push_back(std::move(entry));
  return Checked(call, entries_.back().get());
}

Result<PlanCache::Entry*> PlanCache::Checked(const Call& call, Entry* entry) {
  CHORUS_RETURN_IF_ERROR(CheckOrder(call, *entry));
  if (!call.CountsArePrivate() || !entry->meets_foreign_blocks) return entry;
  return Unsupported(
      fmt::format("{}: {} passes blocks through other ranks, which do not know their sizes; {} "
                  "does not",
                  NameOf(call), entry->plan.algorithm, AlgorithmForPrivateCounts(call.op).name));
}

void PlanCache::BindBlocks(const Call& call, const Entry& entry, Binding& binding) {
  const auto blocks = static_cast<std::size_t>(entry.plan.frame.blocks);
  binding.block_elements.assign(blocks, 0);
  binding.in_offsets.assign(blocks, 0);
  binding.out_offsets.assign(blocks, 0);
  if (call.op == OpKind::kAllToAll) {
    BindPairs(call, entry.plan, binding);
    return;
  }
  const auto rank = static_cast<std::size_t>(entry.plan.rank);
  const bool in_is_share = call.op == OpKind::kAllGather || call.op == OpKind::kGather;
  const bool out_is_share = call.op == OpKind::kReduceScatter || call.op == OpKind::kScatter;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    // The i-th piece of the buffer: rank i's where ranks own blocks, else block i.
    const std::size_t b = entry.owners.empty() ? i : static_cast<std::size_t>(entry.owners[i]);
    std::int64_t elements = 0;
    if (!call.has_counts) {
      elements =
          SplitEvenly(call.total(), entry.plan.frame.blocks, static_cast<std::int64_t>(i)).size;
    } else if (!call.counts.empty()) {
      elements = call.counts[i];
    } else if (i == rank) {
      elements = call.total();  // gather_v and scatter_v elsewhere than on the root
    }
    binding.block_elements[b] = elements;
    if (!in_is_share) binding.in_offsets[b] = offset;
    if (!out_is_share) binding.out_offsets[b] = offset;
    offset += elements;
  }
}

// Row `rank` of the blocks is in `in`, column `rank` in `out`. Where all blocks are alike, those of
// other ranks, which may pass through this one, are known too.
void PlanCache::BindPairs(const Call& call, const LoweredPlan& plan, Binding& binding) {
  const auto n = static_cast<std::size_t>(plan.group_size);
  const auto rank = static_cast<std::size_t>(plan.rank);
  if (!call.has_counts) {
    binding.block_elements.assign(n * n, call.in.count / plan.group_size);
  }
  std::int64_t in_offset = 0;
  std::int64_t out_offset = 0;
  for (std::size_t peer = 0; peer < n; ++peer) {
    const std::size_t to = rank * n + peer;
    const std::size_t from = peer * n + rank;
    if (call.has_counts) {
      binding.block_elements[to] = call.counts[peer];
      binding.block_elements[from] = call.recv_counts[peer];
    }
    binding.in_offsets[to] = std::exchange(in_offset, in_offset + binding.block_elements[to]);
    binding.out_offsets[from] =
        std::exchange(out_offset, out_offset + binding.block_elements[from]);
  }
}

}  // namespace chorus
