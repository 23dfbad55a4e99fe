#include "chorus/run/stage_executor.h"

#include <algorithm>
#include <limits>

#include "chorus/run/agreement.h"
#include "chorus/run/block_start.h"

namespace chorus {
namespace {

// Tiles in flight.
constexpr std::int64_t kDepth = 4;
// Of a slot. Some slots of a few tiles stay in the second-level cache, and what ranks show each
// other tile by tile, some 100 ns, is little beside it.
constexpr std::int64_t kMostSlotBytes = std::int64_t{32} << 10;
// A smaller block is still cut into tiles, that ranks can work on one while the next is filled.
constexpr std::int64_t kTilesOfBlock = 2;
constexpr std::int64_t kFewestSlotBytes = std::int64_t{16} << 10;
constexpr std::int64_t kLine = 64;

}  // namespace

// Whole lines of elements; 0 if there is not even room for one.
std::int64_t StageExecutor::TileElements(const StagedPlan& plan, const Binding& binding,
                                         std::int64_t half_bytes) {
  const std::int64_t room = half_bytes / kDepth / std::max<std::int64_t>(plan.slots, 1);
  const std::int64_t size = SizeOf(binding.dtype);
  const std::int64_t part = binding.LargestBlock() * size / kTilesOfBlock;
  const std::int64_t bytes = std::min(std::clamp(part, kFewestSlotBytes, kMostSlotBytes), room);
  return bytes / kLine * kLine / size;
}

bool StageExecutor::Fits(const StagedPlan& plan, const Binding& binding, std::int64_t half_bytes) {
  const std::int64_t tile = TileElements(plan, binding, half_bytes);
  return tile > 0 && binding.LargestBlock() / tile < StageWords::kMostTiles;
}

StageExecutor::StageExecutor(const StagedPlan* plan, const Binding* binding, Links* links,
                             KernelSet kernels, bool streams_fills)
    : Executor(plan->group_size),
      plan_(*plan),
      binding_(*binding),
      links_(*links),
      kernels_(kernels),
      streams_fills_(streams_fills),
      halves_(static_cast<std::size_t>(plan->group_size)),
      heard_(halves_.size()),
      seen_(halves_.size()) {
  for (int rank = 0; rank < links_.size(); ++rank) stages_.push_back(links_.stage(rank));
  tile_elements_ = TileElements(plan_, binding_, stages_[0].half_bytes);
  slot_bytes_ = tile_elements_ * SizeOf(binding_.dtype);
  const std::int64_t largest = binding_.LargestBlock();
  tile_count_ = std::max<std::int64_t>((largest + tile_elements_ - 1) / tile_elements_, 1);
  const std::vector<StagedPass>* const passes[] = {&plan_.fills, &plan_.works, &plan_.takes};
  for (std::size_t i = 0; i < kStagePhases; ++i) AddPasses(phases_[i], *passes[i]);
  const auto add_readers = [](Phase& phase, const std::vector<StagedPlan::Reader>& readers) {
    for (const StagedPlan::Reader& reader : readers) {
      phase.needs.push_back({static_cast<std::size_t>(reader.rank), reader.phase, kDepth});
    }
  };
  add_readers(phases_[0], plan_.fill_readers);
  add_readers(phases_[1], plan_.work_readers);
}

StageExecutor::Place StageExecutor::PlaceOf(const StagedPlace& from, std::int64_t block) const {
  Place place;
  place.is_staged = from.is_staged();
  place.is_in = from.buffer == BufferKind::kIn;
  place.scaled = from.scaled;
  place.rank = static_cast<std::size_t>(from.rank);
  place.offset = from.is_staged()
                     ? from.slot * slot_bytes_
                     : BlockStart(from.buffer, block, binding_) * SizeOf(binding_.dtype);
  return place;
}

void StageExecutor::AddPasses(Phase& phase, const std::vector<StagedPass>& passes) {
  std::int64_t stored = 0;
  for (const StagedPass& from : passes) {
    Pass pass;
    pass.elements = binding_.block_elements[static_cast<std::size_t>(from.block)];
    pass.finish = from.finish;
    for (const StagedPlace& source : from.sources) {
      pass.sources.push_back(PlaceOf(source, from.block));
      if (!source.is_staged()) continue;
      if (source.by != plan_.rank) {
        taken_.push_back({source.by, pass.elements * SizeOf(binding_.dtype)});
      }
      const Need need{static_cast<std::size_t>(source.by), source.since, 0};
      if (std::find(phase.needs.begin(), phase.needs.end(), need) == phase.needs.end()) {
        phase.needs.push_back(need);
      }
    }
    for (const StagedPlace& to : from.destinations) {
      pass.destinations.push_back(PlaceOf(to, from.block));
      if (to.is_staged()) continue;
      ++pass.own;
      stored += pass.elements * SizeOf(binding_.dtype);
    }
    sources_.resize(std::max(sources_.size(), pass.sources.size()));
    destinations_.resize(std::max(destinations_.size(), pass.destinations.size()));
    phase.passes.push_back(std::move(pass));
  }
  streams_ = streams_ || stored >= kLeastStreamed;
}

void StageExecutor::Start(const Binding& /*binding*/, const CallMemory& memory) {
  memory_ = memory;
  trouble_.reset();
  tiles_left_ = 0;
  for (Phase& phase : phases_) {
    phase.tiles = phase.passes.empty() ? tile_count_ : 0;
    tiles_left_ += tile_count_ - phase.tiles;
  }
  for (std::size_t rank = 0; rank < stages_.size(); ++rank) {
    halves_[rank] = stages_[rank].DataOf(memory.sequence);
    heard_[rank] = rank == static_cast<std::size_t>(plan_.rank);
    seen_[rank] = {};
  }
}

Executor::Progress StageExecutor::Advance() {
  std::int64_t stored = 0;
  int looks = 0;
  int patience = 0;
  bool moved = false;
  while (tiles_left_ > 0) {
    const auto next = FirstPhase([this](const Phase& phase) { return CanPass(phase); });
    if (!next.has_value()) {
      if (trouble_.has_value()) return Progress::kTrouble;
      if (looks == 0) patience = Looks();
      if (++looks < patience) continue;
      return moved ? Progress::kMoved : Progress::kBlocked;
    }
    if (stored >= kBytesOfTurn) return Progress::kMoved;
    stored += PassTile(*next);
    looks = 0;
    moved = true;
  }
  return Progress::kDone;
}

template <typename Test>
std::optional<StagePhase> StageExecutor::FirstPhase(Test test) {
  for (std::size_t i = kStagePhases; i-- > 0;) {
    const Phase& phase = phases_[i];
    const std::int64_t end = i > 0 ? phases_[i - 1].tiles : tile_count_;
    if (phase.tiles < end && test(phase)) return static_cast<StagePhase>(i);
  }
  return std::nullopt;
}

bool StageExecutor::CanPass(const Phase& phase) {
  for (const Need& need : phase.needs) {
    std::int64_t& seen = seen_[need.rank][static_cast<std::size_t>(need.phase)];
    if (seen > phase.tiles - need.lag) continue;
    if (!heard_[need.rank] && !IsHeard(need.rank)) return false;
    seen = stages_[need.rank].WordsOf(memory_.sequence).Tiles(need.phase, memory_.sequence);
    if (seen <= phase.tiles - need.lag) return false;
  }
  return true;
}

bool StageExecutor::IsHeard(std::size_t peer) {
  const LaneLine* const line = AgreedLine(links_, static_cast<int>(peer), 0, memory_, trouble_);
  heard_[peer] = line != nullptr;
  return line != nullptr;
}

std::byte* StageExecutor::At(const Place& place, std::int64_t tile) const {
  if (place.is_staged) {
    return halves_[place.rank] + tile % kDepth * plan_.slots * slot_bytes_ + place.offset;
  }
  // `in` is only ever read.
  auto* const base =
      static_cast<std::byte*>(place.is_in ? const_cast<void*>(memory_.in) : memory_.out);
  return base + place.offset + tile * slot_bytes_;
}

std::int64_t StageExecutor::PassTile(StagePhase which) {
  Phase& phase = phases_[static_cast<std::size_t>(which)];
  std::int64_t stored = 0;
  for (const Pass& pass : phase.passes) {
    const std::int64_t count =
        std::min(pass.elements - phase.tiles * tile_elements_, tile_elements_);
    if (count <= 0) continue;
    for (std::size_t s = 0; s < pass.sources.size(); ++s) {
      sources_[s] = {At(pass.sources[s], phase.tiles), binding_.dtype, pass.sources[s].scaled};
    }
    const auto sources = std::span(sources_).first(pass.sources.size());
    std::size_t stores = 0;
    std::size_t own = pass.own;
    for (const Place& to : pass.destinations) {
      std::byte* const place = At(to, phase.tiles);
      if (binding_.IsThere(sources, place)) {
        --own;
      } else {
        destinations_[stores++] = place;
      }
    }
    if (stores == 0) continue;
    ReduceArgs args = binding_.Args(pass.finish, plan_.group_size);
    args.sources = sources;
    args.dsts = std::span(destinations_).first(stores);
    args.dst_dtype = binding_.dtype;
    args.count = count;
    args.streamed = streams_ ? own : 0;
    if (which == StagePhase::kFill && streams_fills_) args.streamed = stores;
    chorus::Reduce(kernels_, args);
    stored += count * SizeOf(binding_.dtype) * static_cast<std::int64_t>(stores);
  }
  ++phase.tiles;
  if (!phase.needs.empty()) {  // then someone waits for it
    stages_[static_cast<std::size_t>(plan_.rank)]
        .WordsOf(memory_.sequence)
        .Show(which, memory_.sequence, phase.tiles);
    links_.PostsAreOut();
    links_.RingAll();
  }
  if (--tiles_left_ == 0) CountSent();
  return stored;
}

void StageExecutor::CountSent() {
  for (const Taken& each : taken_) {
    links_.Moved(static_cast<int>(each.from), static_cast<int>(plan_.rank), each.bytes);
  }
  for (const std::int64_t block : plan_.sent) {
    const std::int64_t elements = binding_.block_elements[static_cast<std::size_t>(block)];
    links_.CountSent(elements * SizeOf(binding_.dtype), 1);
  }
}

// As few as for any rank that some tile waits for.
int StageExecutor::Looks() {
  int looks = std::numeric_limits<int>::max();
  FirstPhase([&](const Phase& phase) {
    for (const Need& need : phase.needs) {
      const bool is_own = need.rank == static_cast<std::size_t>(plan_.rank);
      const std::int64_t seen = seen_[need.rank][static_cast<std::size_t>(need.phase)];
      if (is_own || seen > phase.tiles - need.lag) continue;
      looks = std::min(looks, links_.Looks(static_cast<int>(need.rank)));
    }
    return false;
  });
  return looks;
}

const std::vector<Executor::Wait>& StageExecutor::Waits() {
  waits_.clear();
  const auto waits_for_none = [&](const Phase& phase) {
    bool none = true;
    for (const Need& need : phase.needs) {
      const std::int64_t seen =
          stages_[need.rank].WordsOf(memory_.sequence).Tiles(need.phase, memory_.sequence);
      if (seen > phase.tiles - need.lag) continue;
      none = false;
      const Wait wait{static_cast<int>(need.rank), need.lag > 0};
      const bool known = std::any_of(waits_.begin(), waits_.end(), [&](const Wait& other) {
        return other.peer == wait.peer && other.sending == wait.sending;
      });
      if (!known) waits_.push_back(wait);
    }
    return none;
  };
  if (FirstPhase(waits_for_none).has_value()) waits_.clear();
  return waits_;
}

}  // namespace chorus
