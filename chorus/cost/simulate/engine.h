// Engine: the state of one simulation while it runs. simulate.cc prepares it and reads it out.
//
// Ranks are held one of each orbit: rank i < reps stands for i, i + reps, ... A step is named by
// call, rank, tile and step. Thread safety: none.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "chorus/cost/simulate/agenda.h"
#include "chorus/cost/simulate/network.h"
#include "chorus/cost/simulate/simulate.h"
#include "chorus/cost/simulate/skeleton.h"

namespace chorus {

struct StepName {
  std::int32_t call = 0;
  std::int32_t rank = 0;
  std::int32_t tile = 0;
  std::int32_t step = 0;
};

class Engine {
 public:
  Engine(const Topology& topology, const std::vector<SimulatedCall>& calls,
         std::vector<SkeletonSet> sets, std::int64_t shift, const SimulateOptions& options);

  // Runs to the end. Errors: ranks that wait for each other.
  Status Run();

  // After Run:
  std::int64_t call_count() const { return static_cast<std::int64_t>(states_.size()); }
  std::int64_t RankCount(std::int64_t call) const { return states_[call].ranks; }
  std::int64_t TileCount(std::int64_t call) const {
    return static_cast<std::int64_t>(states_[call].set.tile_share.size());
  }
  const Skeleton& SkeletonOf(const StepName& at) const {
    const SkeletonSet& set = states_[at.call].set;
    return set.classes[at.rank % set.shift];
  }
  double EndOf(const StepName& at) const { return state_of_[IndexOf(at)].end; }
  double BytesOf(const StepName& at) const;
  // The step at the other end of a message. REQUIRES: at is a send or recv.
  StepName PartnerOf(const StepName& at) const;
  // The message that must have ended before this one may flow, at the same end; false if there is
  // none. REQUIRES: at is a send or recv.
  bool MessageBefore(const StepName& at, StepName& before) const;
  // The latency of its route, with jitter. REQUIRES: at is a send.
  double LatencyOf(const StepName& at) const;
  // The rank at the other end, in the call's group.
  std::int64_t PeerOf(const StepName& at) const;
  std::int64_t tiles_in_flight(std::int64_t call) const {
    return states_[call].set.tiles_in_flight;
  }

  const std::vector<double>& carried() const { return carried_; }  // bytes, by link of the network
  const Network& network() const { return network_; }
  std::int64_t messages() const { return messages_; }
  std::int64_t events() const { return events_; }

 private:
  struct CallState {
    SkeletonSet set;
    std::int64_t ranks = 0;
    std::vector<std::int64_t> base;                 // by rank: index of its first step
    std::vector<std::vector<std::int32_t>> routes;  // by rank and channel; -1: not looked up yet
    std::vector<std::vector<std::int32_t>> left;    // by rank and tile: steps that have not ended
  };
  // What is asked of a step at one time stands in one place: with many ranks each look is a miss.
  struct StepState {
    double end = -1;           // seconds; negative before the end
    std::int32_t pending = 0;  // dependencies that have not ended
    std::int32_t halves = 0;   // of sends: how many of the two ends are ready
  };
  struct Flight {  // a message under way, or a local step
    StepName at;   // the send
    double bytes = 0;
    double remaining = 0;
    double rate = 0;
    double since = 0;  // when `remaining` was right
    std::int32_t route = 0;
    FairShare::Flow flow = -1;
    std::uint32_t version = 0;
  };

  std::int64_t IndexOf(const StepName& at) const {
    const CallState& state = states_[at.call];
    const auto steps =
        static_cast<std::int64_t>(state.set.classes[at.rank % state.set.shift].steps.size());
    return state.base[at.rank] + at.tile * steps + at.step;
  }
  std::int64_t DeviceOf(std::int64_t call, std::int64_t rank) const;
  std::int32_t RouteOf(const StepName& send);
  bool MessageAfter(const StepName& at, StepName& after) const;
  void StartCall(std::int32_t call);
  void ReleaseTile(StepName first);
  void StepIsReady(const StepName& at);
  void StartMessage(const StepName& send);
  void LatencyIsOver(std::int32_t number);
  void BeginFlow(std::int32_t number);
  void Arrive(std::int32_t number);
  void Ended(const StepName& at);
  void Drain();
  void Reschedule();
  std::int32_t NewFlight(const StepName& at, double bytes);

  const std::vector<SimulatedCall>& calls_;
  const SimulateOptions& options_;
  Network network_;
  std::vector<CallState> states_;
  std::vector<StepState> state_of_;  // by step index

  Agenda agenda_;
  double now_ = 0;
  std::vector<Flight> flights_;
  std::vector<std::int32_t> free_flights_;
  std::vector<std::int32_t> flight_of_flow_;
  std::unordered_map<std::int64_t, std::int32_t> queued_;  // flights behind another, by step index
  std::vector<std::int32_t> next_;                         // that were, to be worked off
  std::vector<StepName> ended_;                            // to be worked off
  std::vector<double> carried_;
  std::int64_t unfinished_ = 0;
  std::int64_t messages_ = 0;
  std::int64_t events_ = 0;
};

}  // namespace chorus
