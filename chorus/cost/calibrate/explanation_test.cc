#include "chorus/cost/calibrate/explanation.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

// An all_reduce over all of the machine that a ring makes on a link of `part` of the catalogue's
// bandwidth, with the catalogue's latency.
std::vector<Explanation> OfRingLog(std::string_view name, double part) {
  const Machine like = *MachineNamed(name, Catalogue::BuiltIn());
  const LinkSpec link = like.topology.definition().link;
  const auto n = static_cast<double>(like.topology.device_count());
  const double latency = 2 * (n - 1) * link.latency.value();
  const double inverse = 2 * (n - 1) / n / (part * link.bandwidth.value());
  FittedCurve fit;
  fit.op = "all_reduce";
  fit.ranks = like.topology.device_count();
  fit.latency = {latency, latency * 0.99, latency * 1.01};
  fit.inverse = {inverse, inverse * 0.99, inverse * 1.01};
  return ExplanationsOf(like, fit, {});
}

const Explanation* FindExplanation(const std::vector<Explanation>& all,
                                   std::string_view algorithm) {
  for (const Explanation& e : all) {
    if (e.algorithm == algorithm) return &e;
  }
  return nullptr;
}

TEST(ExplanationTest, LinksThatBeatTheirDataSheetCountLittle) {
  const auto whole = OfRingLog("a100-8", 1);
  const Explanation* ring = FindExplanation(whole, "ring");
  ASSERT_NE(ring, nullptr);
  EXPECT_NEAR(ring->bandwidth.value, 300e9, 1e6);
  EXPECT_NEAR(ring->latency.value, 1e-6, 1e-12);
  EXPECT_NEAR(ring->surprise, 0, 1e-6);
  // 12/7, 4 and 8 times the data sheet's bandwidth.
  EXPECT_EQ(FindExplanation(whole, "recursive_doubling"), nullptr);
  EXPECT_EQ(FindExplanation(whole, "one_shot"), nullptr);
  EXPECT_EQ(FindExplanation(whole, "naive"), nullptr);
  // Half of it is less of a surprise than half more.
  EXPECT_NEAR(FindExplanation(OfRingLog("a100-8", 0.5), "ring")->surprise, 0.985, 0.01);
  EXPECT_NEAR(FindExplanation(OfRingLog("a100-8", 1.5), "ring")->surprise, 2.92, 0.02);
  // What a switch that reduces would need is 4/7 of a ring's link.
  EXPECT_NEAR(FindExplanation(OfRingLog("h100-8", 1), "sharp")->bandwidth.value, 4.0 / 7 * 450e9,
              1e6);
}

TEST(ExplanationTest, AssumedFiguresAreSurpassedAsEasilyAsMissed) {
  EXPECT_NEAR(FindExplanation(OfRingLog("host-8", 2), "ring")->surprise,
              FindExplanation(OfRingLog("host-8", 0.5), "ring")->surprise, 1e-3);
}

TEST(ExplanationTest, OperationsWithoutFormulasHaveNone) {
  FittedCurve fit;
  fit.op = "no_operation";
  fit.ranks = 8;
  fit.inverse.value = 1e-9;
  EXPECT_TRUE(ExplanationsOf(*MachineNamed("a100-8", Catalogue::BuiltIn()), fit, {}).empty());
}

}  // namespace
}  // namespace chorus
