#include "chorus/cost/simulate/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "chorus/algorithm/algorithm.h"
#include "chorus/base/random.h"
#include "chorus/cost/simulate/machines_test.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

Schedule Built(std::string_view name, OpKind op) { return (*FindAlgorithm(name, op))->Build(); }

SimulatedCall Call(const Schedule& s, std::int64_t n, double bytes) {
  SimulatedCall call;
  call.schedule = &s;
  call.group_size = n;
  call.payload.bytes = bytes;
  return call;
}

Simulation Simulated(const Topology& t, const SimulatedCall& call, const SimulateOptions& o = {}) {
  Result<Simulation> s = Simulate(t, {call}, o);
  EXPECT_TRUE(s.ok()) << s.status().ToString();
  return *std::move(s);
}

TEST(SimulateTest, ARingTakesItsStepsOneAfterAnother) {
  const Schedule ring = Built("ring", OpKind::kAllReduce);
  const Simulation s = Simulated(Switch(4), Call(ring, 4, 4e6));
  EXPECT_DOUBLE_EQ(s.seconds, 6 * (kLinkAlpha + 1e6 / kLinkBandwidth));
  EXPECT_EQ(s.shift, 1);
  EXPECT_EQ(s.critical_path.size(), 6U);
  // Each port carries 6 MB in 66 us: all but the latency.
  ASSERT_EQ(s.links.size(), 2U);
  EXPECT_DOUBLE_EQ(s.links[0].bytes, 6e6);
  EXPECT_NEAR(s.links[0].busy, 60.0 / 66.0, 1e-12);
}

// One rank stands for all, and yet the path goes from rank to rank: each message begins when the
// one before it ends, at one of its two ends.
TEST(SimulateTest, TheCriticalPathIsAPathAlsoBySymmetry) {
  for (const char* name : {"ring", "halving_doubling", "direct"}) {
    const Schedule schedule = Built(name, OpKind::kAllReduce);
    const Simulation s = Simulated(Switch(8), Call(schedule, 8, 8e6));
    SCOPED_TRACE(name);
    ASSERT_GT(s.critical_path.size(), 1U);
    EXPECT_DOUBLE_EQ(s.critical_path.back().end, s.seconds);
    for (std::size_t i = 1; i < s.critical_path.size(); ++i) {
      const TimedStep& before = s.critical_path[i - 1];
      const TimedStep& step = s.critical_path[i];
      EXPECT_DOUBLE_EQ(before.end, step.begin);
      EXPECT_TRUE(step.rank == before.rank || step.rank == before.peer ||
                  step.peer == before.rank || step.peer == before.peer)
          << before.rank << " -> " << before.peer << ", then " << step.rank << " -> " << step.peer;
    }
  }
}

TEST(SimulateTest, MessagesOfOnePortShareIt) {
  const Schedule direct = Built("direct", OpKind::kAllGather);
  const Simulation s = Simulated(Switch(8), Call(direct, 8, 8e6));
  EXPECT_NEAR(s.seconds, kLinkAlpha + 7e6 / kLinkBandwidth, 1e-15);
}

TEST(SimulateTest, OneWireForAccumulatorsOneForElements) {
  const Schedule ring = Built("ring", OpKind::kReduceScatter);
  SimulatedCall call = Call(ring, 4, 4e6);
  call.payload.accumulator_ratio = 2;
  EXPECT_NEAR(Simulated(Switch(4), call).seconds, 3 * kLinkAlpha + 5e6 / kLinkBandwidth, 1e-15);
}

TEST(SimulateTest, UnevenBlocksAndEmptyOnes) {
  const Schedule gather = Built("direct", OpKind::kAllGather);
  SimulatedCall call = Call(gather, 3, 0);
  call.payload.block_bytes = {0, 1e6, 3e6};
  const Simulation s = Simulated(Switch(3), call);
  // Rank 2 sends 3 MB twice; nothing else lasts as long.
  EXPECT_NEAR(s.seconds, kLinkAlpha + 6e6 / kLinkBandwidth, 1e-15);
  EXPECT_EQ(s.shift, 3);
}

// Over a line the two ends have no direct link: what goes from the last rank to the first passes
// all others, and every block but one passes there once.
TEST(SimulateTest, RoutesOfSeveralLinks) {
  const Schedule ring = Built("ring", OpKind::kAllGather);
  const double chunk = 1e6 / kLinkBandwidth;
  EXPECT_NEAR(Simulated(Torus({{4, true}}), Call(ring, 4, 4e6)).seconds, 3 * (kLinkAlpha + chunk),
              1e-15);
  EXPECT_NEAR(Simulated(Torus({{4, false}}), Call(ring, 4, 4e6)).seconds,
              5 * kLinkAlpha + 3 * chunk, 1e-15);
}

// Two messages of one pair, the second ready first: the first has 5 signals before it.
//
//   in order   the second waits for the first, and its latency is long over: 6 L + 2 MB/W + 4 MB/W
//   shared     the second would have gone first
TEST(SimulateTest, MessagesOfAPairFlowInTheOrderOfTheSchedule) {
  const Result<Schedule> s = Schedule::Parse(R"(
schedule in_order broadcast
  blocks 3
begin
  for k in 0 .. 4
    p[k]: send signal to 2 as k after q[k - 1] if r == 0 && k % 2 == 0
    q[k]: recv signal from 2 as k after p[k - 1] if r == 0 && k % 2 == 1
    p[k]: recv signal from 0 as k after q[k - 1] if r == 2 && k % 2 == 0
    q[k]: send signal to 0 as k after p[k - 1] if r == 2 && k % 2 == 1
  end
  a: send in[0] to 1 as 8 after p[4] if r == 0
  b: send in[1] to 1 as 9 if r == 0
  c: recv out[0] from 0 as 8 if r == 1
  d: recv out[1] from 0 as 9 if r == 1
end
)");
  ASSERT_TRUE(s.ok()) << s.status().ToString();
  SimulatedCall call = Call(*s, 3, 0);
  call.payload.block_bytes = {2e6, 4e6, 0};
  SimulateOptions o;
  o.trace = true;
  const Simulation simulated = Simulated(Switch(3), call, o);
  const double first = 6 * kLinkAlpha + 2e6 / kLinkBandwidth;
  EXPECT_NEAR(simulated.seconds, first + 4e6 / kLinkBandwidth, 1e-15);
  // What queues is shown from where it flows, and what it queued behind is on the critical path.
  ASSERT_EQ(simulated.critical_path.size(), 7U);
  EXPECT_NEAR(simulated.critical_path[5].end, first, 1e-15);
  EXPECT_NEAR(simulated.critical_path[6].begin, first, 1e-15);
  EXPECT_EQ(simulated.critical_path[6].bytes, 4e6);
  EXPECT_EQ(simulated.trace.back().begin, simulated.critical_path[6].begin);
}

// Behind the slow device's port its blocks queue, and each is there as soon as it can: 14 messages
// at half speed, the first of which alone pays its latency; the last one is slow in the ring's last
// turn, after which nothing depends on it.
TEST(SimulateTest, ARingGoesAtThePaceOfItsSlowestDevice) {
  const Schedule ring = Built("ring", OpKind::kAllReduce);
  SimulateOptions o;
  o.slow_devices = {{3, 2.0}};
  const double slow_message = 2 * 16e9 / 8 / kLinkBandwidth;
  const double took = Simulated(Switch(8), Call(ring, 8, 16e9), o).seconds;
  EXPECT_GE(took, 14 * slow_message);
  EXPECT_LE(took, 14 * (slow_message + kLinkAlpha) * (1 + 1e-12));
}

TEST(SimulateTest, TilesFlowAndScratchHoldsThemBack) {
  // A chain of 3 broadcasts 4 tiles: with 2 in flight the third waits for the first.
  const Result<Schedule> chain = Schedule::Parse(
      "schedule chain broadcast\n  blocks 1\n  tiles 4\nbegin\n"
      "  v: recv out[0] from r - 1 as 0 if r > 0\n"
      "  s: send (r == 0 ? in[0] : out[0]) to r + 1 as 0 after v if r < N - 1\nend\n");
  ASSERT_TRUE(chain.ok()) << chain.status().ToString();
  SimulatedCall call = Call(*chain, 3, 8e6);
  const double whole = Simulated(Switch(3), call).seconds;
  EXPECT_NEAR(whole, 2 * (kLinkAlpha + 8e6 / kLinkBandwidth), 1e-15);
  call.payload.tile_bytes = 2e6;
  // The tiles leave one after another; the second hop follows as they arrive.
  const double tiled = Simulated(Switch(3), call).seconds;
  EXPECT_NEAR(tiled, 2 * kLinkAlpha + 5 * 2e6 / kLinkBandwidth, 1e-15);
  const Result<Schedule> one = Schedule::Parse(
      "schedule chain broadcast\n  blocks 1\nbegin\n"
      "  v: recv out[0] from r - 1 as 0 if r > 0\n"
      "  s: send (r == 0 ? in[0] : out[0]) to r + 1 as 0 after v if r < N - 1\nend\n");
  SimulatedCall single = Call(*one, 3, 8e6);
  single.payload.tile_bytes = 2e6;
  // One in flight on each rank: rank 1 passes tile t on before it takes t + 1.
  EXPECT_NEAR(Simulated(Switch(3), single).seconds, 8 * (kLinkAlpha + 2e6 / kLinkBandwidth), 1e-14);
}

TEST(SimulateTest, LocalWorkTakesTimeIfAskedFor) {
  const Schedule ring = Built("ring", OpKind::kReduceScatter);
  SimulateOptions o;
  o.local_seconds_per_byte = 1e-12;
  const Simulation s = Simulated(Switch(4), Call(ring, 4, 4e6), o);
  EXPECT_NEAR(s.seconds, 3 * (kLinkAlpha + 1e6 / kLinkBandwidth + 1e6 * 1e-12), 1e-15);
}

TEST(SimulateTest, SeveralCallsAtOnceShareLinks) {
  const Schedule ring = Built("ring", OpKind::kAllGather);
  const SimulatedCall call = Call(ring, 4, 4e6);
  const Result<Simulation> both = Simulate(Switch(4), {call, call});
  ASSERT_TRUE(both.ok());
  EXPECT_NEAR(both->seconds, 3 * (kLinkAlpha + 2e6 / kLinkBandwidth), 1e-15);
  // On other devices, or at another time, they do not meet.
  SimulatedCall elsewhere = call;
  elsewhere.devices = {4, 5, 6, 7};
  SimulatedCall later = call;
  later.start = 1;
  const double alone = Simulated(Switch(4), call).seconds;
  EXPECT_NEAR(Simulate(Switch(8), {call, elsewhere})->seconds, alone, 1e-15);
  EXPECT_NEAR(Simulate(Switch(4), {call, later})->seconds, 1 + alone, 1e-12);
}

TEST(SimulateTest, ANarrowNetworkBetweenNodesIsShared) {
  Topology::Definition d = Switch(2, 4).definition();
  d.leaf_nodes = 2;
  d.oversubscription = 4;
  const Schedule direct = Built("direct", OpKind::kAllGather);
  const Simulation s = Simulated(*Topology::Make(d), Call(direct, 8, 8e6));
  // 4 ranks below a leaf send 4 blocks each across: 16 MB over 4 x 25 GB/s / 4.
  EXPECT_NEAR(s.seconds, 5e-6 + 16e6 / 25e9, 1e-6);
  EXPECT_NEAR(s.links[0].busy, 1, 0.02);
}

// One rank of each orbit must give what all ranks give.
// More latency can shorten what shares a link. The port into rank 1 is shared by B, 2 MB from rank
// 0 on which C, 4 MB from 1 to 2, waits, and by A, 4 MB from rank 3 that comes after 5 signals. The
// more latency, the later comes A and the longer has B the port for itself:
//
//   latency    B begins, A begins   B ends             C ends
//   0          0, 0                 4 MB/W             8 MB/W
//   L          L, 6 L               4 MB/W - 4 L       8 MB/W - 3 L, until L = 0.4 MB/W
TEST(SimulateTest, ALaterFlowCanLeaveALinkToAnother) {
  const Result<Schedule> s = Schedule::Parse(R"(
schedule anomaly broadcast
  blocks 4
begin
  b: send in[0] to 1 as 0 if r == 0
  v: recv out[0] from 0 as 0 if r == 1
  c: send out[1] to 2 as 0 after v if r == 1
  w: recv out[1] from 1 as 0 if r == 2
  for k in 0 .. 4
    p[k]: send signal to 4 as k after q[k - 1] if r == 3 && k % 2 == 0
    q[k]: recv signal from 4 as k after p[k - 1] if r == 3 && k % 2 == 1
    p[k]: recv signal from 3 as k after q[k - 1] if r == 4 && k % 2 == 0
    q[k]: send signal to 3 as k after p[k - 1] if r == 4 && k % 2 == 1
  end
  a: send in[2] to 1 as 9 after p[4] if r == 3
  d: recv out[2] from 3 as 9 if r == 1
end
)");
  ASSERT_TRUE(s.ok()) << s.status().ToString();
  const double mb = 1e6 / kLinkBandwidth;  // s
  const auto took = [&](double latency) {
    Topology::Definition d = Switch(5).definition();
    d.link.latency = Seconds(latency);
    SimulatedCall call = Call(*s, 5, 0);
    call.payload.block_bytes = {2e6, 4e6, 4e6, 0};
    return Simulated(*Topology::Make(d), call).seconds;
  };
  EXPECT_NEAR(took(0), 8 * mb, 1e-9 * mb);
  EXPECT_NEAR(took(0.2 * mb), 7.4 * mb, 1e-9 * mb);
  EXPECT_NEAR(took(0.4 * mb), 6.8 * mb, 1e-9 * mb);
  EXPECT_NEAR(took(mb), 10 * mb, 1e-9 * mb);
}

// More bytes, slower links, more latency: never a shorter time. But for latency between nodes of
// several devices, where messages of bruck to several peers share a port: by 0.16 % at most in what
// is tried here (docs/decisions/0097-latency-anomaly.md). Each algorithm has numbers of its own,
// whatever others there are.
TEST(SimulateTest, NothingGetsFasterByMoreBytesOrWorseLinks) {
  for (const Algorithm& algorithm : AllAlgorithms()) {
    const std::string name = std::string(algorithm.name) + " " + std::string(Name(algorithm.op));
    const RandomStream random(5, "monotony " + name);
    std::uint64_t draw = 0;
    const auto scaled = [&](double low, double high) {
      return low * std::pow(high / low, random.Uniform(draw++));
    };
    const Schedule schedule = algorithm.Build();
    for (int trial = 0; trial < 12; ++trial) {
      for (Topology::Definition d : {Switch(6).definition(), Switch(2, 4).definition()}) {
        d.link = {Seconds(scaled(1e-8, 1e-4)), BytesPerSecond(scaled(1e8, 1e12))};
        d.nic = {Seconds(scaled(1e-8, 1e-4)), BytesPerSecond(scaled(1e8, 1e12))};
        const Topology topology = *Topology::Make(d);
        if (!algorithm.Fits(topology.device_count()).ok()) continue;
        SimulatedCall call = Call(schedule, topology.device_count(), scaled(1, 1e9));
        const double least = Simulated(topology, call).seconds * (1 - 1e-9);
        Topology::Definition slower = d, later = d;
        slower.link.bandwidth = BytesPerSecond(d.link.bandwidth.value() / 3);
        slower.nic.bandwidth = BytesPerSecond(d.nic.bandwidth.value() / 3);
        later.link.latency = Seconds(d.link.latency.value() * 3);
        later.nic.latency = Seconds(d.nic.latency.value() * 3);
        EXPECT_GE(Simulated(*Topology::Make(slower), call).seconds, least) << name;
        const bool shares =
            d.nodes > 1 && (algorithm.name == "bruck" || algorithm.name == "recursive_doubling");
        EXPECT_GE(Simulated(*Topology::Make(later), call).seconds, (shares ? 1 - 3e-3 : 1) * least)
            << name;
        call.payload.bytes *= 3;
        EXPECT_GE(Simulated(topology, call).seconds, least) << name;
      }
    }
  }
}

TEST(SimulateTest, JitterAndSlowLinksFollowTheSeed) {
  const Schedule ring = Built("ring", OpKind::kAllReduce);
  const SimulatedCall call = Call(ring, 16, 16e3);
  SimulateOptions o;
  o.jitter = 0.5;
  o.seed = 1;
  const double once = Simulated(Switch(16), call, o).seconds;
  EXPECT_EQ(Simulated(Switch(16), call, o).seconds, once);
  EXPECT_GT(once, Simulated(Switch(16), call).seconds);
  o.seed = 2;
  EXPECT_NE(Simulated(Switch(16), call, o).seconds, once);
  SimulateOptions slow;
  slow.slow_links.push_back({0, 3.0});
  EXPECT_GT(Simulated(Switch(16), call, slow).seconds, Simulated(Switch(16), call).seconds);
}

TEST(SimulateTest, TheTraceHasEveryStep) {
  const Schedule ring = Built("ring", OpKind::kAllGather);
  SimulateOptions o;
  o.trace = true;
  o.symmetry = false;
  const Simulation s = Simulated(Switch(3), Call(ring, 3, 3e6), o);
  EXPECT_EQ(s.trace.size(), 15U);  // 3 ranks: a copy, 2 sends, 2 recvs
  for (const TimedStep& t : s.trace) EXPECT_LE(t.begin, t.end);
  EXPECT_THAT(TraceJson(s), HasSubstr("{\"name\": \"send to 1\", \"ph\": \"X\", \"pid\": 0, "
                                      "\"tid\": 0, \"ts\": 0.000000, \"dur\": 11.000000"));
}

// What these take is measured in bench/simulate.
TEST(SimulateTest, AThousandRanksWithoutSymmetry) {
  const Schedule ring = Built("ring", OpKind::kAllReduce);
  SimulateOptions full;
  full.symmetry = false;
  const Simulation s = Simulated(Switch(1024), Call(ring, 1024, 1024e6), full);
  EXPECT_EQ(s.shift, 1024);
  EXPECT_EQ(s.messages, 1024 * 2046);
  EXPECT_NEAR(s.seconds, 2046 * (kLinkAlpha + 1e6 / kLinkBandwidth), 1e-9 * s.seconds);
}

TEST(SimulateTest, BadInputSaysWhatWouldBeRight) {
  const Schedule ring = Built("ring", OpKind::kAllReduce);
  const auto message = [&](const SimulatedCall& call, const SimulateOptions& o) {
    return std::string(Simulate(Switch(4), {call}, o).status().message());
  };
  SimulatedCall call = Call(ring, 8, 1e6);
  EXPECT_THAT(message(call, {}), HasSubstr("8 ranks are more than the 4 devices there are"));
  call = Call(ring, 4, 1e6);
  call.devices = {0, 1, 2};
  EXPECT_THAT(message(call, {}), HasSubstr("3 devices are given for 4 ranks"));
  call.devices = {0, 1, 2, 4};
  EXPECT_THAT(message(call, {}), HasSubstr("there is no device 4; give 0 to 3"));
  call.devices.clear();
  SimulateOptions o;
  o.slow_devices = {{4, 2}};
  EXPECT_THAT(message(call, o), HasSubstr("there is no device 4 to slow down"));
  o.slow_devices = {{1, 0.5}};
  EXPECT_THAT(message(call, o), HasSubstr("device 1 cannot be 0.5 times slower"));
  o = {};
  o.most_held = 10;
  EXPECT_EQ(message(call, o),
            "more than 10 steps, chunks and dependencies are too many to simulate: take fewer "
            "ranks");
  o.symmetry = false;
  EXPECT_THAT(message(call, o), HasSubstr("no symmetry joins the ranks here; take fewer ranks"));
  o.symmetry = true;
  o.most_held = 100;
  call.payload.tile_bytes = 1e3;
  EXPECT_THAT(message(call, o), HasSubstr("steps in all tiles of all ranks are too many"));
  call.payload.tile_bytes = 0;
  call.payload.block_bytes = {1, 2};
  EXPECT_THAT(message(call, {}), HasSubstr("2 block sizes are given, ring all_reduce has 4"));
}

TEST(SimulateTest, RanksThatWaitForEachOtherAreAnError) {
  const Result<Schedule> s = Schedule::Parse(
      "schedule stuck barrier\n  blocks 0\nbegin\n"
      "  v: recv signal from (r + 1) % N as 0\n"
      "  s: send signal to (r - 1) % N as 0 after v\nend\n");
  ASSERT_TRUE(s.ok()) << s.status().ToString();
  EXPECT_THAT(Simulate(Switch(3), {Call(*s, 3, 0)}).status().message(),
              HasSubstr("ranks wait for each other"));
}

}  // namespace
}  // namespace chorus
