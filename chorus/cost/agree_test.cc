// The formulas against the simulator: on topologies without congestion they give the same time to
// 1e-9, for every algorithm, those with numbers with several of them, two sizes, with partial sums
// as heavy as elements and twice as heavy. Some N up to 37 here; every one from 2 to 64, in
// minutes:
//
//   cost_test --gtest_also_run_disabled_tests --gtest_filter='*EveryN'
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <set>

#include "chorus/algorithm/algorithm.h"
#include "chorus/cost/formula/formula.h"
#include "chorus/cost/simulate/simulate.h"

namespace chorus {
namespace {

constexpr double kAlpha = 1.3e-6, kBandwidth = 90e9;

enum class Kind : std::uint8_t { kSwitch, kMesh, kNodes };

Machine Of(Kind kind, std::int64_t n) {
  Topology::Definition d;
  d.fabric = kind == Kind::kMesh ? Fabric::kMesh : Fabric::kSwitch;
  d.node_size = kind == Kind::kNodes ? 1 : n;
  d.nodes = kind == Kind::kNodes ? n : 1;
  d.link = d.nic = {Seconds(kAlpha), BytesPerSecond(kBandwidth)};
  return {"test", *Topology::Make(d), {}, {}, ""};
}

double Simulated(const Machine& machine, const Schedule& schedule, const Question& q) {
  SimulatedCall call;
  call.schedule = &schedule;
  call.group_size = machine.topology.device_count();
  call.root = q.root;
  call.payload.accumulator_ratio = q.accumulator_ratio;
  // Blocks of all_to_all are of pairs of ranks: N times what one rank sends.
  const bool pairs = q.op == "all_to_all";
  call.payload.bytes = q.bytes * (pairs ? static_cast<double>(call.group_size) : 1);
  const Result<Simulation> s = Simulate(machine.topology, {call});
  EXPECT_TRUE(s.ok()) << s.status().ToString();
  return s.ok() ? s->seconds : -1;
}

using Case = std::shared_ptr<const Algorithm>;

// Every algorithm for n ranks, those with numbers with several of them.
std::vector<Case> Cases(std::int64_t n) {
  std::vector<Case> cases;
  std::set<std::pair<OpKind, std::string>> seen;
  const auto add = [&](OpKind op, const std::string& name) {
    const Result<Case> found = FindAlgorithm(name, op);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    if ((*found)->Fits(n).ok() && seen.emplace(op, name).second) cases.push_back(*found);
  };
  for (const Algorithm& algorithm : AllAlgorithms()) {
    const std::string name(algorithm.name);
    add(algorithm.op, name);
    const std::string family = name.substr(0, name.find(':'));
    if (family == name) continue;
    std::vector<std::string> numbers;
    if (family == "knomial") numbers = {"2", "3", "5", "8"};
    if (family == "two_level") {
      numbers = {"1", "3", "8", fmt::format("1+{}", n - 1)};
      if (n > 3) numbers.push_back(fmt::format("{}+1+2", n - 3));
    }
    if (family == "torus") {
      numbers = {fmt::format("1x{}", n)};
      for (std::int64_t a = 2; a * 2 <= n; ++a) {
        if (n % a == 0) numbers.push_back(fmt::format("{}x{}", a, n / a));
      }
      if (n % 8 == 0) numbers.push_back(fmt::format("2x{}x2", n / 4));
    }
    EXPECT_FALSE(numbers.empty()) << name << ": say here which numbers are tried";
    for (const std::string& text : numbers) {
      std::string numbered = family;
      numbered += ':' + text;
      add(algorithm.op, numbered);
    }
  }
  return cases;
}

// Nothing may be refused.
void CompareAll(Kind kind, const std::vector<std::int64_t>& group_sizes) {
  std::int64_t compared = 0;
  for (const std::int64_t n : group_sizes) {
    const Machine machine = Of(kind, n);
    const Wiring wiring = WiringOf(machine, n);
    for (const Case& algorithm : Cases(n)) {
      const std::string op(Name(algorithm->op));
      const Schedule schedule = algorithm->Build();
      for (double bytes : {64.0 * static_cast<double>(n), 1048576.0 * static_cast<double>(n)}) {
        for (double ratio : {1.0, 2.0}) {
          if (ratio != 1 && (!Reduces(algorithm->op) || bytes < 1e6)) continue;
          const std::int64_t roots = HasRoot(algorithm->op) ? n : 1;
          for (std::int64_t root = 0; root < roots; root += std::max<std::int64_t>(1, n - 2)) {
            const Question q = {op, bytes, root, ratio, {}};
            const Result<Estimate> e =
                EstimateCollective(wiring, q, algorithm->name, LatencyModel::kSum);
            ASSERT_TRUE(e.ok()) << e.status().ToString();
            ++compared;
            const double simulated = Simulated(machine, schedule, q);
            EXPECT_NEAR(e->time.value(), simulated, 1e-9 * simulated)
                << algorithm->name << " " << op << " N = " << n << ", root " << root << ", "
                << bytes << " B, ratio " << ratio << ": " << e->Reason();
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

std::vector<std::int64_t> From2To(std::int64_t last, std::vector<std::int64_t> and_these = {}) {
  std::vector<std::int64_t> all(last - 1);
  std::iota(all.begin(), all.end(), 2);
  all.insert(all.end(), and_these.begin(), and_these.end());
  return all;
}

TEST(AgreeTest, OnASwitch) { CompareAll(Kind::kSwitch, From2To(13, {16, 24, 37})); }
TEST(AgreeTest, OnAMesh) { CompareAll(Kind::kMesh, From2To(13, {16, 31})); }
TEST(AgreeTest, BetweenNodesOfOneDevice) { CompareAll(Kind::kNodes, From2To(9, {16, 17})); }

TEST(AgreeTest, DISABLED_OnASwitchEveryN) { CompareAll(Kind::kSwitch, From2To(64)); }
TEST(AgreeTest, DISABLED_OnAMeshEveryN) { CompareAll(Kind::kMesh, From2To(64)); }
TEST(AgreeTest, DISABLED_BetweenNodesEveryN) { CompareAll(Kind::kNodes, From2To(64)); }

}  // namespace
}  // namespace chorus
