#include "chorus/cost/formula/formula.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "chorus/base/random.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

Wiring On(std::string_view name) {
  const Result<Machine> m = MachineNamed(name, Catalogue::BuiltIn());
  EXPECT_TRUE(m.ok()) << m.status().ToString();
  return WiringOf(*m, m->topology.device_count());
}

Question Of(std::string op, double bytes) {
  Question q;
  q.op = std::move(op);
  q.bytes = bytes;
  return q;
}

// A name of the formula: with numbers if it takes some.
std::string Named(const Formula& f) {
  const std::string name(f.algorithm);
  return name.back() == ':' ? name + "2" : name;
}

double Time(const Wiring& w, const Question& q, std::string_view algorithm,
            LatencyModel model = LatencyModel::kSum) {
  const Result<Estimate> e = EstimateCollective(w, q, algorithm, model);
  EXPECT_TRUE(e.ok()) << e.status().ToString();
  return e.ok() ? e->time.value() : -1;
}

TEST(FormulaTest, ARingSaysWhy) {
  const Result<Estimate> e =
      EstimateCollective(On("h100-8"), Of("all_reduce", 16e9), "ring", LatencyModel::kSum);
  ASSERT_TRUE(e.ok());
  EXPECT_NEAR(e->bandwidth.value(), 62.222e-3, 1e-6);
  EXPECT_NEAR(e->latency.value(), 14e-6, 1e-12);
  EXPECT_EQ(e->Reason(),
            "2(N - 1)/N x 16 GB / 450 GB/s per direction = 62.2 ms; latency 14 x 1 us = 14 us; "
            "bandwidth bound");
  EXPECT_NEAR(e->busbw.value(), 449.9e9, 0.1e9);
  EXPECT_NEAR(e->algbw.value(), 257e9, 0.2e9);
}

TEST(FormulaTest, OneRankTakesNoTime) {
  for (const Formula& f : AllFormulas()) {
    const Wiring w = On("h100-1");
    EXPECT_EQ(Time(w, Of(std::string(f.op), 1e6), Named(f)), 0) << f.op << f.algorithm;
  }
}

TEST(FormulaTest, LatencyModelsDifferAsTheySay) {
  const Wiring w = On("v5e-1x4");
  const Question small = Of("all_gather", 131'072);
  const double hop = 131'072.0 / 4 / 45e9;  // 0.728 us, less than the 1 us of a hop
  EXPECT_NEAR(Time(w, small, "torus", LatencyModel::kSum), 3 * (1e-6 + hop), 1e-12);
  EXPECT_NEAR(Time(w, small, "torus", LatencyModel::kMax), 3e-6, 1e-12);
  const Question large = Of("all_gather", 33'554'432);
  EXPECT_NEAR(Time(w, large, "torus", LatencyModel::kMax), 3 * 33'554'432.0 / 4 / 45e9, 1e-12);
}

TEST(FormulaTest, SlowerLevelDecidesInPipeline) {
  const Wiring w = On("h100-8x2");
  const double v = 1e9;
  EXPECT_NEAR(Time(w, Of("all_gather", v), "pipelined_hierarchical"), v * 7 / 8 / 450e9, 2e-6);
  EXPECT_NEAR(Time(w, Of("all_gather", v), "hierarchical:8"), v * 7 / 8 / 450e9 + v / 2 / 400e9,
              7e-6);
  // The more pieces, the nearer, as long as bytes decide.
  double before = Time(w, Of("all_reduce", v), "hierarchical:8");
  const double bound = Time(w, Of("all_reduce", v), "pipelined_hierarchical");
  for (const char* pieces : {"hierarchical:8x2", "hierarchical:8x4", "hierarchical:8x8"}) {
    const double now = Time(w, Of("all_reduce", v), pieces);
    EXPECT_LT(now, before) << pieces;
    EXPECT_GT(now, bound) << pieces;
    before = now;
  }
  const Result<Estimate> e =
      EstimateCollective(w, Of("all_gather", v), "pipelined_hierarchical", LatencyModel::kSum);
  EXPECT_THAT(e->Reason(), HasSubstr("; hidden behind it: (M - 1)/M x 1 GB / 400 GB/s"));
}

TEST(FormulaTest, ASwitchThatReducesHalvesTheBytes) {
  EXPECT_NEAR(Time(On("h100-8"), Of("all_reduce", 1e9), "sharp"), 1e9 / 450e9 + 1e-6, 1e-12);
  EXPECT_THAT(EstimateCollective(On("a100-8"), Of("all_reduce", 1e9), "sharp", LatencyModel::kSum)
                  .status()
                  .message(),
              HasSubstr("sharp needs a switch that reduces"));
}

TEST(FormulaTest, AMeshHasALinkForEachPeer) {
  const Wiring w = On("mi300x-8");
  EXPECT_NEAR(Time(w, Of("all_gather", 8e9), "direct"), 1e9 / 64e9 + 1e-6, 1e-12);
  EXPECT_NEAR(Time(w, Of("all_gather", 8e9), "ring"), 7 * (1e9 / 64e9 + 1e-6), 1e-12);
}

TEST(FormulaTest, ComparesAllThatTheMachineAllows) {
  const Result<std::vector<Estimate>> all =
      CompareAlgorithms(On("h100-8"), Of("all_reduce", 16e9), LatencyModel::kSum);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->front().algorithm, "sharp");
  EXPECT_EQ(all->back().algorithm, "naive");
  EXPECT_GE(all->size(), 8U);
  for (std::size_t i = 1; i < all->size(); ++i) EXPECT_LE((*all)[i - 1].time, (*all)[i].time);
}

// Of every operation, on every machine of the catalogue, whole and in part, with every algorithm
// that
// --compare has there.
TEST(FormulaTest, NothingBeatsTheLowerBound) {
  std::vector<std::string> names = {"h100-8x2", "h100-8x4", "h100-1x16", "ib_ndr-32", "v5e-1x4",
                                    "v5e-16",   "v5e-8x4",  "v5e-4x4",   "v3-4x4",    "v5p-4x4x4"};
  for (const std::string& name : Catalogue::BuiltIn().Names()) names.push_back(name);
  int compared = 0;
  for (const std::string& name : names) {
    const Result<Machine> machine = MachineNamed(name, Catalogue::BuiltIn());
    // A torus needs axes, and a network alone is as large as one likes.
    if (!machine.ok() || machine->topology.device_count() > 128) continue;
    std::vector<Topology::Definition> kinds = {machine->topology.definition()};
    if (kinds[0].nodes > 1) {  // a switch that reduces above it, and one that is too slow
      kinds.push_back(kinds[0]);
      kinds.back().network_reduces = true;
      kinds.push_back(kinds[0]);
      kinds.back().leaf_nodes = 1;
      kinds.back().oversubscription = 3;
    }
    for (const Topology::Definition& kind : kinds) {
      Machine m = *machine;
      m.topology = *Topology::Make(kind);
      const std::int64_t devices = m.topology.device_count();
      for (const std::int64_t ranks : {devices, devices - 1, devices / 2 + 1}) {
        if (ranks < 2 || (ranks < devices && kind.fabric == Fabric::kTorus)) continue;
        const Wiring w = WiringOf(m, ranks);
        for (const std::string& op : FormulaOps()) {
          for (double bytes : {0.0, 1e3, 1e9}) {
            for (LatencyModel model :
                 {LatencyModel::kSum, LatencyModel::kMax, LatencyModel::kNccl}) {
              Question q = Of(op, bytes);
              q.root = ranks - 1;
              const LowerBound bound = LowerBoundOf(w, q);
              const Result<std::vector<Estimate>> all = CompareAlgorithms(w, q, model);
              if (!all.ok()) continue;
              for (const Estimate& e : *all) {
                ++compared;
                const double time = e.time.value() * (1 + 1e-9);
                EXPECT_GE(time, bound.bandwidth.value())
                    << name << " " << op << " " << e.algorithm << ", " << ranks << " ranks, "
                    << bound.reason;
                if (model == LatencyModel::kNccl) continue;
                EXPECT_GE(time, bound.latency.value())
                    << name << " " << op << " " << e.algorithm << ", " << ranks << " ranks";
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 5000);
}

TEST(FormulaTest, TheLowerBoundSaysWhereItComesFrom) {
  const auto reason = [](std::string_view machine, std::string op, std::int64_t root = 0) {
    Question q = Of(std::move(op), 36e9);
    q.root = root;
    return LowerBoundOf(On(machine), q).reason;
  };
  // A switch that reduces takes V and gives V; one that does not 2(N - 1)/N V.
  EXPECT_EQ(reason("h100-8", "all_reduce"), "V / 450 GB/s per direction, its port: 80 ms");
  EXPECT_EQ(reason("a100-8", "all_reduce"),
            "2(N - 1)/N x V / 300 GB/s per direction, its port: 210 ms");
  EXPECT_EQ(reason("h100-8x2", "all_reduce"),
            "2(M - 1)/M x V / 400 GB/s per direction, the ports of a node: 90 ms");
  EXPECT_EQ(reason("mi300x-8", "all_gather"),
            "(N - 1)/N x V / 448 GB/s per direction, all links of a device: 70.3 ms");
  // Half of a torus sends to the other what formula `torus` says that the busiest link carries.
  EXPECT_EQ(reason("v5e-16", "all_to_all"),
            "4 x V / 90 GB/s per direction, between the halves of an axis: 1.6 s");
  // A chain can sum up one way and back the other at once.
  EXPECT_EQ(reason("v5e-1x4", "all_reduce"),
            "2(N - 1)/N x V / 67.5 GB/s per direction, all links of a device: 800 ms");
  // An end of a chain has one link, the rank beside it two.
  EXPECT_EQ(reason("v5e-1x4", "gather", 3),
            "(N - 1)/N x V / 45 GB/s per direction, all links of a device: 600 ms");
  EXPECT_EQ(reason("v5e-1x4", "gather", 2),
            "(N - 1)/N x V / 90 GB/s per direction, all links of a device: 300 ms");
  EXPECT_EQ(reason("h100-8", "barrier"), "latency alone: 1 us");
  EXPECT_EQ(LowerBoundOf(On("h100-8"), Of("all_reduce", 0)).reason, "latency alone: 1 us");
}

// W of split products, and the slice of a torus that some of its devices are.
TEST(FormulaTest, WhatComesIntoADeviceInAGather) {
  const auto gather = [](std::string_view name, std::int64_t ranks) {
    const Machine machine = *MachineNamed(name, Catalogue::BuiltIn());
    const std::optional<Wiring> slice = SliceOf(machine, ranks);
    return slice ? slice->GatherBandwidth().value() / 1e9 : 0;
  };
  EXPECT_DOUBLE_EQ(gather("h100-8", 8), 450);
  EXPECT_DOUBLE_EQ(gather("h100-8", 3), 450);
  EXPECT_DOUBLE_EQ(gather("h100-1x8", 8), 50);
  EXPECT_DOUBLE_EQ(gather("h100-8x2", 16), 450);  // 8 of 16 parts through 400 GB/s: 750 GB/s
  EXPECT_DOUBLE_EQ(gather("h100-8x512", 4096), 400.0 * 4095 / 4088);
  EXPECT_DOUBLE_EQ(gather("mi300x-8", 8), 448);
  EXPECT_DOUBLE_EQ(gather("v5e-4", 4), 45);
  EXPECT_DOUBLE_EQ(gather("v5e-16", 16), 90);
  EXPECT_DOUBLE_EQ(gather("v5p-4x4x4", 4), 180);  // an axis that wraps
  EXPECT_DOUBLE_EQ(gather("v5p-4x4x4", 8), 270);  // that and a part of another, or three parts
  EXPECT_DOUBLE_EQ(gather("v5p-4x4x4", 16), 360);
  EXPECT_DOUBLE_EQ(gather("v5p-4x4x4", 64), 540);
  EXPECT_EQ(gather("v5p-4x4x4", 5), 0);
  EXPECT_DOUBLE_EQ(gather("h100-8x2", 9), 50);   // 8 parts through the one port of the ninth
  EXPECT_DOUBLE_EQ(gather("h100-8x4", 17), 50);  // likewise 16
}

// A gather at W does not undercut what any all_gather takes, however full the last node is.
TEST(FormulaTest, WIsNotAboveWhatTheBoundAllows) {
  for (const char* name : {"h100-8x4", "h100-1x8", "mi300x-8x2", "gb200-72x2"}) {
    const Machine machine = *MachineNamed(name, Catalogue::BuiltIn());
    for (std::int64_t ranks = 2; ranks <= machine.topology.device_count(); ++ranks) {
      const Wiring w = WiringOf(machine, ranks);
      const auto n = static_cast<double>(ranks);
      const double gather = (n - 1) / n * 1e9 / w.GatherBandwidth().value();
      EXPECT_GE(gather, LowerBoundOf(w, Of("all_gather", 1e9)).bandwidth.value() * (1 - 1e-12))
          << name << ", " << ranks << " ranks";
    }
  }
}

TEST(FormulaTest, CrossoversAreWhereTimesAreEqual) {
  const Wiring w = On("h100-8");
  const std::optional<double> at =
      Crossover(w, Of("all_reduce", 0), "ring", "one_shot", LatencyModel::kSum);
  ASSERT_TRUE(at.has_value());
  const Question there = Of("all_reduce", *at);
  EXPECT_NEAR(Time(w, there, "ring") / Time(w, there, "one_shot"), 1, 1e-9);
  EXPECT_FALSE(Crossover(w, Of("all_reduce", 0), "naive", "one_shot", LatencyModel::kMax));
  // V* of a ring: 8 x 1 us x 450 GB/s.
  EXPECT_NEAR(RingKnee(w), 3.6e6, 1);
  EXPECT_NEAR(RingKnee(w), 8 * 1e-6 * 450e9, 1e-6);
}

TEST(FormulaTest, NcclsModelPicksAProtocolBySize) {
  const Wiring w = On("h100-8");
  const auto protocol = [&](double bytes) {
    return EstimateCollective(w, Of("all_reduce", bytes), "ring", LatencyModel::kNccl)->protocol;
  };
  EXPECT_EQ(protocol(128), "LL");
  EXPECT_EQ(protocol(16 << 20), "LL128");
  EXPECT_EQ(protocol(1 << 30), "Simple");
  EXPECT_THAT(EstimateCollective(On("v5e-4x4"), Of("all_reduce", 1), "ring", LatencyModel::kNccl)
                  .status()
                  .message(),
              HasSubstr("has tables of NVIDIA hardware only"));
}

// What worse links may take off an estimate, inherently (docs/decisions/0097-latency-anomaly.md):
// between nodes of several devices, where messages of several pairs and rounds share a port. More
// bytes take nothing off anywhere.
struct Gain {
  double slower = 0;
  double later = 0;
};
Gain MostGain(const Wiring& w, const Formula& f, const Estimate& e) {
  if (e.Reason().find("along the longest chain of messages") == std::string::npos) return {};
  if (w.nodes == 1 || w.node_size == 1) return {};
  if (f.algorithm == "bruck") return {0.05, 0.08};
  if (f.algorithm == "two_level:") return {0.01, 0.06};
  if (f.op == "scan" || f.op == "exscan") return {0.01, 0.03};
  if (f.algorithm == "halving_doubling" || f.algorithm == "recursive_halving") return {0, 0.02};
  if (f.op == "broadcast" && f.algorithm == "double_tree") return {0, 0.03};
  return {};
}

// More bytes, slower links, higher latency: never a shorter time. Of every formula, on random
// machines.
TEST(FormulaTest, NothingGetsFasterByMoreBytesOrWorseLinks) {
  const RandomStream random(11, "monotony");
  std::uint64_t draw = 0;
  const auto scaled = [&](double low, double high) {
    return low * std::pow(high / low, random.Uniform(draw++));
  };
  const char* machines[] = {"h100-8",  "h100-5",  "a100-8x4",  "mi300x-8", "v5e-16",
                            "v5e-8x4", "v5e-4x4", "h100-1x16", "h100-7x2", "v5e-2"};
  int compared = 0;
  for (int trial = 0; trial < 50; ++trial) {
    Wiring w = On(machines[trial % 10]);
    w.link = {Seconds(scaled(1e-8, 1e-4)), BytesPerSecond(scaled(1e8, 1e12))};
    w.nic = {Seconds(scaled(1e-8, 1e-4)), BytesPerSecond(scaled(1e8, 1e12))};
    Wiring slower = w, later = w;
    slower.link.bandwidth = BytesPerSecond(w.link.bandwidth.value() / scaled(1, 10));
    slower.nic.bandwidth = BytesPerSecond(w.nic.bandwidth.value() / scaled(1, 10));
    later.link.latency = Seconds(w.link.latency.value() * scaled(1, 10));
    later.nic.latency = Seconds(w.nic.latency.value() * scaled(1, 10));
    const double bytes = scaled(1, 1e11), more = bytes * scaled(1, 10);
    for (const Formula& f : AllFormulas()) {
      for (LatencyModel model : {LatencyModel::kSum, LatencyModel::kMax, LatencyModel::kNccl}) {
        Question q = Of(std::string(f.op), bytes);
        q.root = w.ranks - 1;
        const Result<Estimate> here = EstimateCollective(w, q, Named(f), model);
        if (!here.ok()) continue;
        ++compared;
        const double least = here->time.value() * (1 - 1e-12);
        const Gain gain = MostGain(w, f, *here);
        const std::string what = fmt::format("{} {}, model {}", f.op, f.algorithm, Name(model));
        EXPECT_GE(Time(slower, q, Named(f), model), (1 - gain.slower) * least) << what;
        EXPECT_GE(Time(later, q, Named(f), model), (1 - gain.later) * least) << what;
        q.bytes = more;
        EXPECT_GE(Time(w, q, Named(f), model), least) << what;
      }
    }
  }
  EXPECT_GT(compared, 2000);
}

TEST(FormulaTest, BadInputSaysWhatWouldBeRight) {
  const auto message = [](const Question& q, std::string_view algorithm) {
    return std::string(
        EstimateCollective(On("h100-8"), q, algorithm, LatencyModel::kSum).status().message());
  };
  EXPECT_EQ(message(Of("all_reduce", 1), "rign"),
            "there is no formula for rign all_reduce; did you mean 'ring'?");
  EXPECT_EQ(message(Of("allreduce", 1), "ring"),
            "there is no operation 'allreduce'; did you mean 'all_reduce'?");
  EXPECT_THAT(message(Of("all_reduce", -1), "ring"), HasSubstr("a size of -1 bytes"));
  Question q = Of("broadcast", 1);
  q.root = 8;
  EXPECT_THAT(message(q, "binomial"), HasSubstr("root 8 of 8 ranks; give 0 to 7"));
  for (const char* name : {"knomial:1", "knomial:65", "knomial:2x3", "knomial:", "knomial:a"}) {
    EXPECT_THAT(message(Of("broadcast", 1), name), HasSubstr("write knomial:K with K from 2"));
  }
  EXPECT_THAT(message(Of("broadcast", 1), "two_level:3x5"), HasSubstr("two_level:3+1+2"));
  EXPECT_EQ(message(Of("broadcast", 1), "two_level:3+3"),
            "these groups have 6 ranks, the machine 8; give sizes whose sum is 8");
  EXPECT_EQ(
      message(Of("all_gather", 1), "hierarchical:3"),
      "hierarchical:3 is for whole groups, and 8 ranks are none; two_level:3 takes any number "
      "of ranks");
  EXPECT_THAT(message(Of("all_gather", 1), "hierarchical:4+4"), HasSubstr("write hierarchical:8"));
  EXPECT_THAT(message(Of("all_reduce", 1), "hierarchical:4x65"), HasSubstr("hierarchical:8x4"));
  EXPECT_THAT(message(Of("all_gather", 1), "hierarchical:4x2"),
              HasSubstr("pieces are of all_reduce; write hierarchical:4"));
  EXPECT_EQ(message(Of("all_gather", 1), "torus:3x3"),
            "this torus has 9 ranks, the machine 8; give sizes whose product is 8");
  EXPECT_THAT(message(Of("all_gather", 1), "torus"), HasSubstr("torus is of a torus"));
  EXPECT_EQ(ParseLatencyModel("som").status().message(),
            "there is no latency model 'som'; did you mean 'sum'?");
}

}  // namespace
}  // namespace chorus
