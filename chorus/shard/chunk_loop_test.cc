#include "chorus/shard/chunk_loop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "chorus/program/account.h"
#include "chorus/program/interpreter.h"
#include "chorus/shard/product.h"
#include "chorus/shard/product_cases_test.h"
#include "chorus/shard/traffic.h"
#include "chorus/shard/ways.h"

namespace chorus {
namespace {

struct LoopedPlan {
  ChainPlan plain;
  std::vector<ChainPlan> looped;  // one a loop
};

// The first plans of a product that can be done by loops, at most `most` of them.
std::vector<LoopedPlan> LoopedPlans(const Product& product, const Mesh& mesh, const DimSizes& sizes,
                                    std::size_t most) {
  std::vector<LoopedPlan> found;
  const auto plans = PlanChain(product.operands, product.result, product.wanted, mesh, sizes,
                               DType::kF64, Tariff());
  EXPECT_TRUE(plans.ok()) << plans.status().message();
  for (const ChainPlan& plan : *plans) {
    if (found.size() == most) break;
    LoopedPlan one{plan, {}};
    for (const ChunkLoop& loop : LoopsOf(plan.steps[0].plan, mesh, sizes)) {
      one.looped.push_back(plan);
      one.looped.back().steps[0].loop = loop;
    }
    if (!one.looped.empty()) found.push_back(std::move(one));
  }
  return found;
}

Bytes SentByAll(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes) {
  Bytes sent;
  for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
    for (const auto& [key, bytes] : PredictTraffic(program, mesh, sizes, rank)) sent += bytes;
  }
  return sent;
}

// Every loop leaves the plain product, and sends and computes what the plan without loops does.
void ExpectPlainProducts(const Product& product, const Mesh& mesh, const DimSizes& sizes,
                         std::size_t most, std::map<std::string, int>& seen) {
  SCOPED_TRACE(product.ToString() + " on " + mesh.ToString() + ", " + ToString(sizes));
  const auto arrays = ProductCases::ArraysOf(sizes);
  const PlainArray wanted = ProductCases::PlainProduct(arrays);
  for (const LoopedPlan& plan : LoopedPlans(product, mesh, sizes, most)) {
    const Result<StepProgram> plain = ProgramOf(product, plan.plain, DType::kF64);
    ASSERT_TRUE(plain.ok()) << plain.status().message();
    for (const ChainPlan& looped : plan.looped) {
      const ChunkLoop& loop = *looped.steps[0].loop;
      const Result<StepProgram> program = ProgramOf(product, looped, DType::kF64);
      ASSERT_TRUE(program.ok()) << program.status().message() << "\n"
                                << ToString(loop, looped.steps[0].plan);
      const auto run = Interpret(*program, mesh, sizes, arrays, AdamWSettings());
      ASSERT_TRUE(run.ok()) << run.status().message() << "\n" << program->ToString();
      ASSERT_EQ(run->at("C"), wanted) << program->ToString();
      for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
        ASSERT_EQ(ProductFlops(*program, mesh, sizes, rank),
                  ProductFlops(*plain, mesh, sizes, rank))
            << program->ToString();
      }
      ASSERT_EQ(SentByAll(*program, mesh, sizes), SentByAll(*plain, mesh, sizes))
          << program->ToString() << plain->ToString();
      seen[loop.of == ChunkLoop::Of::kLeft    ? "left"
           : loop.of == ChunkLoop::Of::kRight ? "right"
                                              : "result"] += 1;
      seen["both ways"] += loop.directions == 2 ? 1 : 0;
      seen["halving"] += loop.cut == ChunkLoop::Cut::kHalving ? 1 : 0;
      ASSERT_EQ(*StepProgram::Parse(program->ToString()), *program);
    }
  }
}

TEST(ChunkLoopTest, EveryLoopOfAnyProductIsThePlainProduct) {
  std::map<std::string, int> seen;
  ForEachDrawn(20300, "chunk loops", 60,
               [&seen](const Product& product, const Mesh& mesh, const DimSizes& sizes) {
                 ExpectPlainProducts(product, mesh, sizes, 2, seen);
               });
  ASSERT_FALSE(HasFatalFailure());
  for (const auto& [what, count] : seen) std::printf("%s: %d\n", what.c_str(), count);
  EXPECT_GT(seen["left"], 20);
  EXPECT_GT(seen["right"], 20);
  EXPECT_GT(seen["result"], 20);
  EXPECT_GT(seen["both ways"], 5);
  EXPECT_GT(seen["halving"], 10);
}

TEST(ChunkLoopTest, RingsOfTwoToEightRanks) {
  std::map<std::string, int> seen;
  for (int n = 2; n <= 8; ++n) {
    const Mesh mesh = *Mesh::Create({{"X", n}});
    for (const char* text :
         {"A[I_X, J] * B[J_X, K] -> C[I_X, K]", "A[I, J_X] * B[J_X, K] -> C[I_X, K]",
          "A[I, J_X] * B[J_X, K] -> C[I, K_X]", "A[I_X, J] * B[J, K_X] -> C[I, K_X]"}) {
      ASSERT_NO_FATAL_FAILURE(ExpectPlainProducts(*ParseProduct(text), mesh,
                                                  {{"I", 11}, {"J", 9}, {"K", 10}}, 1, seen));
    }
  }
  EXPECT_GE(seen["both ways"], 7);
}

TEST(ChunkLoopTest, TheLoopOfTwoRanksReadsLikeTheLectureNotes) {
  const Product product = *ParseProduct("A[I_X, J] * B[J_X, K] -> C[I_X, K]");
  const Mesh mesh = *Mesh::Parse("X=2");
  const DimSizes sizes = {{"I", 8}, {"J", 8}, {"K", 8}};
  std::vector<LoopedPlan> plans = LoopedPlans(product, mesh, sizes, 1);
  ASSERT_EQ(plans.size(), 1U);
  ChainPlan plan = plans[0].plain;
  plan.steps[0].loop = ChunkLoop{ChunkLoop::Of::kRight, ChunkLoop::Cut::kEven, 2, 2, 1};
  StepProgram program = *ProgramOf(product, plan, DType::kF32);
  std::string text;
  for (const ProgramOp& op : program.ops()) text += ToString(program, op) + "\n";
  EXPECT_EQ(text,
            "B.1.0[J, K] holds J_X 00 10: f32 workspace = shift(B, X, 1)\n"
            "B.1.1[J, K] holds J_X 00 01: f32 workspace = shift(B, X, 1)\n"
            "C.so.far[I_X, K] so_far J_X 11 00: f32 activation = contract(A, B)\n"
            "C.so.far.2[I_X, K] so_far J_X 11 10: f32 activation = contract(A, B.1.0, C.so.far) "
            "into C.so.far\n"
            "free(B.1.0)\n"
            "C[I_X, K]: f32 activation = contract(A, B.1.1, C.so.far.2) into C.so.far.2\n"
            "free(B.1.1)\n");
  EXPECT_EQ(ToString(*plan.steps[0].loop, plan.steps[0].plan),
            "B comes in 2 x 2 chunks, one way round");
}

TEST(ChunkLoopTest, EachChunkIsHalfOfWhatIsLeft) {
  const auto chunks = [](const ChunkLoop& loop) {
    std::string text;
    for (const ChunkLoop::Chunk& chunk : loop.Chunks()) {
      text += fmt::format(" {}:{}{}", chunk.first, chunk.count, chunk.way == 1 ? "" : "<");
    }
    return text;
  };
  const auto kEven = ChunkLoop::Cut::kEven, kHalving = ChunkLoop::Cut::kHalving;
  EXPECT_EQ(chunks({ChunkLoop::Of::kLeft, kEven, 3, 4, 1}), " 0:1 1:1 2:1 3:1");
  EXPECT_EQ(chunks({ChunkLoop::Of::kLeft, kEven, 3, 4, 2}), " 0:1 2:1< 1:1 3:1<");
  EXPECT_EQ(chunks({ChunkLoop::Of::kLeft, kHalving, 3, 16, 1}), " 0:8 8:4 12:2 14:1 15:1");
  EXPECT_EQ(chunks({ChunkLoop::Of::kLeft, kHalving, 3, 16, 2}),
            " 0:4 8:4< 4:2 12:2< 6:1 14:1< 7:1 15:1<");
}

TEST(ChunkLoopTest, HalfSumsOfBF16AreF32AndRoundedOnce) {
  const Mesh mesh = *Mesh::Parse("X=2");
  const DimSizes sizes = {{"I", 8}, {"J", 8}, {"K", 8}};
  for (const auto& [text, rounds] :
       std::map<std::string, bool>{{"A[I_X, J] * B[J_X, K] -> C[I_X, K]", true},
                                   {"A[I, J_X] * B[J_X, K] -> C[I_X, K]", true},
                                   {"A[I_X, J] * B[J, K_X] -> C[I, K_X]", false}}) {
    const Product product = *ParseProduct(text);
    const ChainPlan plan = LoopedPlans(product, mesh, sizes, 1).at(0).looped.at(1);
    const StepProgram program = *ProgramOf(product, plan, DType::kBF16);
    bool has_f32 = false;
    for (const ProgramValue& value : program.values()) {
      has_f32 = has_f32 || value.dtype == DType::kF32;
    }
    EXPECT_EQ(has_f32, rounds) << program.ToString();
    EXPECT_EQ(program.value(program.outputs()[0]).dtype, DType::kBF16);
  }
}

// Where a byte takes as long as 100 FLOP and a start as long as 1000 bytes: one chunk leaves half
// of the work waiting, many pay for starts.
TEST(ChunkLoopTest, TheNumberOfChunksFollowsFromTheTimeline) {
  const Product product = *ParseProduct("A[I_X, J] * B[J_X, K] -> C[I_X, K]");
  const Mesh mesh = *Mesh::Parse("X=2");
  // Half of B is 4 x 256 x 512 bytes, the product of a rank 2 x 256 x 512 x 512 FLOP: 100 a byte
  // make 1.34 M of time, as against 0.52 M.
  const DimSizes sizes = {{"I", 400}, {"J", 512}, {"K", 512}};
  const auto plans = PlanChain(product.operands, product.result, product.wanted, mesh, sizes,
                               DType::kF32, Tariff());
  const auto best = [&](double flops_per_byte, double latency) {
    const auto ways =
        WaysOf(product, {plans->begin(), plans->begin() + 1}, mesh, sizes, DType::kF32,
               Tariff{flops_per_byte, latency}, WayLimits{nullptr, std::nullopt, /*overlap=*/true});
    EXPECT_TRUE(ways.ok()) << ways.status().message();
    return ways->front();
  };
  const double bytes = 4.0 * 256 * 512;
  const double balanced = 2.0 * 200 * 512 * 512 / bytes;  // both take as long
  const ProductWay way = best(balanced, 0);
  const ChunkLoop& loop = *way.plan.steps[0].loop;
  EXPECT_EQ(loop.cut, ChunkLoop::Cut::kHalving);
  EXPECT_EQ(loop.parts, 64);
  EXPECT_EQ(ToString(loop, way.plan.steps[0].plan),
            "B comes in 2 x 7 chunks by halves, one way round");
  EXPECT_LT(best(balanced, bytes / 40).plan.steps[0].loop->parts, 64);
  EXPECT_EQ(best(balanced, bytes).plan.steps[0].loop->parts, 1);
  const Tariff tariff{balanced, 0};
  const Timeline line =
      TimelineOf(way.program, TimesBy(tariff, way.program, mesh, sizes), /*one_port=*/true);
  // Of the communication all is hidden but the last chunk's product: half of the work / 64.
  EXPECT_NEAR(line.total.value() / bytes, 1 + 1.0 / 128, 1e-9);
}

}  // namespace
}  // namespace chorus
