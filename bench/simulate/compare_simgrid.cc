// Compares the simulator of Chorus with SimGrid on random schedules and topologies.
//
//   compare_simgrid [COUNT] [FIRST_SEED]
//
// Each case is run by Simulate and, in a process of its own, by SimGrid. There a message is two
// activities: its latency, which starts when the messages it waits for have ended and is spent by
// a clock with a core for each, and then a communication over links without latency, which also
// waits for the one before it between the same two hosts. SimGrid's model is
// CM02 with all factors 1, TCP's window off and no cross traffic, that is max-min sharing. Prints
// the largest difference, by kind of topology, and fails above 3 %.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <simgrid/s4u.hpp>

#include "bench/simulate/random_schedule.h"
#include "chorus/cost/simulate/simulate.h"

namespace chorus::bench {
namespace {

namespace sg = simgrid::s4u;

constexpr double kMostDifference = 0.03;

struct Case {
  Topology topology;
  RandomSchedule random;
  std::int64_t ranks;
};

Case MakeCase(std::uint64_t seed) {
  const auto ranks = static_cast<std::int64_t>(3 + seed % 8);
  return {MakeTopology(ranks, seed), MakeSchedule(ranks, seed), ranks};
}

double ByChorus(const Case& c) {
  SimulatedCall call;
  call.schedule = &c.random.schedule;
  call.group_size = c.ranks;
  call.payload.block_bytes = c.random.block_bytes;
  const Result<Simulation> s = Simulate(c.topology, {call});
  if (!s.ok()) fmt::print(stderr, "{}\n{}", s.status().ToString(), c.random.text);
  return s.ok() ? s->seconds : -1;
}

// The hosts, links and routes of SimGrid that are this topology.
class Platform {
 public:
  Platform(const Topology& topology, std::int64_t ranks) {
    sg::NetZone* zone = sg::create_full_zone("all");
    for (std::int64_t r = 0; r < ranks; ++r) {
      hosts_.push_back(zone->create_host(fmt::format("host{}", r), 1e9));
    }
    std::map<LinkId, sg::Link*> links;
    for (std::int64_t a = 0; a < ranks; ++a) {
      for (std::int64_t b = 0; b < ranks; ++b) {
        if (a == b) continue;
        std::vector<LinkId> ids;
        topology.AppendRoute(a, b, ids);
        std::vector<sg::LinkInRoute> route;
        for (LinkId id : ids) {
          sg::Link*& link = links[id];
          if (link == nullptr) {
            const double bandwidth = topology.Link(id).bandwidth.value();
            link = zone->create_link(fmt::format("link{}", id), bandwidth);
            link->set_latency(0)->seal();
          }
          route.emplace_back(link);
          latency_[{a, b}] += topology.Link(id).latency.value();
        }
        zone->add_route(hosts_[a]->get_netpoint(), hosts_[b]->get_netpoint(), nullptr, nullptr,
                        route, false);
      }
    }
    clock_ = zone->create_host("clock", kTick)->set_core_count(1000);
    zone->seal();
  }
  sg::Host* host(std::int64_t rank) const { return hosts_[rank]; }
  // An activity that takes as long as the latency of the route.
  sg::ExecPtr Latency(std::int64_t from, std::int64_t to) const {
    sg::ExecPtr wait = sg::Exec::init();
    wait->set_flops_amount(latency_.at({from, to}) * kTick)->set_host(clock_);
    return wait;
  }

 private:
  static constexpr double kTick = 1e9;  // operations a second of a core
  std::vector<sg::Host*> hosts_;
  std::map<std::pair<std::int64_t, std::int64_t>, double> latency_;  // by ranks
  sg::Host* clock_ = nullptr;
};

double BySimGrid(const Case& c) {
  int argc = 2;
  char name[] = "compare_simgrid", quiet[] = "--log=root.thres:error";
  char* argv[] = {name, quiet, nullptr};
  sg::Engine engine(&argc, argv);
  for (const char* setting :
       {"network/model:CM02", "network/bandwidth-factor:1", "network/latency-factor:1",
        "network/weight-S:0", "network/TCP-gamma:0", "network/crosstraffic:0",
        "surf/precision:1e-12", "network/optim:Full"}) {
    sg::Engine::set_config(setting);
  }
  const Platform platform(c.topology, c.ranks);
  // A message is known by its number, which is unique here.
  std::map<std::int64_t, sg::CommPtr> comms;
  std::map<std::int64_t, sg::ExecPtr> latencies;
  std::map<std::pair<std::int64_t, std::int64_t>, sg::CommPtr> newest;  // by ranks
  std::map<std::int64_t, std::set<std::int64_t>> before;
  for (std::int64_t r = 0; r < c.ranks; ++r) {
    const std::vector<Step> steps = *c.random.schedule.ForRank(c.ranks, r);
    for (const Step& step : steps) {
      for (std::int64_t earlier : step.after) before[step.message].insert(steps[earlier].message);
      if (step.verb != Verb::kSend) continue;
      double bytes = 0;
      for (const Chunk& chunk : step.chunks) bytes += c.random.block_bytes[chunk.block];
      sg::CommPtr comm = sg::Comm::sendto_init(platform.host(r), platform.host(step.peer));
      comm->set_payload_size(static_cast<std::uint64_t>(bytes));
      comms[step.message] = comm;
      latencies[step.message] = platform.Latency(r, step.peer);
      latencies[step.message]->add_successor(comm);
      sg::CommPtr& ahead = newest[{r, step.peer}];
      if (ahead != nullptr) ahead->add_successor(comm);
      ahead = comm;
    }
  }
  for (const auto& [message, earlier] : before) {
    for (std::int64_t e : earlier) comms[e]->add_successor(latencies[message]);
  }
  for (const auto& [message, wait] : latencies) wait->vetoable_start();
  for (const auto& [message, comm] : comms) comm->vetoable_start();
  engine.run();
  return sg::Engine::get_clock();
}

// SimGrid has one engine a process.
double BySimGridApart(const Case& c) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  std::fflush(stdout);  // or the child would print it again
  const pid_t child = fork();
  if (child == 0) {
    const double seconds = BySimGrid(c);
    const bool written = write(ends[1], &seconds, sizeof seconds) == sizeof seconds;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  double seconds = -1;
  if (read(ends[0], &seconds, sizeof seconds) != sizeof seconds) seconds = -1;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return seconds;
}

std::string KindOf(const Topology& t) {
  return t.definition().nodes > 1 ? "fat tree" : std::string(Name(t.definition().fabric));
}

int Main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  struct Summary {
    int cases = 0;
    double largest = 0, sum = 0;
    std::uint64_t seed = 0;
  };
  std::map<std::string, Summary> by_kind;
  int beyond = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Case c = MakeCase(seed);
    const double ours = ByChorus(c), theirs = BySimGridApart(c);
    const double difference = std::abs(ours / theirs - 1);
    Summary& s = by_kind[KindOf(c.topology)];
    ++s.cases;
    s.sum += difference;
    if (!(difference <= s.largest)) {
      s.largest = difference;
      s.seed = seed;
    }
    if (!(difference <= kMostDifference)) {
      ++beyond;
      fmt::print("seed {}: Chorus {:.9g} s, SimGrid {:.9g} s, {} ranks on {}\n", seed, ours, theirs,
                 c.ranks, c.topology.ToString());
    }
  }
  fmt::print("{:<10} {:>6} {:>14} {:>14}\n", "topology", "cases", "mean", "largest");
  for (const auto& [kind, s] : by_kind) {
    fmt::print("{:<10} {:>6} {:>13.2e} {:>13.2e}  (seed {})\n", kind, s.cases, s.sum / s.cases,
               s.largest, s.seed);
  }
  fmt::print("{} of {} schedules differ by more than {} %\n", beyond, count, 100 * kMostDifference);
  return beyond == 0 ? 0 : 1;
}

}  // namespace
}  // namespace chorus::bench

int main(int argc, char** argv) { return chorus::bench::Main(argc, argv); }
