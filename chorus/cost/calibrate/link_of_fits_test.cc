#include "chorus/cost/calibrate/link_of_fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "chorus/cost/calibrate/fit.h"
#include "chorus/cost/formula/formula.h"

namespace chorus {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The machine of that name whose link has these parts of the catalogue's figures.
Machine WithLink(std::string_view name, double bandwidth, double latency) {
  Machine machine = *MachineNamed(name, Catalogue::BuiltIn());
  Topology::Definition d = machine.topology.definition();
  d.link = {d.link.latency * latency, d.link.bandwidth * bandwidth};
  machine.topology = *Topology::Make(std::move(d));
  return machine;
}

struct SizesFrom {
  double least;
  double most;
};
constexpr SizesFrom kAllSizes = {1024, 2e10};

// What a log of `algorithm` on that machine would hold.
std::vector<Measurement> LogOf(const Machine& machine, const std::string& op,
                               const std::string& algorithm, SizesFrom sizes = kAllSizes) {
  const std::int64_t ranks = machine.topology.device_count();
  std::vector<Measurement> log;
  for (double bytes = sizes.least; bytes < sizes.most; bytes *= 8) {
    Question q;
    q.op = op;
    q.bytes = bytes;
    const auto e = EstimateCollective(WiringOf(machine, ranks), q, algorithm, LatencyModel::kSum);
    EXPECT_TRUE(e.ok()) << e.status().ToString();
    log.push_back({op, ranks, 1, bytes, e->time.value()});
  }
  return log;
}

Result<LinkOfFits> LinkOf(const Machine& like, const std::vector<Measurement>& log) {
  return FindLinkOfFits(like, FitAll(log)->curves, log);
}

// How a figure that was found stands to the true one.
enum class Verdict : std::uint8_t { kRight, kLeftOpen, kWrong };

// Right within 3 %; or else within an interval that is said to be no determination.
Verdict Judge(const Measured& found, bool determined, double truth) {
  const bool near = std::abs(found.value / truth - 1) < 0.03;
  const bool inside = found.low <= truth * 1.03 && found.high >= truth * 0.97;
  if (!inside) return Verdict::kWrong;
  if (near) return Verdict::kRight;
  return determined ? Verdict::kWrong : Verdict::kLeftOpen;
}

class LinkOfEveryFabricTest : public ::testing::TestWithParam<const char*> {};

// Of every operation and algorithm that the machine has a formula of, on links from half the
// catalogue's bandwidth to a fifth more: what is stated is true.
TEST_P(LinkOfEveryFabricTest, ALogGivesItBackOrLeavesItOpen) {
  const Machine like = *MachineNamed(GetParam(), Catalogue::BuiltIn());
  const Wiring wiring = WiringOf(like, like.topology.device_count());
  int logs = 0, bandwidths = 0, latencies = 0;
  for (const std::string op : {"all_reduce", "all_gather"}) {
    Question q;
    q.op = op;
    q.bytes = 1e9;
    const auto all = CompareAlgorithms(wiring, q, LatencyModel::kSum);
    ASSERT_TRUE(all.ok());
    for (const Estimate& e : *all) {
      for (const double part : {0.5, 0.75, 1.0, 1.2}) {
        const Machine measured = WithLink(GetParam(), part, part);
        const auto found = LinkOf(like, LogOf(measured, op, e.algorithm));
        ASSERT_TRUE(found.ok()) << found.status().ToString();
        const LinkSpec truth = measured.topology.definition().link;
        const Verdict bandwidth =
            Judge(found->Bandwidth(), found->BandwidthDetermined(), truth.bandwidth.value());
        const Verdict latency =
            Judge(found->Latency(), found->LatencyDetermined(), truth.latency.value());
        EXPECT_TRUE(bandwidth != Verdict::kWrong && latency != Verdict::kWrong)
            << op << " by " << e.algorithm << ", " << part
            << " of the catalogue's link: " << found->ToString();
        if (bandwidth == Verdict::kLeftOpen || latency == Verdict::kLeftOpen) {
          EXPECT_THAT(found->ToString(), HasSubstr("NOT determined"));
        }
        ++logs;
        bandwidths += bandwidth == Verdict::kRight ? 1 : 0;
        latencies += latency == Verdict::kRight ? 1 : 0;
      }
    }
  }
  std::printf(
      "%s: of %d logs %d give back the bandwidth, %d the latency, all others leave it open\n",
      GetParam(), logs, bandwidths, latencies);
  EXPECT_GE(bandwidths, logs / 3);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, LinkOfEveryFabricTest,
                         ::testing::Values("a100-8", "h100-8", "mi300x-8", "v5e-16", "v5e-4x4",
                                           "v5p-4x4x4"));

// A switch that reduces at half its speed takes what a ring takes at 7/8 of it.
TEST(LinkOfFitsTest, AnotherAlgorithmIsNamed) {
  const Machine like = *MachineNamed("h100-8", Catalogue::BuiltIn());
  const auto found = LinkOf(like, LogOf(WithLink("h100-8", 0.5, 1), "all_reduce", "sharp"));
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->BandwidthDetermined());
  EXPECT_THAT(found->ToString(), AllOf(HasSubstr("NOT determined: the log does not say which"),
                                       HasSubstr("direct with 393.8 GB/s and 500 ns")));
  // A ring at full speed is not a link that beats its data sheet.
  for (const Explanation& e : found->explanations) EXPECT_LT(e.bandwidth.value, 1.5 * 450e9);
}

// Halving and doubling on a ring of links: its messages go up to 8 links far.
TEST(LinkOfFitsTest, OnATorusAnAlgorithmWithoutAFormulaMayHaveRun) {
  const Machine like = *MachineNamed("v5e-16", Catalogue::BuiltIn());
  std::vector<Measurement> log;
  for (double n = 1024; n < 2e10; n *= 8) {
    log.push_back({"all_reduce", 16, 1, n, 30e-6 + 4 * n / 45e9});
  }
  const auto found = LinkOf(like, log);
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->BandwidthDetermined());
  EXPECT_GE(found->Bandwidth().high, 45e9);
  EXPECT_THAT(found->ToString(), HasSubstr("an algorithm without a formula with 45 GB/s and 1 us"));
  // What a ring explains at three quarters of the data sheet is a ring's.
  const auto ring = LinkOf(like, LogOf(WithLink("v5e-16", 0.75, 1), "all_reduce", "ring"));
  EXPECT_THAT(ring->ToString(), Not(HasSubstr("without a formula")));
}

// all_gather says the same whether switches reduce or not, so it decides.
TEST(LinkOfFitsTest, TheOperationThatLeavesLeastOpenIsTaken) {
  const Machine measured = WithLink("h100-8", 0.5, 1);
  std::vector<Measurement> log = LogOf(measured, "all_reduce", "sharp");
  const auto gather = LogOf(measured, "all_gather", "ring");
  log.insert(log.end(), gather.begin(), gather.end());
  const auto found = LinkOf(*MachineNamed("h100-8", Catalogue::BuiltIn()), log);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->op, "all_gather");
  EXPECT_TRUE(found->BandwidthDetermined());
  EXPECT_NEAR(found->Link().bandwidth.value(), 225e9, 1e9);
}

TEST(LinkOfFitsTest, NamedAlgorithmsLeaveNothingOpen) {
  const Machine like = *MachineNamed("h100-8", Catalogue::BuiltIn());
  const Machine measured = WithLink("h100-8", 0.5, 0.5);
  for (const char* algorithm : {"ring", "sharp", "naive"}) {
    std::vector<Measurement> log = LogOf(measured, "all_reduce", algorithm);
    for (Measurement& m : log) m.algorithm = algorithm;
    const auto found = LinkOf(like, log);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->explanations.size(), 1U);
    EXPECT_NEAR(found->Link().bandwidth.value(), 225e9, 1e9);
    EXPECT_NEAR(found->Link().latency.value(), 0.5e-6, 1e-8);
    EXPECT_THAT(found->ToString(), Not(HasSubstr("NOT")));
  }
}

// Bytes are those of the algorithm that the largest size ran, rounds those of the smallest.
TEST(LinkOfFitsTest, AlgorithmsMayChangeBetweenSizes) {
  const Machine like = *MachineNamed("a100-8", Catalogue::BuiltIn());
  std::vector<Measurement> log;
  for (double n = 1024; n < 2e10; n *= 8) {
    const double direct = 2e-6 + 1.75 * n / 300e9, one_shot = 1e-6 + 7 * n / 300e9;
    log.push_back({"all_reduce", 8, 1, n, std::min(direct, one_shot),
                   direct < one_shot ? "direct" : "one_shot"});
  }
  const auto found = LinkOf(like, log);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->explanations[0].algorithm, "one_shot, then direct");
  EXPECT_NEAR(found->Link().bandwidth.value(), 300e9, 15e9);
}

TEST(LinkOfFitsTest, SizesThatDoNotDetermineAFigureLeaveItToTheDataSheet) {
  const Machine like = *MachineNamed("a100-8", Catalogue::BuiltIn());
  const Machine measured = WithLink("a100-8", 0.75, 2);
  const auto large = LinkOf(like, LogOf(measured, "all_gather", "ring", {1e7, 1e13}));
  ASSERT_TRUE(large.ok());
  EXPECT_NEAR(large->Link().bandwidth.value(), 225e9, 2e9);
  EXPECT_FALSE(large->LatencyDetermined());
  EXPECT_LE(large->Latency().low, 2e-6);
  EXPECT_GE(large->Latency().high, 2e-6);
  EXPECT_EQ(large->Link().latency.value(), 1e-6);
  EXPECT_THAT(large->ToString(),
              HasSubstr("NOT determined: the latency, so that the data sheet's stands"));
  const auto small = LinkOf(like, LogOf(measured, "all_gather", "ring", {1, 1e4}));
  ASSERT_TRUE(small.ok());
  EXPECT_FALSE(small->BandwidthDetermined());
  EXPECT_EQ(small->Link().bandwidth.value(), 300e9);
  EXPECT_THAT(small->ToString(),
              HasSubstr("NOT determined: the bandwidth, so that the data sheet's stands"));
}

// A log of another machine than the one it is compared with.
TEST(LinkOfFitsTest, ALinkThatBeatsItsDataSheetIsDoubted) {
  // A ring on 900 GB/s takes what a switch that reduces takes on 4/7 of it.
  const Machine b200 = *MachineNamed("b200-8", Catalogue::BuiltIn());
  const auto open =
      LinkOf(*MachineNamed("h100-8", Catalogue::BuiltIn()), LogOf(b200, "all_reduce", "ring"));
  ASSERT_TRUE(open.ok());
  EXPECT_NEAR(open->Bandwidth().value, 900e9 / 1.75, 6e9);
  EXPECT_LE(open->Bandwidth().low, 450e9);
  EXPECT_FALSE(open->BandwidthDetermined());
  EXPECT_THAT(
      open->ToString(),
      HasSubstr("WARNING: NOT determined: the bandwidth is 1.14 x the data sheet of h100-8; "
                "is --like right?"));
  // The log says which algorithm ran: the data sheet is what is wrong.
  const Machine a100 = *MachineNamed("a100-8", Catalogue::BuiltIn());
  std::vector<Measurement> log = LogOf(WithLink("a100-8", 1.5, 0.25), "all_reduce", "ring");
  for (Measurement& m : log) m.algorithm = "ring";
  const auto named = LinkOf(a100, log);
  ASSERT_TRUE(named.ok());
  EXPECT_NEAR(named->Bandwidth().value, 450e9, 1e9);
  EXPECT_NEAR(named->Bandwidth().low, 300e9, 1e9);
  EXPECT_FALSE(named->BandwidthDetermined());
  EXPECT_NEAR(named->Latency().value, 0.25e-6, 1e-8);
  EXPECT_NEAR(named->Latency().high, 1e-6, 1e-8);
  EXPECT_FALSE(named->LatencyDetermined());
  EXPECT_THAT(named->ToString(),
              AllOf(HasSubstr("the bandwidth is 1.5 x the data sheet of a100-8; is --like right?"),
                    HasSubstr("the latency is 0.25 x the data sheet of a100-8")));
  // A tenth above is what figures are off by; an assumed figure is nobody's data sheet.
  EXPECT_THAT(LinkOf(a100, LogOf(WithLink("a100-8", 1.05, 0.6), "all_gather", "ring"))->ToString(),
              Not(HasSubstr("WARNING")));
  EXPECT_THAT(LinkOf(*MachineNamed("host-8", Catalogue::BuiltIn()),
                     LogOf(WithLink("host-8", 2, 0.25), "all_gather", "ring"))
                  ->ToString(),
              Not(HasSubstr("WARNING")));
}

TEST(LinkOfFitsTest, TimesThatDoNotGrowLeaveTheBandwidthToTheDataSheet) {
  for (const char* like : {"h100-8", "v5e-8", "host-8"}) {
    const Machine machine = *MachineNamed(like, Catalogue::BuiltIn());
    std::vector<Measurement> log;
    for (double n = 1024; n < 2e9; n *= 2) log.push_back({"all_reduce", 8, 1, n, 10e-6, "ring"});
    const auto found = LinkOf(machine, log);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->Link().bandwidth.value(), machine.topology.definition().link.bandwidth.value())
        << found->ToString();
    EXPECT_FALSE(found->BandwidthDetermined());
    EXPECT_THAT(found->ToString(),
                HasSubstr("NOT determined: the bandwidth, so that the data sheet's stands"));
    if (like == std::string("host-8")) continue;
    EXPECT_THAT(found->ToString(), HasSubstr("the least bandwidth that the times allow is"));
  }
}

TEST(LinkOfFitsTest, NothingIsMadeUp) {
  const Machine one = *MachineNamed("h100-8", Catalogue::BuiltIn());
  EXPECT_EQ(FindLinkOfFits(one, {}, {}).status().code(), StatusCode::kNotFound);
  const Machine two = *MachineNamed("h100-8x2", Catalogue::BuiltIn());
  EXPECT_THAT(LinkOf(two, LogOf(one, "all_gather", "ring")).status().message(),
              HasSubstr("cannot be told apart"));
}

}  // namespace
}  // namespace chorus
