// How the simulator's time and memory grow with the number of ranks.
//
//   growth            a table: schedule, ranks, with and without symmetry, seconds, GiB
//
// Each case runs in a process of its own, so that its peak of memory is its own.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "chorus/algorithm/algorithm.h"
#include "chorus/cost/simulate/simulate.h"

namespace chorus::bench {
namespace {

struct Took {
  double seconds = -1;
  double peak_gib = 0;
  double predicted = 0;  // s, what was simulated
  std::int64_t shift = 0;
};

Topology Nodes(std::int64_t node_size, std::int64_t nodes) {
  Topology::Definition d;
  d.node_size = node_size;
  d.link = {Seconds(1e-6), BytesPerSecond(450e9)};
  d.nodes = nodes;
  d.nics = node_size;
  d.nic = {Seconds(5e-6), BytesPerSecond(50e9)};
  return *Topology::Make(d);
}

Took Run(const Schedule& schedule, const Topology& topology, bool symmetry) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    SimulatedCall call;
    call.schedule = &schedule;
    call.group_size = topology.device_count();
    call.payload.bytes = 1e6 * static_cast<double>(call.group_size);
    SimulateOptions options;
    options.symmetry = symmetry;
    const auto begin = std::chrono::steady_clock::now();
    const Result<Simulation> s = Simulate(topology, {call}, options);
    Took took;
    if (s.ok()) {
      took.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      took.predicted = s->seconds;
      took.shift = s->shift;
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    took.peak_gib = static_cast<double>(usage.ru_maxrss) / (1 << 20);
    _exit(write(ends[1], &took, sizeof took) == sizeof took ? 0 : 1);
  }
  close(ends[1]);
  Took took;
  if (read(ends[0], &took, sizeof took) != sizeof took) took = {};
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return took;
}

void Print(std::string_view what, std::int64_t ranks, const Took& t) {
  fmt::print("{:<24} {:>8} {:>16} {:>10.3f} {:>9.3f} {:>14.6g}\n", what, ranks,
             t.shift == ranks ? "each" : fmt::format("{} of {}", t.shift, ranks), t.seconds,
             t.peak_gib, t.predicted);
}

int Main() {
  fmt::print("{:<24} {:>8} {:>16} {:>10} {:>9} {:>14}\n", "schedule", "ranks", "simulated",
             "took s", "peak GiB", "simulated s");
  const Schedule ring = (*FindAlgorithm("ring", OpKind::kAllReduce))->Build();
  const Schedule direct = (*FindAlgorithm("direct", OpKind::kAllGather))->Build();
  for (std::int64_t n : {64, 128, 256, 512, 1024, 2048}) {
    Print("ring all_reduce", n, Run(ring, Nodes(n, 1), false));
  }
  for (std::int64_t n : {64, 128, 256, 512}) {
    Print("direct all_gather", n, Run(direct, Nodes(n, 1), false));
  }
  for (std::int64_t n : {1024, 10'000, 100'000, 1'000'000}) {
    Print("ring all_reduce", n, Run(ring, Nodes(n, 1), true));
  }
  const Schedule two_level = (*FindAlgorithm("two_level:8", OpKind::kAllReduce))->Build();
  for (std::int64_t nodes : {32, 256, 2048, 8192}) {
    Print("two_level:8 all_reduce", 8 * nodes, Run(two_level, Nodes(8, nodes), true));
  }
  return 0;
}

}  // namespace
}  // namespace chorus::bench

int main() { return chorus::bench::Main(); }
