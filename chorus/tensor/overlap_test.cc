// Loops over chunks on ranks: right whatever goes on beside what, and beside each other indeed.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "chorus/collective/paced_join.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/tensor/trial.h"

namespace chorus {
namespace {

// The first plan that has a loop of so many parts a block and directions, by its first one.
ProductAnswer Looped(const Product& product, const Mesh& mesh, const DimSizes& sizes, DType dtype,
                     ChunkLoop::Cut cut, int parts, int directions) {
  ProductAnswer answer = *ExplainProduct(product, mesh, sizes, dtype, Tariff());
  for (ChainPlan& plan : answer.plans) {
    for (const ChunkLoop& loop : LoopsOf(plan.steps[0].plan, mesh, sizes)) {
      if (loop.cut != cut || loop.parts != parts || loop.directions != directions) continue;
      plan.steps[0].loop = loop;
      answer.program = *ProgramOf(product, plan, dtype);
      std::swap(answer.plans[0], plan);
      return answer;
    }
  }
  ADD_FAILURE() << "no such loop of " << product.ToString();
  return answer;
}

struct OverlapCase {
  const char* product;
  int ranks;
  ChunkLoop::Cut cut;
  int parts;
  int directions;
  DType dtype;
};

class LoopsOnRanks : public testing::TestWithParam<RankKind> {};
INSTANTIATE_TEST_SUITE_P(All, LoopsOnRanks,
                         testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(LoopsOnRanks, AreTheDenseProductOverFastAndSlowLinks) {
  // Chunks are of up to 66 x 300 elements, longer than what is sent before it is asked for.
  const DimSizes sizes = {{"I", 131}, {"J", 130}, {"K", 300}};
  constexpr auto kEven = ChunkLoop::Cut::kEven, kHalving = ChunkLoop::Cut::kHalving;
  const OverlapCase cases[] = {
      {"A[I_X, J] * B[J_X, K] -> C[I_X, K]", 2, kEven, 1, 1, DType::kF32},
      {"A[I_X, J] * B[J_X, K] -> C[I_X, K]", 3, kHalving, 8, 1, DType::kBF16},
      {"A[I_X, J] * B[J_X, K] -> C[I_X, K]", 3, kEven, 2, 2, DType::kBF16},
      {"A[I, J_X] * B[J_X, K] -> C[I, K_X]", 3, kEven, 2, 2, DType::kF32},
      {"A[I, J_X] * B[J_X, K] -> C[I_X, K]", 2, kEven, 4, 1, DType::kBF16},
      {"A[I_X, J] * B[J, K_X] -> C[I, K_X]", 4, kHalving, 16, 2, DType::kF64},
  };
  for (const OverlapCase& c : cases) {
    if (GetParam() == RankKind::kProcesses && &c - cases >= 2) break;  // they take long to start
    const Product product = *ParseProduct(c.product);
    const Mesh mesh = *Mesh::Create({{"X", c.ranks}});
    const ProductAnswer answer =
        Looped(product, mesh, sizes, c.dtype, c.cut, c.parts, c.directions);
    for (const bool slow : {false, true}) {
      const LinkPace pace{200e6, std::chrono::microseconds(100)};
      const JoinOptions options = slow ? PacedJoin({}, pace) : JoinOptions();
      const Status status = RunRanks(
          c.ranks, GetParam(),
          [&](Group& group) -> Status {
            CHORUS_ASSIGN_OR_RETURN(const auto runtime,
                                    Runtime::Create(group, mesh, {.poison_memory = true}));
            CHORUS_ASSIGN_OR_RETURN(const Trial trial, TryProduct(*runtime, product, answer, sizes,
                                                                  c.dtype, /*runs=*/2));
            // That a rank has left is seen at once, what it said before only now.
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (!trial.check.right()) return Internal(trial.check.first_wrong);
            return trial.right() ? OkStatus() : Internal("counted is not predicted");
          },
          options);
      EXPECT_TRUE(status.ok()) << c.product << (slow ? " slow: " : ": ") << status.message();
    }
  }
}

TEST(OverlapTest, ChunksAreOnTheirWayTogether) {
  // Each message takes 250 ms to arrive: eight of them one after another would take 2 s.
  const Product product = *ParseProduct("A[I_X, J] * B[J_X, K] -> C[I_X, K]");
  const Mesh mesh = *Mesh::Parse("X=2");
  const DimSizes sizes = {{"I", 4}, {"J", 32}, {"K", 8}};
  const ProductAnswer answer =
      Looped(product, mesh, sizes, DType::kF32, ChunkLoop::Cut::kEven, 8, 1);
  const Status status = RunRanks(
      2, RankKind::kThreads,
      [&](Group& group) -> Status {
        CHORUS_ASSIGN_OR_RETURN(const auto runtime, Runtime::Create(group, mesh, {}));
        CHORUS_ASSIGN_OR_RETURN(const Trial trial,
                                TryProduct(*runtime, product, answer, sizes, DType::kF32, 1));
        std::this_thread::sleep_for(std::chrono::milliseconds(400));  // before it leaves
        EXPECT_TRUE(trial.right());
        EXPECT_GE(trial.total, Seconds(0.25));
        EXPECT_LT(trial.total, Seconds(1.75));
        return OkStatus();
      },
      PacedJoin({}, {1e9, std::chrono::milliseconds(250)}));
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace chorus
