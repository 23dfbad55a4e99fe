// Random schedules and topologies on which two simulators are compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/schedule/schedule.h"
#include "chorus/topology/topology.h"

namespace chorus::bench {

// A schedule of messages between random pairs of `ranks` ranks. Each message may wait for any steps
// that come before it in one order of all messages, at its sender and at its receiver, so no two
// wait for each other. Blocks have random sizes from 1 KB to 10 MB.
struct RandomSchedule {
  std::string text;
  Schedule schedule;
  std::vector<double> block_bytes;
};
RandomSchedule MakeSchedule(std::int64_t ranks, std::uint64_t seed);

// A switch, nodes below oversubscribed leaf switches, a mesh, or a torus: by seed, with at least
// `ranks` devices. Links of a torus have no latency: SimGrid gives flows of longer latency a
// smaller share of a link, which is fair by another measure than max-min.
Topology MakeTopology(std::int64_t ranks, std::uint64_t seed);

}  // namespace chorus::bench
