#include "chorus/shard/panel_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "chorus/program/account.h"
#include "chorus/program/interpreter.h"
#include "chorus/shard/product.h"
#include "chorus/shard/product_cases_test.h"
#include "chorus/shard/traffic.h"
#include "chorus/shard/ways.h"

namespace chorus {
namespace {

ChainPlan StreamedBy(const ChainPlan& plan, const PanelStream& stream) {
  ChainPlan streamed = plan;
  streamed.steps[0].stream = stream;
  return streamed;
}

// Every stream of the first plans that have one leaves the plain product and computes as much.
void ExpectStreamsArePlainProducts(const Product& product, const Mesh& mesh, const DimSizes& sizes,
                                   std::size_t most, std::map<std::string, int>& seen) {
  SCOPED_TRACE(product.ToString() + " on " + mesh.ToString() + ", " + ToString(sizes));
  const auto arrays = ProductCases::ArraysOf(sizes);
  const PlainArray wanted = ProductCases::PlainProduct(arrays);
  const auto plans = PlanChain(product.operands, product.result, product.wanted, mesh, sizes,
                               DType::kF64, Tariff());
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  std::size_t found = 0;
  for (const ChainPlan& plan : *plans) {
    const std::vector<PanelStream> streams = StreamsOf(plan.steps[0].plan, mesh, sizes);
    if (streams.empty()) continue;
    const StepProgram plain = *ProgramOf(product, plan, DType::kF64);
    for (const PanelStream& stream : streams) {
      const auto program = ProgramOf(product, StreamedBy(plan, stream), DType::kF64);
      ASSERT_TRUE(program.ok()) << program.status().message();
      ASSERT_EQ(*StepProgram::Parse(program->ToString()), *program);
      const auto run = Interpret(*program, mesh, sizes, arrays, AdamWSettings());
      ASSERT_TRUE(run.ok()) << run.status().message() << "\n" << program->ToString();
      ASSERT_EQ(run->at("C"), wanted) << program->ToString();
      for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
        ASSERT_EQ(ProductFlops(*program, mesh, sizes, rank),
                  ProductFlops(plain, mesh, sizes, rank));
      }
      seen["smaller"] +=
          PeakMemory(*program, mesh, sizes, 0).peak < PeakMemory(plain, mesh, sizes, 0).peak;
      const int operands = ComesInPanels(plan.steps[0].plan, stream.dim, 0) +
                           ComesInPanels(plan.steps[0].plan, stream.dim, 1);
      seen[operands == 2 ? "both" : "one"] += 1;
      seen[stream.dim] += 1;
    }
    if (++found == most) break;
  }
}

TEST(PanelStreamTest, EveryStreamOfAnyProductIsThePlainProduct) {
  std::map<std::string, int> seen;
  ForEachDrawn(20310, "panel streams", 30,
               [&seen](const Product& product, const Mesh& mesh, const DimSizes& sizes) {
                 ExpectStreamsArePlainProducts(product, mesh, sizes, 2, seen);
               });
  ASSERT_FALSE(HasFatalFailure());
  for (const auto& [what, count] : seen) std::printf("%s: %d\n", what.c_str(), count);
  EXPECT_GT(seen["one"], 20);
  EXPECT_GT(seen["smaller"], 20);
  for (const char* dim : {"I", "J", "K"}) EXPECT_GT(seen[dim], 5) << dim;
}

// The product that SUMMA is written for, its axes alike and not, blocks even, uneven and empty.
TEST(PanelStreamTest, BothOperandsComeInPanelsOfTheSummedDimension) {
  const Product product = *ParseProduct("A[I_X, J_Y] * B[J_X, K_Y] -> C[I_X, K_Y]");
  std::map<std::string, int> seen;
  for (const char* mesh : {"X=2,Y=2", "X=2,Y=3", "X=4,Y=2", "X=1,Y=3"}) {
    for (const std::int64_t j : {12, 7, 3}) {
      ASSERT_NO_FATAL_FAILURE(ExpectStreamsArePlainProducts(
          product, *Mesh::Parse(mesh), {{"I", 5}, {"J", j}, {"K", 4}}, 6, seen));
    }
  }
  EXPECT_GT(seen["both"], 20);
}

class SummaOf64 : public testing::Test {
 protected:
  const Product product = *ParseProduct("A[I_X, J_Y] * B[J_X, K_Y] -> C[I_X, K_Y]");
  const Mesh mesh = *Mesh::Parse("X=2,Y=2");
  const DimSizes sizes = {{"I", 64}, {"J", 64}, {"K", 64}};
  // Blocks of 32 x 32 f32, 4 KiB each: A, B and C are 12 KiB.
  static constexpr std::int64_t kBlock = 32 * 32 * 4;

  Result<ProductAnswer> Within(std::int64_t bytes, Tariff tariff = {}) const {
    WayLimits limits;
    limits.most_memory = Bytes(bytes);
    return ExplainProduct(product, mesh, sizes, DType::kF32, tariff, limits);
  }
};

TEST_F(SummaOf64, HoldsBlocksAndTwoPanels) {
  const ProductAnswer all = *ExplainProduct(product, mesh, sizes, DType::kF32, Tariff());
  // Gathered are 64 columns of A, twice while they are packed, or 64 rows of B beside them.
  EXPECT_EQ(PeakMemory(all.program, mesh, sizes, 0).peak, Bytes(kBlock * (3 + 2 + 2)));
  for (const auto& [limit, panels] : std::map<std::int64_t, int>{{kBlock * 5, 2},
                                                                 {kBlock * 5 - 1, 4},
                                                                 {kBlock * 4, 4},
                                                                 {kBlock * 7 / 2, 8},
                                                                 {kBlock * 13 / 4, 16}}) {
    const Result<ProductAnswer> answer = Within(limit);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_EQ(answer->plans[0].steps[0].stream, (PanelStream{"J", panels}));
    EXPECT_EQ(PeakMemory(answer->program, mesh, sizes, 0).peak,
              Bytes(kBlock * 3 + 2 * (2 * kBlock / panels)));
    // Each rank sends its block of A to one rank, and its block of B, whatever the panels.
    for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
      const auto traffic = PredictTraffic(answer->program, mesh, sizes, rank);
      EXPECT_EQ(traffic.at({ProgramOpKind::kAllGather, "Y"}), Bytes(kBlock));
      EXPECT_EQ(traffic.at({ProgramOpKind::kAllGather, "X"}), Bytes(kBlock));
    }
  }
}

TEST_F(SummaOf64, ReadsLikeSumma) {
  const ProductAnswer answer = *Within(kBlock * 5);
  std::string text;
  for (const ProgramOp& op : answer.program.ops()) text += ToString(answer.program, op) + "\n";
  EXPECT_EQ(text,
            "A.0[I_X, J] holds J 10: f32 workspace = all_gather(A, J_Y)\n"
            "B.0[J, K_Y] holds J 10: f32 workspace = all_gather(B, J_X)\n"
            "C.so.far[I_X, K_Y] so_far J 10: f32 activation = contract(A.0, B.0)\n"
            "free(A.0)\n"
            "free(B.0)\n"
            "A.1[I_X, J] holds J 01: f32 workspace = all_gather(A, J_Y)\n"
            "B.1[J, K_Y] holds J 01: f32 workspace = all_gather(B, J_X)\n"
            "C[I_X, K_Y]: f32 activation = contract(A.1, B.1, C.so.far) into C.so.far\n"
            "free(A.1)\n"
            "free(B.1)\n");
  EXPECT_NE(answer.plans[0].rule.find("; A and B come in 2 panels of J"), std::string::npos)
      << answer.plans[0].rule;
}

// Starting a collective costs, so what gathers all stays cheaper where it fits.
TEST_F(SummaOf64, IsAnAlternativeWithMoreStarts) {
  const auto plans = PlanChain(product.operands, product.result, product.wanted, mesh, sizes,
                               DType::kF32, Tariff{2198, 100});
  WayLimits limits;
  limits.streams = true;
  const auto ways = WaysOf(product, *plans, mesh, sizes, DType::kF32, Tariff{2198, 100}, limits);
  ASSERT_TRUE(ways.ok()) << ways.status().message();
  EXPECT_FALSE(ways->front().plan.steps[0].stream);
  std::size_t streamed = 0;
  while (streamed < ways->size() && !(*ways)[streamed].plan.steps[0].stream) ++streamed;
  ASSERT_LT(streamed, ways->size());
  const ProductWay& way = (*ways)[streamed];
  EXPECT_EQ(way.plan.steps[0].stream, (PanelStream{"J", 2}));
  EXPECT_EQ(way.sent, ways->front().sent);
  EXPECT_EQ(way.peak, Bytes(kBlock * 5));
  EXPECT_EQ(way.plan.cost.collectives, ways->front().plan.cost.collectives + 2);
}

TEST_F(SummaOf64, OnAMachineBroadcastsArePricedAsSuch) {
  const MeshPlacement placement =
      *MeshPlacement::Create(*MachineNamed("h100-8", Catalogue::BuiltIn()), mesh);
  WayLimits limits;
  limits.placement = &placement;
  limits.most_memory = Bytes(kBlock * 5);
  const ProductAnswer answer = *ExplainProduct(product, mesh, sizes, DType::kF32, Tariff(), limits);
  ASSERT_TRUE(answer.plans[0].steps[0].stream);
  const PlanTime time = *TimeOf(answer.program, placement, sizes);
  EXPECT_NE(time.ops[0].why, "");
  EXPECT_GT(time.moves, Seconds(4e-6));  // four messages, each at least the latency of a switch
}

TEST_F(SummaOf64, SaysTheLeastWhereNothingFits) {
  const Result<ProductAnswer> answer = Within(kBlock * 3);
  ASSERT_FALSE(answer.ok());
  // 64 panels of one column and one row of 32.
  EXPECT_NE(answer.status().message().find("the way that needs least takes 12544"),
            std::string::npos)
      << answer.status().message();
}

// A result that is scattered is not gathered: a loop over its chunks holds less than the whole sum.
TEST(PanelStreamTest, AScatteredResultIsSummedChunkByChunkWhenMemoryIsShort) {
  const Product product = *ParseProduct("A[I, J_X] * B[J_X, K] -> C[I_X, K]");
  const Mesh mesh = *Mesh::Parse("X=4");
  const DimSizes sizes = {{"I", 64}, {"J", 64}, {"K", 64}};
  WayLimits limits;
  limits.most_memory = Bytes(6 * 64 * 16 * 4);  // six blocks; of the whole sum there are four
  const auto answer = ExplainProduct(product, mesh, sizes, DType::kF32, Tariff(), limits);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_TRUE(answer->plans[0].steps[0].loop) << answer->plans[0].rule;
  EXPECT_EQ(answer->plans[0].steps[0].loop->of, ChunkLoop::Of::kResult);
  EXPECT_LE(PeakMemory(answer->program, mesh, sizes, 0).peak, *limits.most_memory);
}

TEST(PanelStreamTest, SumsOfBF16AreF32AndRoundedOnce) {
  const Product product = *ParseProduct("A[I_X, J] * B[J_X, K] -> C[I_X, K]");
  const Mesh mesh = *Mesh::Parse("X=2");
  const DimSizes sizes = {{"I", 8}, {"J", 8}, {"K", 64}};
  WayLimits limits;
  limits.streams = true;
  const auto plans = PlanChain(product.operands, product.result, product.wanted, mesh, sizes,
                               DType::kBF16, Tariff());
  for (const ChainPlan& plan : *plans) {
    const auto streams = StreamsOf(plan.steps[0].plan, mesh, sizes);
    if (streams.empty() || streams[0].dim != "J") continue;
    const StepProgram program = *ProgramOf(product, StreamedBy(plan, streams[0]), DType::kBF16);
    EXPECT_EQ(program.value(program.outputs()[0]).dtype, DType::kBF16);
    EXPECT_NE(program.ToString().find("C.so.far.2[I_X, K]: f32 activation"), std::string::npos)
        << program.ToString();
    return;
  }
  FAIL() << "no plan gathers J";
}

// What is named as the least does, and a byte less does not.
TEST(PanelStream, LeastThatIsNamedDoes) {
  struct Case {
    const char* product;
    const char* mesh;
    DimSizes sizes;
  };
  const std::vector<Case> cases = {
      {"A[I_X, J_Y] * B[J_X, K_Y] -> C[I_X, K_Y]", "X=4,Y=4", {{"I", 32}, {"J", 32}, {"K", 32}}},
      {"A[I_X, J] * B[J, K] -> C[I, K]", "X=2,Y=4", {{"I", 16}, {"J", 32}, {"K", 24}}},
      {"A[I, J_X] * B[J_X, K] -> C[I, K]", "X=4,Y=2", {{"I", 16}, {"J", 16}, {"K", 16}}},
      {"A[I_X, J] * B[J_Y, K] -> C[I, K_X]", "X=2,Y=3", {{"I", 20}, {"J", 28}, {"K", 36}}},
      {"A[I, J_X] * B[J, K_X] -> C[I_X, K]", "X=8", {{"I", 37}, {"J", 50}, {"K", 61}}},
      // The most panels are not those that need least.
      {"A[I, J_X] * B[J, K_X]", "X=3", {{"I", 3}, {"J", 8}, {"K", 36}}},
      {"A[Z_X, I, J] * B[Z, J, K] -> C[Z, I, K_X]",
       "X=2",
       {{"I", 24}, {"J", 15}, {"K", 21}, {"Z", 1}}},
      // Where uneven blocks change ranks others need more than rank 0.
      {"A[I, J] * B[J, K_Y] -> C[I_Y, K_X]", "X=4,Y=2", {{"I", 17}, {"J", 18}, {"K", 37}}},
      {"A[I_X, J_Y] * B[J_Y, K_X] * D[K, L_Y] -> E[I_X, L_Y]",
       "X=2,Y=2",
       {{"I", 8}, {"J", 16}, {"K", 12}, {"L", 4}}}};
  for (const Case& c : cases) {
    const auto within = [&c](std::int64_t bytes) {
      WayLimits limits;
      limits.most_memory = Bytes(bytes);
      return ExplainProduct(*ParseProduct(c.product), *Mesh::Parse(c.mesh), c.sizes, DType::kF32,
                            Tariff(), limits);
    };
    const std::string names = "the way that needs least takes ";
    const std::string said = within(1).status().message();
    ASSERT_NE(said.find(names), std::string::npos) << said;
    const std::int64_t least = std::stoll(said.substr(said.find(names) + names.size()));
    const auto enough = within(least);
    ASSERT_TRUE(enough.ok()) << c.product << ": " << enough.status().message();
    for (std::int64_t rank = 0; rank < Mesh::Parse(c.mesh)->size(); ++rank) {
      EXPECT_LE(PeakMemory(enough->program, *Mesh::Parse(c.mesh), c.sizes, rank).peak,
                Bytes(least));
    }
    EXPECT_EQ(within(least - 1).status().message(),
              fmt::format("{} cannot be done within {} bytes a rank; {}{}",
                          ParseProduct(c.product)->ToString(), least - 1, names, least));
  }
}

TEST(PanelStream, LeastThatOverlapsDoes) {
  const Mesh mesh = *Mesh::Parse("X=3,Y=2");
  const DimSizes sizes = {{"I", 36}, {"J", 36}, {"K", 3}};
  const auto within = [&](std::int64_t bytes) {
    WayLimits limits;
    limits.most_memory = Bytes(bytes);
    limits.overlap = true;
    return ExplainProduct(*ParseProduct("A[I_X, J]{U_Y} * B[J_X, K] -> C[I, K_X]"), mesh, sizes,
                          DType::kF32, Tariff(), limits);
  };
  const std::string names = "the way that needs least takes ";
  const std::string said = within(1).status().message();
  ASSERT_NE(said.find("cannot be overlapped within 1 bytes a rank; " + names), std::string::npos)
      << said;
  const std::int64_t least = std::stoll(said.substr(said.find(names) + names.size()));
  const auto enough = within(least);
  ASSERT_TRUE(enough.ok()) << enough.status().message();
  EXPECT_TRUE(enough->plans[0].steps[0].loop);
  EXPECT_EQ(MostMemory(enough->program, mesh, sizes), Bytes(least));
  EXPECT_FALSE(within(least - 1).ok());
}

// Small and uneven: there what is rounded decides.
TEST(PanelStream, TheLeastThatIsNamedDoesAndNothingLess) {
  int named = 0;
  ForEachDrawn(
      4105, "least memory", 8,
      [&](const Product& product, const Mesh& mesh, const DimSizes& sizes) {
        for (const bool overlap : {false, true}) {
          const auto within = [&](std::int64_t bytes) {
            WayLimits limits;
            limits.most_memory = Bytes(bytes);
            limits.overlap = overlap;
            return ExplainProduct(product, mesh, sizes, DType::kF64, Tariff(), limits);
          };
          SCOPED_TRACE(product.ToString() + " on " + mesh.ToString() + ", " + ToString(sizes));
          const std::string names = "the way that needs least takes ";
          const std::string said = within(0).status().message();
          const std::size_t at = said.find(names);
          if (at == std::string::npos) continue;  // fits in nothing, or has nothing to overlap
          const std::int64_t least = std::stoll(said.substr(at + names.size()));
          const auto enough = within(least);
          ASSERT_TRUE(enough.ok()) << enough.status().message();
          EXPECT_EQ(MostMemory(enough->program, mesh, sizes), Bytes(least));
          EXPECT_NE(within(least - 1).status().message().find(names + std::to_string(least)),
                    std::string::npos);
          named += 1;
        }
      });
  EXPECT_GT(named, 5);
}

}  // namespace
}  // namespace chorus
