// One rank of each orbit stands for all: the same times as when every rank is expanded and
// simulated.
#include <gtest/gtest.h>

#include "chorus/algorithm/algorithm.h"
#include "chorus/cost/simulate/machines_test.h"
#include "chorus/cost/simulate/simulate.h"

namespace chorus {
namespace {

SimulatedCall OrbitCall(const Schedule& s, std::int64_t n, double bytes) {
  SimulatedCall call;
  call.schedule = &s;
  call.group_size = n;
  call.payload.bytes = bytes;
  return call;
}

Simulation InOrbits(const Topology& t, const SimulatedCall& call, const SimulateOptions& o = {}) {
  Result<Simulation> s = Simulate(t, {call}, o);
  EXPECT_TRUE(s.ok()) << s.status().ToString();
  return *std::move(s);
}

// No rank stands for another, neither in what it does nor in when: sizes are given block by block,
// which switches off all use of symmetry.
Simulation EachRank(const Topology& t, SimulatedCall call, const SimulateOptions& o = {}) {
  const std::int64_t blocks = call.schedule->FrameFor(call.group_size, 0)->blocks;
  call.payload.block_bytes.assign(blocks, call.payload.bytes / static_cast<double>(blocks));
  Simulation s = InOrbits(t, call, o);
  EXPECT_TRUE(blocks == 0 || s.shift == call.group_size);
  return s;
}

void ExpectTheSameTimes(const Simulation& a, const Simulation& b, std::int64_t ranks) {
  EXPECT_NEAR(a.seconds, b.seconds, 1e-9 * b.seconds);
  for (std::int64_t r = 0; r < ranks; ++r) {
    EXPECT_NEAR(a.FinishOf(0, r), b.FinishOf(0, r), 1e-9 * b.seconds) << "rank " << r;
  }
}

TEST(OrbitsTest, GiveWhatTheFullSimulationGives) {
  int joined = 0;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    const Schedule schedule = algorithm.Build();
    for (const Topology& topology : {Switch(6), Switch(16), Switch(4, 3),
                                     Torus({{4, true}, {3, false}}), Torus({{8, true}})}) {
      const std::int64_t n = topology.device_count();
      if (!algorithm.Fits(n).ok()) continue;
      SCOPED_TRACE(schedule.name() + " on " + topology.ToString());
      SimulatedCall call = OrbitCall(schedule, n, 1e6 * static_cast<double>(n));
      call.payload.accumulator_ratio = 2;
      call.payload.tile_bytes = 3e5;  // several, which queue behind each other
      const Simulation a = InOrbits(topology, call);
      joined += a.shift < n ? 1 : 0;
      ExpectTheSameTimes(a, EachRank(topology, call), n);
    }
  }
  EXPECT_GT(joined, 40);
}

// Where sums take time, those of a leader are another story at every node.
TEST(OrbitsTest, LocalStepsThatTakeTimeAreComparedToo) {
  SimulateOptions o;
  o.local_seconds_per_byte = 1e-11;
  for (const char* name : {"direct", "two_level:4", "ring", "halving_doubling"}) {
    const Schedule schedule = (*FindAlgorithm(name, OpKind::kAllReduce))->Build();
    const SimulatedCall call = OrbitCall(schedule, 16, 16e6);
    const Topology topology = Switch(4, 4);
    SCOPED_TRACE(name);
    ExpectTheSameTimes(InOrbits(topology, call, o), EachRank(topology, call, o), 16);
  }
}

TEST(OrbitsTest, TwoLevelsOfTwoHundredAndFiftySixRanks) {
  const Topology topology = Switch(8, 32);
  for (const OpKind op : {OpKind::kAllReduce, OpKind::kAllGather, OpKind::kReduceScatter}) {
    for (const char* name : {"two_level:8", "hierarchical:8"}) {
      const Schedule schedule = (*FindAlgorithm(name, op))->Build();
      const SimulatedCall call = OrbitCall(schedule, 256, 256e6);
      SCOPED_TRACE(std::string(name) + " " + std::string(Name(op)));
      const Simulation a = InOrbits(topology, call);
      EXPECT_EQ(a.shift, 8);
      ExpectTheSameTimes(a, EachRank(topology, call), 256);
    }
  }
}

// A slow device breaks the orbit it is in; a regular pattern of them leaves larger orbits.
TEST(OrbitsTest, SlowDevicesSplitTheirs) {
  struct SlowRanks {
    Topology topology;
    Schedule schedule;
    std::int64_t every;
  };
  const Schedule ring = (*FindAlgorithm("ring", OpKind::kAllReduce))->Build();
  const Schedule two_level = (*FindAlgorithm("two_level:8", OpKind::kAllReduce))->Build();
  const std::vector<SlowRanks> cases = {
      {Switch(128), ring, 128},        {Switch(128), ring, 64},        {Switch(128), ring, 8},
      {Switch(8, 32), two_level, 256}, {Switch(8, 32), two_level, 64},
  };
  for (const SlowRanks& c : cases) {
    const std::int64_t n = c.topology.device_count();
    const SimulatedCall call = OrbitCall(c.schedule, n, 1e6 * static_cast<double>(n));
    SimulateOptions o;
    for (std::int64_t d = 0; d < n; d += c.every) o.slow_devices.push_back({d, 2.0});
    SCOPED_TRACE(c.schedule.name());
    const Simulation a = InOrbits(c.topology, call, o);
    EXPECT_EQ(a.shift, c.every);
    ExpectTheSameTimes(a, EachRank(c.topology, call, o), n);
    EXPECT_GT(a.seconds, 1.2 * InOrbits(c.topology, call).seconds);
  }
}

// What these take, and 100,000 ranks, is measured in bench/simulate.
TEST(OrbitsTest, TwentyThousandRanksOfARingAreOne) {
  const Schedule ring = (*FindAlgorithm("ring", OpKind::kAllReduce))->Build();
  const Simulation s = InOrbits(Switch(20'000), OrbitCall(ring, 20'000, 20e9));
  EXPECT_EQ(s.shift, 1);
  EXPECT_EQ(s.messages, 39'998);
  EXPECT_NEAR(s.seconds, 39'998 * (kLinkAlpha + 1e6 / kLinkBandwidth), 1e-9 * s.seconds);
}

// What is too much is refused after a look at a few ranks, whatever the symmetry is.
TEST(OrbitsTest, WhatIsTooMuchIsRefusedAtOnce) {
  const auto refused = [](const char* name, const Topology& topology, const SimulateOptions& o) {
    const Schedule schedule = (*FindAlgorithm(name, OpKind::kAllReduce))->Build();
    const Result<Simulation> s =
        Simulate(topology, {OrbitCall(schedule, topology.device_count(), 1e9)}, o);
    return s.status().code() == StatusCode::kResourceExhausted;
  };
  SimulateOptions slow;
  slow.slow_devices = {{3, 2.0}};
  EXPECT_TRUE(refused("ring", Switch(100'000), slow));
  EXPECT_TRUE(refused("two_level:8", Switch(8, 12'500), slow));
  SimulateOptions little;
  little.most_held = 1'000'000;
  // Each of 2,047 messages to a leader waits for all that it has sent.
  EXPECT_TRUE(refused("two_level:8", Switch(8, 2048), little));
  EXPECT_TRUE(refused("recursive_doubling", Switch(100'000), little));
  EXPECT_FALSE(refused("recursive_doubling", Switch(512), little));
}

// A leader's message waits for the last sum of its blocks, not for the sums of all blocks.
TEST(OrbitsTest, WhatTwoLevelsWaitForGrowsWithTheRanksAlone) {
  SimulateOptions little;
  little.most_held = 1'000'000;
  for (const OpKind op : {OpKind::kReduceScatter, OpKind::kAllGather}) {
    for (const char* name : {"two_level:8", "hierarchical:8"}) {
      const Schedule schedule = (*FindAlgorithm(name, op))->Build();
      const Simulation s = InOrbits(Switch(8, 256), OrbitCall(schedule, 2048, 1e9), little);
      EXPECT_EQ(s.shift, 8) << name << " " << Name(op);
    }
  }
}

TEST(OrbitsTest, SixteenThousandRanksOnTwoLevelsAreEight) {
  const Schedule two_level = (*FindAlgorithm("two_level:8", OpKind::kAllReduce))->Build();
  const double v = 1e9;
  const Simulation s = InOrbits(Switch(8, 2048), OrbitCall(two_level, 16'384, v));
  EXPECT_EQ(s.shift, 8);
  // 7 messages to the leader, 2047 between leaders, the same back.
  EXPECT_EQ(s.messages, 2 * (7 + 2047));
  // The leader's port takes all of its node and gives it back; its NIC its share of all but one.
  const double between = 5e-6 + v * 2047 / 2048 / 25e9,
               within = kLinkAlpha + 7 * v / kLinkBandwidth;
  EXPECT_NEAR(s.seconds, 2 * (within + between), 1e-9 * s.seconds);
}

}  // namespace
}  // namespace chorus
