#include "chorus/cost/compute/roofline.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

constexpr FlopsPerSecond kC(459e12);  // a v5p
constexpr BytesPerSecond kW(180e9);   // both directions of one axis

Roof H100() { return *RoofOf(**Catalogue::BuiltIn().Find("h100")); }

TEST(RooflineTest, ARidgeDividesMemoryFromComputing) {
  const Roof roof = H100();
  EXPECT_NEAR(roof.Ridge(), 295.2, 0.1);
  const Workload small = ProductWork(1, 4096, 4096, 2), large = ProductWork(4096, 4096, 4096, 2);
  EXPECT_LT(small.Intensity(), roof.Ridge());
  EXPECT_DOUBLE_EQ(small.Seconds(roof), small.MemorySeconds(roof));
  EXPECT_GT(large.Intensity(), roof.Ridge());
  EXPECT_DOUBLE_EQ(large.Seconds(roof), 2 * 4096.0 * 4096 * 4096 / 989e12);
}

TEST(RooflineTest, ProductsCountEachElementOnce) {
  const Workload p = ProductWork(2, 3, 5, 4);
  EXPECT_EQ(p.flops, 60);
  EXPECT_EQ(p.bytes, 4 * (6 + 15 + 10));
}

// A layer of width D with F = 4 D has 24 D^2 FLOP a token outside attention.
TEST(RooflineTest, ALayerAddsUp) {
  LayerShape s;
  s.batch = 2;
  s.sequence = 128;
  s.width = 1024;
  s.inner = 4096;
  s.heads = s.key_heads = 16;
  double linear = 0, attention = 0;
  for (const Workload& work : LayerWork(s)) {
    (work.name == "attention" ? attention : linear) += work.flops;
  }
  EXPECT_EQ(linear, 24.0 * 1024 * 1024 * 256);
  EXPECT_EQ(attention, 4.0 * 256 * 128 * 1024);
}

TEST(RooflineTest, DecodingWaitsForMemoryAndPrefillComputes) {
  LayerShape s;
  s.width = 8192;
  s.inner = 28'672;
  s.heads = 64;
  s.key_heads = 8;
  s.gated = true;
  s.batch = 32;
  s.context = 4096;
  for (const Workload& work : LayerWork(s)) {
    EXPECT_LT(work.Intensity(), H100().Ridge()) << work.name;
    // Close to what the weights or the cache alone give.
    const double simple =
        work.name == "attention" ? DecodeAttentionIntensity(8, 2) : DecodeLinearIntensity(32, 2);
    EXPECT_NEAR(work.Intensity() / simple, 1, 0.05) << work.name;
  }
  s.context = 0;
  s.batch = 1;
  s.sequence = 4096;
  for (const Workload& work : LayerWork(s))
    EXPECT_GT(work.Intensity(), H100().Ridge()) << work.name;
}

TEST(RooflineTest, StrategiesOfASplitProduct) {
  // B = C/W tokens: gathering the weight takes as long as computing.
  const double b = LeastBatchToGather(kC, kW);
  EXPECT_NEAR(b, 2550, 0.5);
  const SplitProduct gather = GatherWeight(b, 8192, 4096, 2, kC, kW);
  EXPECT_NEAR(gather.compute / gather.communication, 1, 1e-12);
  const double x = MostRanksToReduce(8192, kC, kW);
  const SplitProduct reduce = ReduceOutput(100, 8192, 4096, x, 2, kC, kW);
  EXPECT_NEAR(reduce.compute / reduce.communication, 1, 1e-12);
  EXPECT_NEAR(LeastTokensForFsdp(kC, kW, 3), 850, 0.5);
  EXPECT_NEAR(MostRanksForTensor(28'672, kC, kW, 1), 11.24, 0.01);
}

TEST(RooflineTest, WhatHidesIsNotPaidTwice) {
  EXPECT_EQ(Exposed(3, 5, 1), 0);
  EXPECT_EQ(Exposed(3, 5, 0.5), 0.5);
  EXPECT_EQ(Exposed(3, 5, 0), 3);
}

TEST(RooflineTest, HardwareWithoutFiguresSaysWhichIsMissing) {
  EXPECT_EQ(RoofOf(**Catalogue::BuiltIn().Find("pcie5")).status().message(),
            "the catalogue has no peak_bf16 of pcie5; add it in a file for --catalogue");
}

}  // namespace
}  // namespace chorus
