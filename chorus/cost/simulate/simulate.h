// The simulator: carries out schedules on a topology, event by event, and says when all is done.
//
// Start here. The model, in full:
//
//   message   begins when the sender may send and the receiver may receive (their steps' own
//             dependencies), takes the latency of its route, and is then a flow over all links of
//             the route; it has arrived, for both, when its last byte has
//   pairs     the messages of a call from one rank to another flow one after another, tile by tile
//             in the schedule's order; latency may pass while the one before flows
//   links     are shared max-min fair by the flows on them (fair_share.h)
//   chunks    go store and forward: what depends on a message waits for all of it
//   local     reduce and copy take local_seconds_per_byte for what they write; 0 if not asked for
//   tiles     as the schedule says: so many in flight, each with its part of every block
//
// It knows nothing of formulas. Thread safety: pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/cost/simulate/skeleton.h"
#include "chorus/topology/topology.h"

namespace chorus {

// One collective of a simulation. Rank r is on device devices[r], or on device r if that is empty.
struct SimulatedCall {
  const Schedule* schedule = nullptr;  // outlives the simulation
  std::int64_t group_size = 1;
  std::int64_t root = 0;
  Payload payload;
  std::vector<std::int64_t> devices;
  double start = 0;  // seconds
};

// A device all of whose links and local work are `factor` times slower, or one link that is.
struct SlowDevice {
  std::int64_t device = 0;
  double factor = 1;
};
struct SlowLink {
  LinkId link = 0;
  double factor = 1;
};

struct SimulateOptions {
  bool symmetry = true;  // one rank of each orbit, where that is proved right
  double local_seconds_per_byte = 0;
  // Each message's latency is multiplied by exp(jitter x a standard normal number of `seed`).
  double jitter = 0;
  std::uint64_t seed = 0;
  std::vector<SlowDevice> slow_devices;
  std::vector<SlowLink> slow_links;
  bool trace = false;  // keep every step's times
  // Steps, their chunks and dependencies in memory, of all ranks that are simulated: about 1.6 GiB.
  std::int64_t most_held = 100'000'000;
};

// One step as it was carried out.
struct TimedStep {
  std::int64_t call = 0;
  std::int64_t rank = 0;  // of the call's group; in a trace the orbit's first
  std::int64_t step = 0;  // of Schedule::ForRank
  std::int64_t tile = 0;
  Verb verb = Verb::kCopy;
  std::int64_t peer = -1;  // messages: the rank at the other end
  double bytes = 0;
  double begin = 0;  // seconds: when both ends were ready, or what it queued behind had ended
  double end = 0;
};

struct LinkUse {
  LinkId link = 0;  // the orbit's first
  double bytes = 0;
  double busy = 0;  // bytes / (bandwidth x time of the whole), 0 to 1
};

struct Simulation {
  double seconds = 0;                       // from 0 to the end of the last step
  std::int64_t shift = 1;                   // ranks r, r + shift, ... have the same times
  std::vector<std::vector<double>> finish;  // [call][rank mod shift]: when a rank was done
  std::vector<LinkUse> links;               // that carried something, busiest first
  std::vector<TimedStep> critical_path;     // messages and local steps that nothing waited before
  std::vector<TimedStep> trace;             // if asked for, by begin
  std::int64_t messages = 0;                // simulated, that is without the others of the orbits
  std::int64_t events = 0;

  double FinishOf(std::int64_t call, std::int64_t rank) const {
    return finish[call][rank % static_cast<std::int64_t>(finish[call].size())];
  }
};

// Errors: a device or a link to slow down that the machine has not, a factor or a jitter that is
// none.
Status CheckSimulateOptions(const Topology& topology, const SimulateOptions& options);

// Errors: as CheckSimulateOptions and BuildSkeletons; a rank on no device; ranks that wait for each
// other; more steps than options.most_held allows (kResourceExhausted), which a few ranks tell
// before the others are looked at.
Result<Simulation> Simulate(const Topology& topology, const std::vector<SimulatedCall>& calls,
                            const SimulateOptions& options = {});

// The trace as JSON that chrome://tracing and Perfetto read.
std::string TraceJson(const Simulation& simulation);

}  // namespace chorus
