// The formulas against the simulator: on topologies without congestion they give the same time to
// 1e-9, for every algorithm, every N from 2 to 64 (on a switch; elsewhere to 33), two sizes, with
// partial sums as heavy as elements and twice as heavy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

// What a formula may refuse on a plain switch, where messages of different rounds overlap: N that
// is no power of two where ranks are folded (even N with light sums is fine), groups that differ.
bool MayRefuse(const Algorithm& algorithm, std::int64_t n, double ratio) {
  const bool power = (n & (n - 1)) == 0;
  const std::string_view name = algorithm.name;
  if (name == "halving_doubling" || name == "recursive_doubling" || name == "recursive_halving") {
    const bool folds = algorithm.op == OpKind::kAllReduce && ratio == 1;
    return !power && !(folds && n % 2 == 0);
  }
  return name.substr(0, 10) == "two_level:" && n % algorithm.numbers[0] != 0;
}

void CompareAll(Kind kind, std::int64_t most_ranks) {
  std::int64_t compared = 0;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    const std::string op(Name(algorithm.op));
    if (!FindFormula(op, algorithm.name).ok()) continue;  // EveryAlgorithmHasAFormula sees to it
    const Schedule schedule = algorithm.Build();
    for (std::int64_t n = 2; n <= most_ranks; ++n) {
      if (!algorithm.Fits(n).ok()) continue;
      const Machine machine = Of(kind, n);
      const Wiring wiring = WiringOf(machine, n);
      for (double bytes : {64.0 * static_cast<double>(n), 1048576.0 * static_cast<double>(n)}) {
        for (double ratio : {1.0, 2.0}) {
          if (ratio != 1 && !Reduces(algorithm.op)) continue;
          const std::int64_t roots = HasRoot(algorithm.op) ? n : 1;
          for (std::int64_t root = 0; root < roots; root += std::max<std::int64_t>(1, n / 3)) {
            const Question q = {op, bytes, root, ratio, {}};
            const Result<Estimate> e =
                EstimateCollective(wiring, q, algorithm.name, LatencyModel::kSum);
            if (!e.ok()) {
              EXPECT_EQ(e.status().code(), StatusCode::kUnsupported);
              EXPECT_TRUE(kind == Kind::kMesh || MayRefuse(algorithm, n, ratio))
                  << e.status().ToString();
              continue;
            }
            ++compared;
            const double simulated = Simulated(machine, schedule, q);
            ASSERT_NEAR(e->time.value(), simulated, 1e-9 * simulated)
                << algorithm.name << " " << op << " N = " << n << ", root " << root << ", " << bytes
                << " B, ratio " << ratio << ": " << e->Reason();
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 2000);
}

TEST(AgreeTest, OnASwitch) { CompareAll(Kind::kSwitch, 64); }
TEST(AgreeTest, OnAMesh) { CompareAll(Kind::kMesh, 33); }
TEST(AgreeTest, BetweenNodesOfOneDevice) { CompareAll(Kind::kNodes, 33); }

// An algorithm that is new gets its formula here; until then it stands in the list.
TEST(FormulasTest, EveryAlgorithmHasAFormula) {
  const std::set<std::string> still_missing = {
      // Two trees or a tree and a ring that overlap: only the simulator knows how.
      "double_tree all_reduce",   "double_tree broadcast",   "double_tree reduce",
      "scatter_gather broadcast", "recursive_doubling scan", "recursive_doubling exscan"};
  std::vector<std::string> missing;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    if (FindFormula(Name(algorithm.op), algorithm.name).ok()) continue;
    const std::string name = std::string(algorithm.name) + " " + std::string(Name(algorithm.op));
    if (still_missing.count(name) == 0) missing.push_back(name);
  }
  RecordProperty("without_formula", static_cast<int>(missing.size()));
  for (const std::string& name : missing) {
    std::string op = name.substr(name.find(' ') + 1);
    const Status status = FindFormula(op, name.substr(0, name.find(' '))).status();
    // Never a wrong number: a clear refusal.
    EXPECT_TRUE(status.code() == StatusCode::kUnsupported || status.code() == StatusCode::kNotFound)
        << status.ToString();
  }
  if (!missing.empty()) {
    std::string all;
    for (const std::string& name : missing) all += "\n  " + name;
    GTEST_SKIP() << "no formula yet for" << all;
  }
}

}  // namespace
}  // namespace chorus
