#include "chorus/cost/simulate/skeleton.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <unordered_map>

#include "chorus/base/random.h"
#include "chorus/cost/simulate/symmetry.h"

namespace chorus {
namespace {

// What the pieces of a block are: {1} without tiles; the last one may be smaller.
Result<std::vector<double>> TileShares(const Payload& payload, double block) {
  constexpr double kMostTiles = 1 << 20;
  if (payload.tile_bytes <= 0 || block <= payload.tile_bytes) return std::vector<double>{1};
  if (block / payload.tile_bytes > kMostTiles) {
    return InvalidArgument(fmt::format(
        "a block of {:.0f} B in tiles of {:g} B is {:.0f} tiles; give tiles of {:.0f} B or more",
        block, payload.tile_bytes, std::ceil(block / payload.tile_bytes),
        std::ceil(block / kMostTiles)));
  }
  const auto whole = static_cast<std::int64_t>(block / payload.tile_bytes);
  std::vector<double> shares(whole, payload.tile_bytes / block);
  const double rest = block - static_cast<double>(whole) * payload.tile_bytes;
  if (rest > 0) shares.push_back(rest / block);
  return shares;
}

class ClassBuilder {
 public:
  ClassBuilder(const Payload& payload, double even_block, std::int64_t group_size)
      : payload_(payload), even_block_(even_block), group_size_(group_size) {}

  Skeleton Build(std::int64_t rank, const std::vector<Step>& steps) {
    Skeleton s;
    s.steps.reserve(steps.size());
    std::unordered_map<std::int64_t, std::int32_t> channels;
    for (const Step& step : steps) {
      SkeletonStep& out = s.steps.emplace_back();
      out.verb = step.verb;
      out.weight = Weight(step);
      out.after_begin = static_cast<std::int32_t>(s.after.size());
      for (std::int64_t before : step.after) s.after.push_back(static_cast<std::int32_t>(before));
      out.after_end = static_cast<std::int32_t>(s.after.size());
      if (!step.IsMessage()) continue;
      const std::int64_t displacement = (step.peer - rank + group_size_) % group_size_;
      const auto [found, is_new] =
          channels.emplace(displacement, static_cast<std::int32_t>(s.displacements.size()));
      if (is_new) s.displacements.push_back(displacement);
      out.channel = found->second;
      out.message = step.message;
    }
    AddDependents(s);
    AddNeighbours(s);
    return s;
  }

 private:
  double Weight(const Step& step) const {
    double bytes = 0;
    // What is moved or written: all chunks of a message, the result of a local step.
    const std::size_t count = step.IsMessage() ? step.chunks.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      const Chunk& chunk = step.chunks[i];
      const double block =
          payload_.block_bytes.empty() ? even_block_ : payload_.block_bytes[chunk.block];
      bytes += block * (HoldsAccumulators(chunk.buffer) ? payload_.accumulator_ratio : 1);
    }
    return bytes;
  }

  static void AddDependents(Skeleton& s) {
    for (std::int32_t before : s.after) ++s.steps[before].dependent_end;  // counts first
    std::int32_t next = 0;
    for (SkeletonStep& step : s.steps) {
      step.dependent_begin = next;
      next += step.dependent_end;
      step.dependent_end = step.dependent_begin;
    }
    s.dependents.resize(s.after.size());
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      for (std::int32_t a = s.steps[i].after_begin; a < s.steps[i].after_end; ++a) {
        SkeletonStep& before = s.steps[s.after[a]];
        s.dependents[before.dependent_end++] = static_cast<std::int32_t>(i);
      }
    }
  }

  // Messages of one ordered pair: those of one verb and channel.
  static void AddNeighbours(Skeleton& s) {
    const auto count = static_cast<std::int32_t>(s.steps.size());
    for (const Verb verb : {Verb::kSend, Verb::kRecv}) {
      std::vector<std::int32_t> first(s.displacements.size(), -1), last = first;  // by channel
      for (std::int32_t i = 0; i < count; ++i) {
        SkeletonStep& step = s.steps[i];
        if (step.verb != verb) continue;
        std::int32_t& head = first[step.channel];
        std::int32_t& tail = last[step.channel];
        if (head < 0) head = tail = i;
        step.previous = tail;
        step.next = head;
        s.steps[tail].next = i;
        s.steps[head].previous = i;
        tail = i;
      }
    }
  }

  const Payload& payload_;
  double even_block_;
  std::int64_t group_size_;
};

// How much there is to simulate, told from a few ranks before all are expanded.
class Work {
 public:
  Work(const Schedule& schedule, std::int64_t group_size, std::int64_t root, std::int64_t most)
      : schedule_(schedule), group_size_(group_size), root_(root), most_(most) {}

  // Of `ranks` that are simulated, each like one of the first `classes`: these are held with all
  // that they name, those with their steps alone.
  Status Check(std::int64_t classes, std::int64_t ranks) const {
    const std::int64_t samples = std::min(classes, kSamples);
    const RandomStream random(1, "ranks looked at");
    const auto most = static_cast<double>(most_);
    const double share = 1 / static_cast<double>(samples);
    // Enough to tell alone that it is too much.
    const auto enough = static_cast<std::int64_t>(most / share / static_cast<double>(classes));
    double held = 0;
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto drawn = static_cast<std::int64_t>(
          random.Below(static_cast<std::uint64_t>(classes), static_cast<std::uint64_t>(i)));
      const std::int64_t rank = samples == classes ? i : drawn;
      const Result<std::vector<Step>> steps =
          schedule_.ForRank(group_size_, rank, root_, enough + 1);
      if (steps.status().code() == StatusCode::kResourceExhausted) return TooMuch(ranks);
      if (!steps.ok()) return steps.status();
      double named = 0;
      for (const Step& step : *steps) {
        named += static_cast<double>(step.chunks.size() + step.after.size());
      }
      held += share * (named * static_cast<double>(classes) +
                       static_cast<double>(steps->size()) * static_cast<double>(ranks));
    }
    return held <= most ? OkStatus() : TooMuch(ranks);
  }

 private:
  static constexpr std::int64_t kSamples = 16;

  Status TooMuch(std::int64_t ranks) const {
    return ResourceExhausted(fmt::format(
        "more than {} steps, chunks and dependencies are too many to simulate: {}", most_,
        ranks == group_size_
            ? "no symmetry joins the ranks here; take fewer ranks, or leave out what makes them "
              "differ"
            : "take fewer ranks"));
  }

  const Schedule& schedule_;
  std::int64_t group_size_;
  std::int64_t root_;
  std::int64_t most_;
};

// The messages of an ordered pair of ranks are listed alike by both: the j-th send of one end is
// the j-th recv of the other.
Status MatchMessages(SkeletonSet& set) {
  using Lane = std::pair<std::int64_t, std::int64_t>;  // sender's class, displacement to receiver
  std::map<Lane, std::vector<std::int32_t>> sends;
  for (std::int64_t c = 0; c < set.shift; ++c) {
    const Skeleton& s = set.classes[c];
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      if (s.steps[i].verb != Verb::kSend) continue;
      sends[{c, s.displacements[s.steps[i].channel]}].push_back(static_cast<std::int32_t>(i));
    }
  }
  std::map<Lane, std::size_t> taken;
  for (std::int64_t c = 0; c < set.shift; ++c) {
    Skeleton& s = set.classes[c];
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      SkeletonStep& recv = s.steps[i];
      if (recv.verb != Verb::kRecv) continue;
      const std::int64_t back = s.displacements[recv.channel];
      const std::int64_t sender = (c + back) % set.shift;
      const Lane lane = {sender, (set.group_size - back) % set.group_size};
      const std::vector<std::int32_t>& lane_sends = sends[lane];
      std::size_t& next = taken[lane];
      if (next == lane_sends.size() ||
          set.classes[sender].steps[lane_sends[next]].message != recv.message) {
        return InvalidArgument(fmt::format(
            "rank {} receives message {} from rank {}, which does not send it in this place", c,
            recv.message, (c + back) % set.group_size));
      }
      recv.partner = lane_sends[next++];
      set.classes[sender].steps[recv.partner].partner = static_cast<std::int32_t>(i);
    }
  }
  for (const auto& [lane, lane_sends] : sends) {
    const auto found = taken.find(lane);
    if (found != taken.end() && found->second == lane_sends.size()) continue;
    return InvalidArgument(fmt::format("rank {} sends to rank {} what that does not receive",
                                       lane.first, (lane.first + lane.second) % set.group_size));
  }
  return OkStatus();
}

}  // namespace

Result<SkeletonSet> BuildSkeletons(const Schedule& schedule, std::int64_t group_size,
                                   std::int64_t root, const Payload& payload,
                                   const SkeletonLimits& limits) {
  SkeletonSet set;
  set.group_size = group_size;
  CHORUS_ASSIGN_OR_RETURN(const Frame frame, schedule.FrameFor(group_size, 0, root));
  const auto blocks = static_cast<std::size_t>(frame.blocks);
  if (!payload.block_bytes.empty() && payload.block_bytes.size() != blocks) {
    return InvalidArgument(fmt::format("{} block sizes are given, {} {} has {} blocks",
                                       payload.block_bytes.size(), schedule.name(),
                                       Name(schedule.op()), frame.blocks));
  }
  const double even = blocks == 0 ? 0 : payload.bytes / static_cast<double>(blocks);
  const double largest =
      payload.block_bytes.empty()
          ? even
          : *std::max_element(payload.block_bytes.begin(), payload.block_bytes.end());
  set.tiles_in_flight = frame.tiles;
  CHORUS_ASSIGN_OR_RETURN(set.tile_share, TileShares(payload, largest));
  const bool uniform = payload.block_bytes.empty();
  const Work work(schedule, group_size, root, limits.most_held);
  set.shift = group_size;
  if (limits.least_shift == group_size) {
    CHORUS_RETURN_IF_ERROR(work.Check(group_size, group_size));
  }
  if (uniform) {
    set.shift = SmallestShift(schedule, group_size, root,
                              {payload.accumulator_ratio != 1, limits.local_takes_time});
  }
  CHORUS_RETURN_IF_ERROR(work.Check(set.shift, std::lcm(set.shift, limits.least_shift)));
  for (std::int64_t c = 0; c < set.shift; ++c) {
    CHORUS_ASSIGN_OR_RETURN(const std::vector<Step> steps, schedule.ForRank(group_size, c, root));
    set.classes.push_back(ClassBuilder(payload, even, group_size).Build(c, steps));
  }
  CHORUS_RETURN_IF_ERROR(MatchMessages(set));
  return set;
}

}  // namespace chorus
