#include "chorus/run/staged_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace chorus {
namespace {

// Goes through the works of all ranks, so that every rank gives slots of all stages alike.
class Stager {
 public:
  Stager(const MappedWorks& works, std::int64_t rank)
      : next_slot_(static_cast<std::size_t>(works.group_size), 0) {
    plan_.op = works.op;
    plan_.group_size = works.group_size;
    plan_.rank = rank;
  }

  StagedPlan Run(const std::vector<MappedWork>& works) {
    for (const MappedWork& work : works) {
      for (const MappedPlace& source : work.sources) {
        if (source.rank != work.owner) ++owners_[KeyOf(source)];
      }
    }
    for (const MappedWork& work : works) Add(work);
    plan_.slots = *std::max_element(next_slot_.begin(), next_slot_.end());
    return std::move(plan_);
  }

 private:
  using Key = std::tuple<std::int64_t, BufferKind, std::int64_t>;  // rank, buffer, block

  static Key KeyOf(const MappedPlace& place) { return {place.rank, place.buffer, place.block}; }
  bool IsHere(std::int64_t rank) const { return rank == plan_.rank; }

  void Add(const MappedWork& work) {
    const std::int64_t block = work.sources[0].block;
    const bool is_local =
        std::all_of(work.sources.begin(), work.sources.end(),
                    [&](const MappedPlace& place) { return place.rank == work.owner; });
    const StagePhase phase = is_local ? StagePhase::kFill : StagePhase::kWork;
    StagedPass pass;
    pass.block = block;
    pass.finish = work.finish;
    for (const MappedPlace& source : work.sources) {
      pass.sources.push_back(source.rank == work.owner ? Own(source) : Filled(source, work.owner));
    }
    const StagedPlace slot = ResultSlot(work, pass, phase);
    for (const MappedPlace& to : work.destinations) {
      if (to.rank == work.owner) continue;
      Take(to, slot);
      if (IsHere(work.owner)) plan_.sent.push_back(block);
    }
    if (!IsHere(work.owner)) return;
    if (slot.is_staged()) pass.destinations.push_back(slot);
    for (const MappedPlace& to : work.destinations) {
      if (to.rank == work.owner) pass.destinations.push_back(Own(to));
    }
    (is_local ? plan_.fills : plan_.works).push_back(std::move(pass));
  }

  // Where the owner puts what it computes for others; not staged if it is for itself alone.
  StagedPlace ResultSlot(const MappedWork& work, const StagedPass& pass, StagePhase phase) {
    std::vector<std::int64_t> others;
    for (const MappedPlace& to : work.destinations) {
      if (to.rank != work.owner) others.push_back(to.rank);
    }
    if (others.empty()) return {};
    for (std::size_t i = 0; i < work.sources.size() && others.size() == 1; ++i) {
      if (work.sources[i].rank != others[0] || owners_[KeyOf(work.sources[i])] != 1) continue;
      StagedPlace slot = pass.sources[i];
      slot.scaled = false;
      slot.by = work.owner;
      slot.since = phase;
      return slot;
    }
    return NewSlot(work.owner, phase);
  }

  static StagedPlace Own(const MappedPlace& place) {
    StagedPlace own;
    own.rank = place.rank;
    own.buffer = place.buffer;
    own.scaled = place.scaled;
    return own;
  }

  StagedPlace NewSlot(std::int64_t rank, StagePhase since) {
    StagedPlace slot;
    slot.slot = next_slot_[static_cast<std::size_t>(rank)]++;
    slot.rank = slot.by = rank;
    slot.since = since;
    return slot;
  }

  // The slot by which `owner` reads an input of another rank; several owners share it.
  StagedPlace Filled(const MappedPlace& input, std::int64_t owner) {
    const Key key = KeyOf(input);
    auto found = filled_.find(key);
    if (found == filled_.end()) {
      found = filled_.emplace(key, NewSlot(input.rank, StagePhase::kFill)).first;
      if (IsHere(input.rank)) {
        MappedPlace unscaled = input;
        unscaled.scaled = false;
        plan_.fills.push_back({input.block, {Own(unscaled)}, {found->second}, false});
      }
    }
    if (IsHere(input.rank)) {
      AddReader(plan_.fill_readers, {owner, StagePhase::kWork});
      plan_.sent.push_back(input.block);
    }
    StagedPlace slot = found->second;
    slot.scaled = input.scaled;
    return slot;
  }

  void Take(const MappedPlace& to, const StagedPlace& slot) {
    // Whoever fills the slot anew waits for this.
    if (IsHere(slot.rank)) {
      const bool is_filled = slot.since == StagePhase::kFill || slot.by != slot.rank;
      AddReader(is_filled ? plan_.fill_readers : plan_.work_readers, {to.rank, StagePhase::kTake});
    }
    if (IsHere(to.rank)) plan_.takes.push_back({to.block, {slot}, {Own(to)}, false});
  }

  static void AddReader(std::vector<StagedPlan::Reader>& readers,
                        const StagedPlan::Reader& reader) {
    if (std::find(readers.begin(), readers.end(), reader) == readers.end()) {
      readers.push_back(reader);
    }
  }

  StagedPlan plan_;
  std::vector<std::int64_t> next_slot_;  // by rank
  std::map<Key, std::int64_t> owners_;   // of works of other ranks that read the input
  std::map<Key, StagedPlace> filled_;
};

std::string Text(const StagedPlace& place, std::int64_t block, std::int64_t rank) {
  const std::string scaled = place.scaled ? "scaled " : "";
  if (!place.is_staged()) return fmt::format("{}{}[{}]", scaled, Name(place.buffer), block);
  if (place.rank == rank) return fmt::format("{}slot[{}]", scaled, place.slot);
  return fmt::format("{}{}@slot[{}]", scaled, place.rank, place.slot);
}

std::string Text(const std::vector<StagedPlace>& places, std::string_view between,
                 std::int64_t block, std::int64_t rank) {
  std::string text;
  for (const StagedPlace& place : places) {
    if (!text.empty()) text += between;
    text += Text(place, block, rank);
  }
  return text;
}

}  // namespace

std::string StagedPass::ToString(std::int64_t rank) const {
  return fmt::format("{} = {}{}", Text(destinations, ", ", block, rank),
                     Text(sources, " op ", block, rank), finish ? "; finish" : "");
}

std::string StagedPlan::ToString() const {
  std::string text =
      fmt::format("staged {} rank {} of {}, {} slots\n", Name(op), rank, group_size, slots);
  for (const StagedPass& pass : fills) text += fmt::format("fill {}\n", pass.ToString(rank));
  for (const StagedPass& pass : works) text += fmt::format("work {}\n", pass.ToString(rank));
  for (const StagedPass& pass : takes) text += fmt::format("take {}\n", pass.ToString(rank));
  return text;
}

StagedPlan LowerStaged(const MappedWorks& works, std::int64_t rank) {
  return Stager(works, rank).Run(works.all);
}

}  // namespace chorus
