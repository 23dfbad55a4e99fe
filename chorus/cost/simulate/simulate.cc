#include "chorus/cost/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chorus/base/trace.h"
#include "chorus/cost/simulate/engine.h"

namespace chorus {
namespace {

Status CheckCall(const SimulatedCall& call, std::int64_t devices) {
  if (call.devices.empty()) {
    if (call.group_size <= devices) return OkStatus();
    return InvalidArgument(fmt::format(
        "{} ranks are more than the {} devices there are; give a larger machine, or fewer ranks",
        call.group_size, devices));
  }
  if (static_cast<std::int64_t>(call.devices.size()) != call.group_size) {
    return InvalidArgument(fmt::format("{} devices are given for {} ranks; give one each",
                                       call.devices.size(), call.group_size));
  }
  for (std::int64_t device : call.devices) {
    if (device >= 0 && device < devices) continue;
    return InvalidArgument(fmt::format("there is no device {}; give 0 to {}", device, devices - 1));
  }
  return OkStatus();
}

std::int64_t StepsInMemory(const std::vector<SkeletonSet>& sets, std::int64_t shift,
                           std::int64_t devices) {
  std::int64_t steps = 0;
  for (const SkeletonSet& set : sets) {
    std::int64_t of_classes = 0;
    for (const Skeleton& skeleton : set.classes) {
      of_classes += static_cast<std::int64_t>(skeleton.steps.size());
    }
    const std::int64_t ranks = shift < devices ? shift : set.group_size;
    steps += of_classes * (ranks / set.shift) * static_cast<std::int64_t>(set.tile_share.size());
  }
  return steps;
}

// A step of a rank that the step of an orbit's first stands for: rank (at.rank + turned) mod N.
struct Place {
  StepName at;
  std::int64_t turned = 0;
};

// Reads the times of a finished engine.
class Reader {
 public:
  Reader(const Engine& engine, const std::vector<SimulatedCall>& calls)
      : engine_(engine), calls_(calls) {}

  // The step that ended last among those that `place` had to wait for; false if there was none.
  bool Before(const Place& place, Place& before) const {
    const StepName& at = place.at;
    double latest = -1;
    before.turned = place.turned;
    Latest(at, latest, before.at);
    if (!IsMessage(at)) return latest >= 0;
    const double own = latest;
    const StepName partner = engine_.PartnerOf(at);
    Latest(partner, latest, before.at);
    if (latest > own) before.turned += engine_.PeerOf(at) - partner.rank;
    StepName ahead;
    if (!engine_.MessageBefore(at, ahead)) return latest >= 0;
    // It queued if the latency was over before the message ahead had ended.
    const bool sends = engine_.SkeletonOf(at).steps[at.step].verb == Verb::kSend;
    const double ready = std::max(latest, calls_[at.call].start);
    if (engine_.EndOf(ahead) <= ready + engine_.LatencyOf(sends ? at : partner)) return latest >= 0;
    before = {ahead, place.turned};
    return true;
  }

  TimedStep Timed(const Place& place) const {
    const StepName& at = place.at;
    const std::int64_t n = calls_[at.call].group_size;
    const auto turn = [&](std::int64_t rank) { return ((rank + place.turned) % n + n) % n; };
    Place before;
    TimedStep t;
    t.call = at.call;
    t.rank = turn(at.rank);
    t.step = at.step;
    t.tile = at.tile;
    t.verb = engine_.SkeletonOf(at).steps[at.step].verb;
    if (IsMessage(at)) t.peer = turn(engine_.PeerOf(at));
    t.bytes = engine_.BytesOf(at);
    t.begin = Before(place, before) ? engine_.EndOf(before.at) : calls_[at.call].start;
    t.end = engine_.EndOf(at);
    return t;
  }

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (std::int32_t call = 0; call < engine_.call_count(); ++call) {
      for (std::int32_t rank = 0; rank < engine_.RankCount(call); ++rank) {
        const auto steps =
            static_cast<std::int32_t>(engine_.SkeletonOf({call, rank, 0, 0}).steps.size());
        for (std::int32_t tile = 0; tile < engine_.TileCount(call); ++tile) {
          for (std::int32_t step = 0; step < steps; ++step) visit(StepName{call, rank, tile, step});
        }
      }
    }
  }

 private:
  bool IsMessage(const StepName& at) const {
    const Verb verb = engine_.SkeletonOf(at).steps[at.step].verb;
    return verb == Verb::kSend || verb == Verb::kRecv;
  }

  void Take(const StepName& candidate, double& latest, StepName& before) const {
    if (engine_.EndOf(candidate) <= latest) return;
    latest = engine_.EndOf(candidate);
    before = candidate;
  }

  void Latest(const StepName& at, double& latest, StepName& before) const {
    const Skeleton& skeleton = engine_.SkeletonOf(at);
    const SkeletonStep& step = skeleton.steps[at.step];
    StepName other = at;
    for (std::int32_t a = step.after_begin; a < step.after_end; ++a) {
      other.step = skeleton.after[a];
      Take(other, latest, before);
    }
    if (step.after_begin != step.after_end || at.tile < engine_.tiles_in_flight(at.call)) return;
    other.tile = static_cast<std::int32_t>(at.tile - engine_.tiles_in_flight(at.call));
    for (std::size_t i = 0; i < skeleton.steps.size(); ++i) {
      other.step = static_cast<std::int32_t>(i);
      Take(other, latest, before);
    }
  }

  const Engine& engine_;
  const std::vector<SimulatedCall>& calls_;
};

// From the step that ended last back to one that waited for nothing; local steps that took no time
// are left out, and so is the receiving end of a message.
std::vector<TimedStep> CriticalPath(const Reader& reader, const StepName& last) {
  std::vector<TimedStep> path;
  Place place{last};
  while (true) {
    TimedStep step = reader.Timed(place);
    if (step.end > step.begin) {
      if (step.verb == Verb::kRecv) {
        std::swap(step.rank, step.peer);
        step.verb = Verb::kSend;
      }
      path.push_back(step);
    }
    Place before;
    if (!reader.Before(place, before)) break;
    place = before;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<LinkUse> UseOfLinks(const Engine& engine, double seconds) {
  std::vector<LinkUse> links;
  for (std::size_t i = 0; i < engine.carried().size(); ++i) {
    const auto link = static_cast<std::int32_t>(i);
    const double bytes = engine.carried()[i];
    if (bytes == 0) continue;
    const double busy = seconds > 0 ? bytes / (engine.network().BandwidthOf(link) * seconds) : 0;
    links.push_back({engine.network().IdOf(link), bytes, busy});
  }
  std::stable_sort(links.begin(), links.end(),
                   [](const LinkUse& a, const LinkUse& b) { return a.busy > b.busy; });
  return links;
}

Simulation ReadOut(const Engine& engine, const std::vector<SimulatedCall>& calls,
                   std::int64_t shift, bool with_trace) {
  Simulation s;
  s.shift = shift;
  s.messages = engine.messages();
  s.events = engine.events();
  const Reader reader(engine, calls);
  for (std::int64_t call = 0; call < engine.call_count(); ++call) {
    s.finish.emplace_back(engine.RankCount(call), calls[call].start);
  }
  StepName last;
  double latest = -1;
  reader.ForEach([&](const StepName& at) {
    const double end = engine.EndOf(at);
    double& finish = s.finish[at.call][at.rank];
    finish = std::max(finish, end);
    if (end <= latest) return;
    latest = end;
    last = at;
  });
  for (const std::vector<double>& finish : s.finish) {
    for (double end : finish) s.seconds = std::max(s.seconds, end);
  }
  s.links = UseOfLinks(engine, s.seconds);
  if (latest >= 0) s.critical_path = CriticalPath(reader, last);
  if (!with_trace) return s;
  reader.ForEach([&](const StepName& at) { s.trace.push_back(reader.Timed({at})); });
  std::stable_sort(s.trace.begin(), s.trace.end(),
                   [](const TimedStep& a, const TimedStep& b) { return a.begin < b.begin; });
  return s;
}

}  // namespace

Status CheckSimulateOptions(const Topology& topology, const SimulateOptions& o) {
  for (const SlowDevice& slow : o.slow_devices) {
    if (slow.device < 0 || slow.device >= topology.device_count()) {
      return InvalidArgument(fmt::format("there is no device {} to slow down; give 0 to {}",
                                         slow.device, topology.device_count() - 1));
    }
    if (slow.factor >= 1 && std::isfinite(slow.factor)) continue;
    return InvalidArgument(fmt::format("device {} cannot be {} times slower; give 1 or more",
                                       slow.device, slow.factor));
  }
  for (const SlowLink& slow : o.slow_links) {
    if (slow.link < 0 || slow.link >= topology.link_count()) {
      return InvalidArgument(fmt::format("there is no link {} to slow down; give 0 to {}",
                                         slow.link, topology.link_count() - 1));
    }
    if (slow.factor >= 1 && std::isfinite(slow.factor)) continue;
    return InvalidArgument(
        fmt::format("link {} cannot be {} times slower; give 1 or more", slow.link, slow.factor));
  }
  if (o.jitter >= 0 && o.jitter <= 10) return OkStatus();
  return InvalidArgument(fmt::format("a jitter of {}; give 0 (none) to 10", o.jitter));
}

Result<Simulation> Simulate(const Topology& topology, const std::vector<SimulatedCall>& calls,
                            const SimulateOptions& options) {
  CHORUS_RETURN_IF_ERROR(CheckSimulateOptions(topology, options));
  std::vector<SkeletonSet> sets;
  std::vector<std::int64_t> shifts;
  const bool local_takes_time = options.local_seconds_per_byte != 0;
  for (const SimulatedCall& call : calls) {
    CHORUS_RETURN_IF_ERROR(CheckCall(call, topology.device_count()));
    // What the machine and the options allow, before any rank is expanded.
    const std::int64_t least = std::min(ShiftOf(topology, calls, {}, options), call.group_size);
    CHORUS_ASSIGN_OR_RETURN(SkeletonSet set,
                            BuildSkeletons(*call.schedule, call.group_size, call.root, call.payload,
                                           {local_takes_time, least, options.most_held}));
    shifts.push_back(set.shift);
    sets.push_back(std::move(set));
  }
  const std::int64_t shift = ShiftOf(topology, calls, shifts, options);
  const std::int64_t steps = StepsInMemory(sets, shift, topology.device_count());
  if (steps > options.most_held) {
    return ResourceExhausted(fmt::format(
        "{} steps in all tiles of all ranks are too many to simulate (at most {}); take "
        "larger tiles or fewer ranks",
        steps, options.most_held));
  }
  Engine engine(topology, calls, std::move(sets), shift, options);
  CHORUS_RETURN_IF_ERROR(engine.Run());
  return ReadOut(engine, calls, shift, options.trace);
}

// One lane a rank; a message stands on the sender's lane and the receiver's.
std::string TraceJson(const Simulation& simulation) {
  std::vector<std::string> lines;
  for (const TimedStep& t : simulation.trace) {
    TraceEvent event;
    event.name = Name(t.verb);
    if (t.peer >= 0) {
      event.name += fmt::format(" {} {}", t.verb == Verb::kSend ? "to" : "from", t.peer);
    }
    event.process = t.call;
    event.track = t.rank;
    event.begin_us = t.begin * 1e6;
    event.duration_us = (t.end - t.begin) * 1e6;
    event.arguments = {{"bytes", t.bytes},
                       {"step", static_cast<double>(t.step)},
                       {"tile", static_cast<double>(t.tile)}};
    lines.push_back(TraceLine(event));
  }
  return TraceFile(lines);
}

}  // namespace chorus
