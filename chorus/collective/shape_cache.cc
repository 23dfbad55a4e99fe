#include "chorus/collective/shape_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "chorus/kernel/convert.h"
#include "chorus/probe/processor.h"
#include "chorus/run/lane_executor.h"
#include "chorus/run/mapped_executor.h"
#include "chorus/run/stage_executor.h"
#include "chorus/transport/stage.h"

namespace chorus {
namespace {

constexpr std::size_t kShapes = 64;

// Bytes of a block that one tile takes: partial sums stay in the second-level cache, and a channel
// holds a few tiles, so that ranks work on different ones at a time.
constexpr std::int64_t kTileBytes = std::int64_t{64} << 10;

// From here on ranks tell each other where their buffers are: what that costs, a line each way, is
// then less than what a copy saves.
constexpr std::int64_t kLeastMapped = std::int64_t{2} << 10;

// Where data flows one way, a rank that sends through lanes need not wait for those that receive:
// lanes are right for all that they can carry, and what mapped buffers save begins later.
constexpr std::int64_t kLeastMappedRooted = std::int64_t{8} << 10;

// Of other operations, larger messages between buffers that are not mapped pass through stages,
// tile by tile: a lane for every pair of ranks would move more lines.
constexpr std::int64_t kMostInLane = std::int64_t{1} << 10;
// Looking at the clock twice costs calls so large nothing.
constexpr std::int64_t kLarge = std::int64_t{64} << 10;

// From here on reading the buffers of other processes through the kernel is faster than stages, by
// a tenth to a third, where every rank reads and no byte is read twice. A root that reads alone, or
// a buffer that all read, is slower than stages at every size.
constexpr std::int64_t kLeastPulled = std::int64_t{512} << 10;
bool IsFasterPulled(OpKind op) { return op == OpKind::kScatter || op == OpKind::kAllToAll; }

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

// Elements of each part of a packed call; empty for another.
std::vector<std::int64_t> PartCounts(const Call& call) {
  std::vector<std::int64_t> counts;
  if (call.packed == nullptr) return counts;
  for (const PackedPart& part : *call.packed) counts.push_back(part.count);
  return counts;
}

bool HasParts(const CallShape& shape, const Call& call) {
  if (call.packed == nullptr) return shape.part_counts.empty();
  return std::equal(shape.part_counts.begin(), shape.part_counts.end(), call.packed->begin(),
                    call.packed->end(),
                    [](std::int64_t count, const PackedPart& part) { return count == part.count; });
}

}  // namespace

bool CallShape::IsOf(const Call& other) const {
  return call.op == other.op && call.in.count == other.in.count &&
         call.out.count == other.out.count && call.in.dtype == other.in.dtype &&
         call.out.dtype == other.out.dtype && call.root == other.root &&
         call.reduce.IsAs(other.reduce) && call.agreement == other.agreement &&
         call.is_persistent == other.is_persistent && call.has_counts == other.has_counts &&
         call.schedule == other.schedule && call.algorithm.size() == other.algorithm.size() &&
         (other.algorithm.empty() || call.algorithm == other.algorithm) &&
         (!other.has_counts || (std::ranges::equal(call.counts, other.counts) &&
                                std::ranges::equal(call.recv_counts, other.recv_counts))) &&
         HasParts(*this, other);
}

bool CallShape::HasPlainMemory(const Call& other) const {
  const auto in = reinterpret_cast<std::uintptr_t>(other.in.data);
  const auto out = reinterpret_cast<std::uintptr_t>(other.out.data);
  if ((in == 0 && in_bytes > 0) || (out == 0 && out_bytes > 0)) return false;
  if (in_bytes == 0 || out_bytes == 0) return true;
  if (in == out) return may_be_in_place;
  return in + static_cast<std::uintptr_t>(in_bytes) <= out ||
         out + static_cast<std::uintptr_t>(out_bytes) <= in;
}

std::uint64_t Fingerprint(const Call& call, const LoweredPlan& plan) {
  std::uint64_t hash = Mix(PackCall(call), plan.schedule_hash);
  if (Reduces(call.op)) hash = Mix(hash, call.reduce.Hash());
  if (call.CountsArePrivate()) return hash;
  hash = Mix(hash, static_cast<std::uint64_t>(call.total()));
  for (const std::int64_t count : call.counts) hash = Mix(hash, static_cast<std::uint64_t>(count));
  for (const std::int64_t count : PartCounts(call)) {
    hash = Mix(hash, static_cast<std::uint64_t>(count));
  }
  return hash;
}

std::uint64_t Chain(std::uint64_t history, std::uint64_t fingerprint) {
  return Mix(history, fingerprint);
}

// Between ranks with a core each, nobody but the reader's core has use for what a rank puts into
// its stage; but of all_reduce results come back in the same lines.
bool ShapeCache::StreamsFills(OpKind op) const {
  return IsAmd() && op != OpKind::kAllReduce && links_.size() <= transport_.cores();
}

Result<std::shared_ptr<CallShape>> ShapeCache::For(const Call& call) {
  for (const std::shared_ptr<CallShape>& shape : shapes_) {
    if (shape->IsOf(call)) return shape;
  }
  CHORUS_ASSIGN_OR_RETURN(PlanCache::Entry* const plan, plans_.For(call));
  std::shared_ptr<CallShape> shape = Make(call, plan, /*mapped=*/true);
  if (shapes_.size() < kShapes) {
    shapes_.push_back(shape);
  } else {
    shapes_[oldest_++ % kShapes] = shape;
  }
  return shape;
}

Result<std::shared_ptr<CallShape>> ShapeCache::MakeFor(const Call& call, bool mapped) {
  CHORUS_ASSIGN_OR_RETURN(PlanCache::Entry* const plan, plans_.For(call));
  return Make(call, plan, mapped);
}

Result<std::uint64_t> ShapeCache::FingerprintOf(const Call& call) {
  CHORUS_ASSIGN_OR_RETURN(PlanCache::Entry* const plan, plans_.For(call));
  return Fingerprint(call, plan->plan);
}

bool ShapeCache::AddsInRankOrder(const Call& call) {
  const Result<PlanCache::Entry*> plan = plans_.For(call);
  return plan.ok() && (*plan)->adds_left_to_right;
}

std::shared_ptr<CallShape> ShapeCache::Make(const Call& call, PlanCache::Entry* plan, bool mapped) {
  auto shape = std::make_shared<CallShape>();
  shape->counts.assign(call.counts.begin(), call.counts.end());
  shape->recv_counts.assign(call.recv_counts.begin(), call.recv_counts.end());
  shape->algorithm = call.algorithm;
  shape->call = call;
  shape->call.counts = shape->counts;
  shape->call.recv_counts = shape->recv_counts;
  shape->call.algorithm = shape->algorithm;
  shape->call.in.data = shape->call.out.data = nullptr;
  shape->call.packed.reset();
  shape->part_counts = PartCounts(call);
  const std::int64_t element = SizeOf(call.in.dtype);
  if (UsesIn(call, links_.rank())) shape->in_bytes = call.in.count * element;
  if (UsesOut(call, links_.rank())) shape->out_bytes = call.out.count * element;
  shape->may_be_in_place = !HasOwners(call.op);
  shape->plan = plan;
  Binding& binding = shape->binding;
  PlanCache::BindBlocks(call, *plan, binding);
  binding.dtype = call.in.dtype;
  binding.reduction = call.reduce;
  // Ranks that know different blocks would cut tiles differently: then a block is one tile.
  if (!call.CountsArePrivate()) binding.tile_elements = kTileBytes / SizeOf(call.in.dtype);
  binding.fingerprint = Fingerprint(call, plan->plan);
  shape->record.what = PackCall(call);
  shape->record.count = call.total();
  shape->record.state = CallRecord::State::kRunning;
  shape->record.fingerprint = binding.fingerprint;

  const std::int64_t message =
      plan->messages.chunks * binding.LargestBlock() * SizeOf(AccumulatorOf(binding.dtype));
  const auto lanes = [&](unsigned first_phase) {
    const bool fits =
        ways_.lanes && !call.CountsArePrivate() && message <= links_.lane_bytes() &&
        plan->messages.per_pair + first_phase <= static_cast<std::int64_t>(LaneMemory::kPhases);
    if (!fits) return false;
    shape->own.push_back(std::make_unique<LaneExecutor>(&plan->plan, &binding, &links_, &scratch_,
                                                        kernels_, first_phase));
    return true;
  };
  const std::int64_t bytes = call.total() * SizeOf(binding.dtype);
  const bool may_be_mapped = ways_.mapped && links_.lane_bytes() > 0 && plan->mapped.has_value() &&
                             !call.CountsArePrivate() &&
                             bytes >= (HasRoot(call.op) ? kLeastMappedRooted : kLeastMapped);
  const bool is_small = !mapped && message <= kMostInLane;
  std::string_view way = "channels";
  if ((is_small || !may_be_mapped) && lanes(0)) {
    shape->executor = shape->own.back().get();
    way = "lanes";
  } else if (may_be_mapped) {
    const bool pulls = ways_.pulled && plan->pulled.has_value() && IsFasterPulled(call.op) &&
                       bytes >= kLeastPulled;
    const MappedPlan* const pulled = pulls ? &*plan->pulled : nullptr;
    Executor* otherwise = plan->executor.get();
    const bool has_stages =
        ways_.staged && StageExecutor::Fits(*plan->staged, binding, links_.stage(0).half_bytes);
    way = "mapped or channels";
    if ((message <= kMostInLane || HasRoot(call.op) || !has_stages) &&
        lanes(MappedExecutor::kPhases)) {
      otherwise = shape->own.back().get();
      way = "mapped or lanes";
    } else if (has_stages) {
      shape->own.push_back(std::make_unique<StageExecutor>(&*plan->staged, &binding, &links_,
                                                           kernels_, StreamsFills(call.op)));
      otherwise = shape->own.back().get();
      way = "mapped or stages";
    }
    shape->own.push_back(std::make_unique<MappedExecutor>(&*plan->mapped, pulled, &binding, &links_,
                                                          &transport_, kernels_, otherwise));
    shape->executor = shape->own.back().get();
  } else {
    shape->executor = plan->executor.get();
  }
  shape->is_large = bytes >= kLarge;
  shape->record.label = links_.Label(fmt::format("{}, {}", plan->plan.algorithm, way));
  return shape;
}

}  // namespace chorus
