// Every number of the lecture notes on shards, hardware, products and strategies; the collectives
// are in lecture_collectives_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "chorus/algorithm/algorithm.h"
#include "chorus/cost/compute/roofline.h"
#include "chorus/cost/compute/traffic.h"
#include "chorus/cost/lecture_rows_test.h"
#include "chorus/mesh/mesh.h"
#include "chorus/mesh/spec.h"

namespace chorus {
namespace {

using ::testing::ElementsAre;

std::int64_t LocalElements(const char* spec, const char* mesh, const DimSizes& sizes) {
  return LocalShape(*Spec::Parse(spec), *Mesh::Parse(mesh), sizes, 0).elements();
}

const LectureChecks& Others() {
  static const LectureChecks checks = {
      {"S0-27",
       [] {
         EXPECT_EQ(4 * LocalElements("A[I_XY, J]", "X=8,Y=2", {{"I", 1024}, {"J", 4096}}),
                   1'048'576);
         EXPECT_NEAR(1'048'576 / HardwareOf("h100").Find("memory_bandwidth")->also[0].value,
                     308.4e-9, 0.1e-9);
       }},
      {"S0-28",
       [] {
         const std::int64_t local =
             LocalElements("A[I_XY, J]", "X=2,Y=8,Z=2", {{"I", 128}, {"J", 2048}});
         EXPECT_EQ(local, 16'384);
         EXPECT_EQ(local * 32, 524'288);
       }},
      {"S0-29",
       [] {
         const std::int64_t local =
             LocalElements("A[I_X, J]", "X=4,Y=8,Z=2", {{"I", 64}, {"J", 3}});
         EXPECT_EQ(local * 64, 16 * 64 * 3);
       }},
      {"S0-30",
       [] {
         // Device d = 2x + y holds the block of row x and column y.
         const Mesh mesh = *Mesh::Parse("X=2,Y=2");
         const Spec spec = *Spec::Parse("A[I_X, J_Y]");
         for (std::int64_t d = 0; d < 4; ++d) {
           EXPECT_EQ(BlockOf(spec.AxesOf("I"), mesh, 4, d).begin, d / 2 * 2);
           EXPECT_EQ(BlockOf(spec.AxesOf("J"), mesh, 4, d).begin, d % 2 * 2);
         }
       }},
      {"S0-31",
       [] {
         EXPECT_NEAR(LeastBatchToGather(FlopsPerSecond(4.59e14), BytesPerSecond(1.8e11)), 2550,
                     0.1);
         EXPECT_EQ(Figured("v5p", "peak_bf16"), 4.59e14);
         EXPECT_EQ(2 * Figured("v5p", "link_bandwidth"), 1.8e11);
       }},
      {"S0-32a",
       [] {
         const FlopsPerSecond c(4.59e14);
         const BytesPerSecond w(1.8e11);
         EXPECT_LT(GatherWeight(2549, 8192, 8192, 2, c, w).compute,
                   GatherWeight(2549, 8192, 8192, 2, c, w).communication);
         EXPECT_GT(GatherWeight(2551, 8192, 8192, 2, c, w).compute,
                   GatherWeight(2551, 8192, 8192, 2, c, w).communication);
       }},
      {"S0-32b",
       [] {
         const FlopsPerSecond c(4.59e14);
         const BytesPerSecond w(1.8e11);
         EXPECT_NEAR(MostRanksToReduce(8192, c, w), 8192.0 / (2 * 2550), 1e-6);
         const auto reduce_wins = [&](double b, double d) {
           return ReduceOutput(b, d, 8192, 64, 2, c, w).Overlapped() <
                  GatherWeight(b, d, 8192, 2, c, w).Overlapped();
         };
         EXPECT_TRUE(reduce_wins(100, 201));  // few tokens: D > 2B
         EXPECT_FALSE(reduce_wins(100, 199));
         EXPECT_TRUE(reduce_wins(1e5, 5101));  // many: D > 2 x 2550
         EXPECT_FALSE(reduce_wins(1e5, 5099));
       }},
      {"S0-33",
       [] {
         const SplitProduct s =
             GatherWeight(4096, 4096, 4096, 2, FlopsPerSecond(989e12), BytesPerSecond(450e9));
         EXPECT_EQ(s.Overlapped(),
                   std::max(2 * std::pow(4096.0, 3) / 989e12, 2 * 4096.0 * 4096 / 450e9));
       }},
      {"S3-04",
       [] {
         const double link = Figured("b200", "link_bandwidth");
         EXPECT_NEAR(2 * link / Figured("b200", "memory_bandwidth"), 0.225, 1e-9);
         EXPECT_NEAR(Figured("b200", "memory_bandwidth") / link, 8.9, 0.02);  // per direction
       }},
      {"S3-05",
       [] {
         EXPECT_EQ(HardwareOf("gb200").node_size, 72);
         EXPECT_EQ(18 * 4, 9 * 8);
       }},
      {"S3-08",
       [] {
         const DimSizes sizes = {{"B", 32}, {"D", 64}, {"F", 64}};
         EXPECT_EQ(LocalElements("X[B_X, D]", "X=4", sizes), 8 * 64);
         EXPECT_EQ(LocalElements("W[D, F_X]", "X=4", sizes), 64 * 16);
       }},
      {"S4-01",
       [] {
         const std::map<std::string, double> both = {{"nvlink1", 160e9}, {"v100", 300e9},
                                                     {"a100", 600e9},    {"h100", 900e9},
                                                     {"b200", 1800e9},   {"nvlink6", 3600e9}};
         for (const auto& [name, total] : both) {
           EXPECT_EQ(2 * Figured(name, "link_bandwidth"), total) << name;
         }
         // 18 links of 50 GB/s both ways, not 100.
         EXPECT_EQ(2 * Figured("h100", "link_bandwidth") / Figured("h100", "links"), 50e9);
       }},
      {"S4-02a",
       [] {
         EXPECT_EQ(8 * 2 * Figured("v100", "link_bandwidth"), 2.4e12);
         EXPECT_EQ(8 * 2 * Figured("a100", "link_bandwidth"), 4.8e12);
         EXPECT_EQ(8 * 2 * Figured("h100", "link_bandwidth"), 7.2e12);
         EXPECT_NEAR(72 * 2 * Figured("gb200", "link_bandwidth"), 129.6e12, 1);
         EXPECT_EQ(HardwareOf("v100").node_size, 16);
       }},
      {"S4-02b",
       [] {
         const std::map<std::string, double> both = {
             {"v100", 0.9e12}, {"a100", 1.8e12}, {"h100", 3.2e12}, {"gb200", 7.2e12}};
         for (const auto& [name, total] : both) {
           EXPECT_EQ(2 * Figured(name, "switch_ports") * Figured(name, "switch_port_bandwidth"),
                     total)
               << name;
         }
       }},
      {"S4-03",
       [] {
         EXPECT_NEAR(Figured("h100", "link_bandwidth") / Figured("h100", "host_bandwidth"), 7.03,
                     0.005);
       }},
      {"S4-04",
       [] {
         EXPECT_EQ(2 * Figured("h100", "nics") * Figured("h100", "nic_bandwidth"), 800e9);
         // Of one device: 11 %, not the 89 % of a whole node against one device.
         EXPECT_NEAR(Figured("h100", "nic_bandwidth") / Figured("h100", "link_bandwidth"), 0.11,
                     0.005);
       }},
      {"S4-05",
       [] {
         const std::map<std::string, double> rates = {
             {"ib_edr", 12.5e9}, {"ib_hdr", 25e9}, {"ib_ndr", 50e9}, {"ib_xdr", 100e9}};
         for (const auto& [name, rate] : rates) EXPECT_EQ(Figured(name, "link_bandwidth"), rate);
       }},
      {"S4-06",
       [] {
         const auto within = [](const char* name, double low, double high) {
           const double latency = Figured(name, "link_latency");
           EXPECT_TRUE(latency >= low * 1e-6 && latency <= high * 1e-6) << name << " " << latency;
         };
         within("h100", 1, 2);
         within("pcie5", 2, 5);
         within("ib_ndr", 1, 3);
         within("eth_100", 2, 10);
         within("eth_10", 10, 100);
       }},
      {"S4-07",
       [] {
         // GPU 0 ends with B, 1 with C, 2 with D, 3 with A: the shifted ring.
         const Schedule shifted = (*FindAlgorithm("shifted_ring", OpKind::kReduceScatter))->Build();
         for (std::int64_t gpu = 0; gpu < 4; ++gpu)
           EXPECT_EQ(shifted.FrameFor(4, gpu)->own, (gpu + 1) % 4);
       }},
      {"S4-08a",
       [] {
         EXPECT_EQ(TensorStep(1, 32, false).calls(), 64);
         EXPECT_EQ(TensorStep(1, 32, true).calls(), 128);
       }},
      {"S4-08b",
       [] {
         const double d = 4 * 2048 * 4096 * 2.0 * 2 * 32;  // b s h x bytes x 2 x layers
         const StepTraffic t = TensorStep(4 * 2048 * 4096 * 2.0, 32, false);
         EXPECT_EQ(t.reduced_bytes, d);
         EXPECT_DOUBLE_EQ(t.WireBytes(8), d * 2 * 7 / 8);
         EXPECT_DOUBLE_EQ(8 * t.WireBytes(8), d * 2 * 7);  // of all ranks
       }},
      {"S4-09", [] { EXPECT_EQ(PipelineForwardBytes(1e6, 8), 7e6); }},
      {"S4-10",
       [] {
         EXPECT_THAT(InterleavedLayers(8, 4, 2), ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5),
                                                             ElementsAre(2, 6), ElementsAre(3, 7)));
       }},
      {"S4-11",
       [] {
         // dX = dY W^T and dW = X^T dY, each as large as Y = X W.
         const double forward = ProductWork(128, 512, 256, 2).flops;
         EXPECT_EQ(ProductWork(128, 256, 512, 2).flops + ProductWork(512, 128, 256, 2).flops,
                   2 * forward);
       }},
      {"S4-12",
       [] {
         const double batches[] = {1, 8, 32, 128};
         for (double b : batches) {
           EXPECT_EQ(DecodeLinearIntensity(b, 2), b);
           EXPECT_EQ(DecodeLinearIntensity(b, 1), 2 * b);
         }
         EXPECT_EQ(DecodeAttentionIntensity(1, 2), 1);
       }},
      {"S4-13",
       [] {
         EXPECT_EQ(PrefillLinearIntensity(1, 1024, 2), 1024);
         EXPECT_EQ(PrefillLinearIntensity(1, 4096, 2), 4096);
         EXPECT_EQ(PrefillLinearIntensity(4, 4096, 2), 16'384);
         EXPECT_EQ(PrefillLinearIntensity(4, 4096, 1), 32'768);
       }},
      {"S4-14", [] { EXPECT_DOUBLE_EQ(PrefillScoreIntensity(4096, 2), 2 * 4096.0 / 6); }},
      {"S4-15",
       [] {
         EXPECT_NEAR(990e12 / 3.35e12, 295, 1);
         EXPECT_NEAR(RoofOf(HardwareOf("h100"))->Ridge(), 295, 1);
       }},
      {"S4-16a",
       [] {
         EXPECT_EQ(ZeroStep(1, 1, 32).calls(), 2);
         EXPECT_EQ(ZeroStep(1, 1, 32).gathered_bytes, 2);
       }},
      {"S4-16b",
       [] {
         EXPECT_EQ(ZeroStep(2, 1, 32).calls(), 33);
         EXPECT_EQ(ZeroStep(2, 1, 32).gathered_bytes, 2);
       }},
      {"S4-16c",
       [] {
         EXPECT_EQ(ZeroStep(3, 1, 32).calls(), 96);
         EXPECT_EQ(ZeroStep(3, 1, 32).gathered_bytes, 3);
       }},
      {"S4-17", [] { EXPECT_NEAR(ExpertDispatchBytes(4096, 8, 64, 7168, 1), 231.2e6, 0.1e6); }},
      {"S4-18",
       [] {
         EXPECT_EQ(SequenceStep(1, 1, true).calls(), 8);
         EXPECT_EQ(SequenceStep(1, 1, true).WireBytes(8), TensorStep(1, 1, true).WireBytes(8));
       }},
      {"S4-19", [] { EXPECT_EQ(InFlight(4, 100), 4); }},
  };
  return checks;
}

TEST(LectureNotes, EverythingElseIsWorkedOut) { CheckLectureRows(Others(), true, 34); }

}  // namespace
}  // namespace chorus
