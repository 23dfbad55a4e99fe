#include "chorus/cost/simulate/engine.h"

#include <fmt/format.h>

#include <cmath>

#include "chorus/base/random.h"

namespace chorus {

Engine::Engine(const Topology& topology, const std::vector<SimulatedCall>& calls,
               std::vector<SkeletonSet> sets, std::int64_t shift, const SimulateOptions& options)
    : calls_(calls), options_(options), network_(topology, shift, options) {
  std::int64_t next = 0;
  for (SkeletonSet& set : sets) {
    CallState& state = states_.emplace_back();
    state.set = std::move(set);
    const bool joined = shift < topology.device_count();
    state.ranks = joined ? shift : state.set.group_size;
    const auto tiles = static_cast<std::int64_t>(state.set.tile_share.size());
    for (std::int64_t rank = 0; rank < state.ranks; ++rank) {
      const Skeleton& skeleton = state.set.classes[rank % state.set.shift];
      const auto steps = static_cast<std::int64_t>(skeleton.steps.size());
      state.base.push_back(next);
      next += steps * tiles;
      state.routes.emplace_back(skeleton.displacements.size(), -1);
      state.left.emplace_back(tiles, static_cast<std::int32_t>(steps));
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        const bool held = tile >= state.set.tiles_in_flight;
        for (const SkeletonStep& step : skeleton.steps) {
          const std::int32_t before = step.after_end - step.after_begin;
          state_of_.push_back({-1, before == 0 && held ? 1 : before, 0});
        }
      }
    }
  }
  unfinished_ = next;
}

double Engine::BytesOf(const StepName& at) const {
  return SkeletonOf(at).steps[at.step].weight * states_[at.call].set.tile_share[at.tile];
}

std::int64_t Engine::PeerOf(const StepName& at) const {
  const Skeleton& skeleton = SkeletonOf(at);
  const std::int64_t displacement = skeleton.displacements[skeleton.steps[at.step].channel];
  return (at.rank + displacement) % states_[at.call].set.group_size;
}

StepName Engine::PartnerOf(const StepName& at) const {
  const auto rank = static_cast<std::int32_t>(PeerOf(at) % states_[at.call].ranks);
  return {at.call, rank, at.tile, SkeletonOf(at).steps[at.step].partner};
}

// Messages of an ordered pair go tile by tile, as they are listed.
bool Engine::MessageBefore(const StepName& at, StepName& before) const {
  before = at;
  before.step = SkeletonOf(at).steps[at.step].previous;
  if (before.step >= at.step) --before.tile;
  return before.tile >= 0;
}

bool Engine::MessageAfter(const StepName& at, StepName& after) const {
  after = at;
  after.step = SkeletonOf(at).steps[at.step].next;
  if (after.step <= at.step) ++after.tile;
  return after.tile < TileCount(at.call);
}

std::int64_t Engine::DeviceOf(std::int64_t call, std::int64_t rank) const {
  return calls_[call].devices.empty() ? rank : calls_[call].devices[rank];
}

std::int32_t Engine::RouteOf(const StepName& send) {
  const std::int32_t channel = SkeletonOf(send).steps[send.step].channel;
  std::int32_t& route = states_[send.call].routes[send.rank][channel];
  if (route < 0) {
    route =
        network_.RouteBetween(DeviceOf(send.call, send.rank), DeviceOf(send.call, PeerOf(send)));
  }
  return route;
}

Status Engine::Run() {
  for (std::size_t call = 0; call < calls_.size(); ++call) {
    agenda_.Add(calls_[call].start, {Event::Kind::kStarts, 0, static_cast<std::int64_t>(call)});
  }
  std::vector<Event> events;
  while (!agenda_.empty()) {
    now_ = agenda_.TakeFirst(events);
    if (!std::isfinite(now_)) {
      return InvalidArgument(
          "a step would never end: a latency is too long, or a bandwidth too little, for a time "
          "that can be told");
    }
    events_ += static_cast<std::int64_t>(events.size());
    for (const Event& event : events) {
      const auto what = static_cast<std::int32_t>(event.what);
      switch (event.kind) {
        case Event::Kind::kStarts:
          StartCall(what);
          break;
        case Event::Kind::kLatencyIsOver:
          LatencyIsOver(what);
          break;
        case Event::Kind::kArrives:
          if (flights_[what].version == event.version) Arrive(what);
          break;
        case Event::Kind::kLocalEnds:
          ended_.push_back(flights_[what].at);
          free_flights_.push_back(what);
          break;
      }
    }
    Drain();
    Reschedule();
  }
  if (unfinished_ == 0) return OkStatus();
  return InvalidArgument(
      fmt::format("{} steps never begin: ranks wait for each other; chorus verify names the first",
                  unfinished_));
}

void Engine::StartCall(std::int32_t call) {
  CallState& state = states_[call];
  const auto tiles = static_cast<std::int64_t>(state.set.tile_share.size());
  for (std::int64_t rank = 0; rank < state.ranks; ++rank) {
    const Skeleton& skeleton = state.set.classes[rank % state.set.shift];
    for (std::int64_t tile = 0; tile < std::min(tiles, state.set.tiles_in_flight); ++tile) {
      for (std::size_t step = 0; step < skeleton.steps.size(); ++step) {
        const StepName at = {call, static_cast<std::int32_t>(rank), static_cast<std::int32_t>(tile),
                             static_cast<std::int32_t>(step)};
        if (skeleton.steps[step].after_begin == skeleton.steps[step].after_end) StepIsReady(at);
      }
    }
  }
}

// The tile before it in its scratch has ended on this rank.
void Engine::ReleaseTile(StepName first) {
  const Skeleton& skeleton = SkeletonOf(first);
  for (std::size_t step = 0; step < skeleton.steps.size(); ++step) {
    if (skeleton.steps[step].after_begin != skeleton.steps[step].after_end) continue;
    first.step = static_cast<std::int32_t>(step);
    if (--state_of_[IndexOf(first)].pending == 0) StepIsReady(first);
  }
}

std::int32_t Engine::NewFlight(const StepName& at, double bytes) {
  std::int32_t number = 0;
  if (free_flights_.empty()) {
    number = static_cast<std::int32_t>(flights_.size());
    flights_.emplace_back();
  } else {
    number = free_flights_.back();
    free_flights_.pop_back();
  }
  Flight& flight = flights_[number];
  flight.at = at;
  flight.bytes = flight.remaining = bytes;
  flight.rate = 0;
  ++flight.version;
  return number;
}

void Engine::StepIsReady(const StepName& at) {
  const SkeletonStep& step = SkeletonOf(at).steps[at.step];
  if (step.verb == Verb::kSend || step.verb == Verb::kRecv) {
    const StepName send = step.verb == Verb::kSend ? at : PartnerOf(at);
    if (++state_of_[IndexOf(send)].halves == 2) StartMessage(send);
    return;
  }
  const double bytes = BytesOf(at);
  if (options_.local_seconds_per_byte == 0 || bytes == 0) {
    ended_.push_back(at);
    return;
  }
  const double slow = network_.SlownessOf(DeviceOf(at.call, at.rank));
  agenda_.Add(now_ + bytes * options_.local_seconds_per_byte * slow,
              {Event::Kind::kLocalEnds, 0, NewFlight(at, bytes)});
}

void Engine::StartMessage(const StepName& send) {
  ++messages_;
  const std::int32_t number = NewFlight(send, BytesOf(send));
  Flight& flight = flights_[number];
  flight.route = RouteOf(send);
  agenda_.Add(now_ + LatencyOf(send), {Event::Kind::kLatencyIsOver, 0, number});
}

double Engine::LatencyOf(const StepName& at) const {
  const std::int32_t channel = SkeletonOf(at).steps[at.step].channel;
  const double latency = network_.route(states_[at.call].routes[at.rank][channel]).latency;
  if (options_.jitter == 0) return latency;
  const RandomStream stream(options_.seed, "jitter");
  return latency *
         std::exp(options_.jitter * stream.Normal(static_cast<std::uint64_t>(IndexOf(at))));
}

void Engine::LatencyIsOver(std::int32_t number) {
  StepName before;
  const StepName& at = flights_[number].at;
  if (!MessageBefore(at, before) || EndOf(before) >= 0) return BeginFlow(number);
  queued_[IndexOf(at)] = number;
}

void Engine::BeginFlow(std::int32_t number) {
  Flight& flight = flights_[number];
  const Network::Route& route = network_.route(flight.route);
  flight.flow = -1;
  if (flight.bytes == 0 || route.links.empty()) return Arrive(number);
  flight.flow = network_.share().Add(route.links);
  flight.since = now_;
  if (flight_of_flow_.size() <= static_cast<std::size_t>(flight.flow)) {
    flight_of_flow_.resize(flight.flow + 1);
  }
  flight_of_flow_[flight.flow] = number;
}

void Engine::Arrive(std::int32_t number) {
  Flight& flight = flights_[number];
  ++flight.version;
  if (flight.flow >= 0) {
    network_.share().Remove(flight.flow);
    carried_.resize(network_.share().link_count());
    for (std::int32_t link : network_.route(flight.route).links) carried_[link] += flight.bytes;
  }
  const StepName at = flight.at;
  state_of_[IndexOf(at)].end = now_;  // for what is not queued yet
  ended_.push_back(at);
  ended_.push_back(PartnerOf(at));
  free_flights_.push_back(number);
  StepName after;
  if (queued_.empty() || !MessageAfter(at, after)) return;
  const auto found = queued_.find(IndexOf(after));
  if (found == queued_.end()) return;
  next_.push_back(found->second);
  queued_.erase(found);
}

void Engine::Drain() {
  while (!ended_.empty() || !next_.empty()) {
    while (!ended_.empty()) {
      const StepName at = ended_.back();
      ended_.pop_back();
      Ended(at);
    }
    if (next_.empty()) break;
    const std::int32_t number = next_.back();
    next_.pop_back();
    BeginFlow(number);
  }
}

void Engine::Ended(const StepName& at) {
  state_of_[IndexOf(at)].end = now_;
  --unfinished_;
  const Skeleton& skeleton = SkeletonOf(at);
  const SkeletonStep& step = skeleton.steps[at.step];
  for (std::int32_t d = step.dependent_begin; d < step.dependent_end; ++d) {
    StepName next = at;
    next.step = skeleton.dependents[d];
    if (--state_of_[IndexOf(next)].pending == 0) StepIsReady(next);
  }
  CallState& state = states_[at.call];
  if (--state.left[at.rank][at.tile] > 0) return;
  const std::int64_t released = at.tile + state.set.tiles_in_flight;
  if (released < static_cast<std::int64_t>(state.set.tile_share.size())) {
    ReleaseTile({at.call, at.rank, static_cast<std::int32_t>(released), 0});
  }
}

// Flows that run at another rate from now on arrive at another time.
void Engine::Reschedule() {
  for (FairShare::Flow flow : network_.share().Update()) {
    const std::int32_t number = flight_of_flow_[flow];
    Flight& flight = flights_[number];
    flight.remaining -= flight.rate * (now_ - flight.since);
    flight.since = now_;
    flight.rate = network_.share().Rate(flow);
    ++flight.version;
    agenda_.Add(now_ + std::max(flight.remaining, 0.0) / flight.rate,
                {Event::Kind::kArrives, flight.version, number});
  }
}

}  // namespace chorus
