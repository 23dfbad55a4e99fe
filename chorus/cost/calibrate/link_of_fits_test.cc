#include "chorus/cost/calibrate/link_of_fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chorus/cost/calibrate/fit.h"
#include "chorus/cost/formula/formula.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

constexpr LinkSpec kTrueLink = {Seconds(2e-6), BytesPerSecond(80e9)};

// The machine of that name with another link than the catalogue's.
Machine WithLink(std::string_view name, const LinkSpec& link) {
  Machine machine = *MachineNamed(name, Catalogue::BuiltIn());
  Topology::Definition d = machine.topology.definition();
  d.link = link;
  machine.topology = *Topology::Make(std::move(d));
  return machine;
}

// What a log of `algorithm` on that machine would hold.
std::vector<FittedCurve> FitsOf(const Machine& machine, const std::string& op,
                                std::string_view algorithm) {
  const std::int64_t ranks = machine.topology.device_count();
  std::vector<Measurement> log;
  for (double bytes = 1024; bytes < 2e10; bytes *= 4) {
    Question q;
    q.op = op;
    q.bytes = bytes;
    const auto e = EstimateCollective(WiringOf(machine, ranks), q, algorithm, LatencyModel::kSum);
    EXPECT_TRUE(e.ok()) << e.status().ToString();
    log.push_back({op, ranks, 1, bytes, e->time.value()});
  }
  return FitAll(log)->curves;
}

TEST(LinkOfFitsTest, ALogOfEveryFabricGivesItsLinkBack) {
  struct FabricLog {
    const char* machine;
    const char* op;
    const char* algorithm;
  };
  for (const FabricLog& c : {
           FabricLog{"a100-8", "all_reduce", "ring"},
           {"a100-8", "all_gather", "direct"},
           {"h100-8", "all_reduce", "ring"},  // a switch that reduces
           {"h100-8", "all_reduce", "sharp"},
           {"h100-8", "all_gather", "ring"},
           {"gb200-72", "all_reduce", "sharp"},
           {"mi300x-8", "all_reduce", "direct"},  // a mesh
           {"mi300x-8", "all_reduce", "ring"},
           {"mi300x-8", "reduce_scatter", "direct"},
           {"v5e-16x16", "all_reduce", "torus"},  // wraps
           {"v5e-4x4", "all_gather", "torus"},    // does not
           {"v5p-4x4x4", "all_reduce", "torus"},
           {"v5e-16", "all_gather", "ring"},
       }) {
    SCOPED_TRACE(std::string(c.machine) + " " + c.op + " " + c.algorithm);
    // Of a link a fifth slower than that of the catalogue, whose latency is another.
    const Machine like = WithLink(c.machine, {Seconds(1e-6), kTrueLink.bandwidth * 1.25});
    const Machine measured = WithLink(c.machine, kTrueLink);
    const Result<LinkOfFits> found = FindLinkOfFits(like, FitsOf(measured, c.op, c.algorithm));
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_NEAR(found->link.bandwidth.value(), 80e9, 80e7) << found->ToString();
    // The latency is right where the algorithm is; where others do the same, it is another's.
    if (found->algorithm != c.algorithm) continue;
    EXPECT_NEAR(found->link.latency.value(), 2e-6, 2e-8);
  }
}

// all_gather says the same whether switches reduce or not, so it is asked first.
TEST(LinkOfFitsTest, TheOperationThatLeavesNoDoubtIsPreferred) {
  const Machine like = WithLink("h100-8", {Seconds(1e-6), BytesPerSecond(80e9)});
  std::vector<FittedCurve> fits = FitsOf(WithLink("h100-8", kTrueLink), "all_reduce", "sharp");
  const auto gather =
      FitsOf(WithLink("h100-8", {Seconds(1e-6), BytesPerSecond(50e9)}), "all_gather", "ring");
  fits.insert(fits.end(), gather.begin(), gather.end());
  const Result<LinkOfFits> found = FindLinkOfFits(like, fits);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->op, "all_gather");
  EXPECT_NEAR(found->link.bandwidth.value(), 50e9, 50e7);
  EXPECT_THAT(found->ToString(), HasSubstr("took"));
}

TEST(LinkOfFitsTest, NothingIsMadeUp) {
  const Machine one = *MachineNamed("h100-8", Catalogue::BuiltIn());
  EXPECT_EQ(FindLinkOfFits(one, {}).status().code(), StatusCode::kNotFound);
  const Machine two = *MachineNamed("h100-8x2", Catalogue::BuiltIn());
  EXPECT_THAT(FindLinkOfFits(two, FitsOf(one, "all_gather", "ring")).status().message(),
              HasSubstr("cannot be told apart"));
}

}  // namespace
}  // namespace chorus
