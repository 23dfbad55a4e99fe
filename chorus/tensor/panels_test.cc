// Products whose operands come panel by panel, on ranks: the dense product, and bytes and peak as
// predicted.
#include <gtest/gtest.h>

#include <string>

#include "chorus/collective/run_ranks.h"
#include "chorus/program/account.h"
#include "chorus/tensor/trial.h"

namespace chorus {
namespace {

struct PanelCase {
  const char* product;
  const char* mesh;
  DType dtype;
};

class PanelsOnRanks : public testing::TestWithParam<RankKind> {};
INSTANTIATE_TEST_SUITE_P(All, PanelsOnRanks,
                         testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(PanelsOnRanks, AreTheDenseProductInLessMemory) {
  // Even, and uneven: panels lie in two blocks, rows are of odd length.
  const DimSizes all_sizes[] = {{{"I", 64}, {"J", 96}, {"K", 80}},
                                {{"I", 61}, {"J", 97}, {"K", 83}}};
  const PanelCase cases[] = {
      {"A[I_X, J_Y] * B[J_X, K_Y] -> C[I_X, K_Y]", "X=2,Y=2", DType::kF32},
      {"A[I_X, J_Y] * B[J_X, K_Y] -> C[I_X, K_Y]", "X=2,Y=3", DType::kBF16},
      {"A[J_Y, I_X] * B[K_Y, J_X] -> C[K_Y, I_X]", "X=2,Y=2", DType::kF64},
      {"A[I_X, J] * B[J_X, K] -> C[I_X, K]", "X=3", DType::kF32},
      {"A[I_X, J] * B[J, K_X] -> C[I_X, K]", "X=4", DType::kF32},
  };
  for (const PanelCase& c : cases) {
    if (GetParam() == RankKind::kProcesses && &c != cases) break;  // they take long to start
    const Product product = *ParseProduct(c.product);
    const Mesh mesh = *Mesh::Parse(c.mesh);
    for (const DimSizes& sizes : all_sizes) {
      WayLimits limits;
      Result<ProductAnswer> answer = ExplainProduct(product, mesh, sizes, c.dtype, Tariff());
      // Ever less, until what is gathered comes in panels.
      while (answer.ok() && !answer->plans[0].steps[0].stream) {
        limits.most_memory = PeakMemory(answer->program, mesh, sizes, 0).peak - Bytes(1);
        answer = ExplainProduct(product, mesh, sizes, c.dtype, Tariff(), limits);
      }
      ASSERT_TRUE(answer.ok()) << c.product << ": " << answer.status().message();
      const Status status =
          RunRanks(static_cast<int>(mesh.size()), GetParam(), [&](Group& group) -> Status {
            CHORUS_ASSIGN_OR_RETURN(const auto runtime,
                                    Runtime::Create(group, mesh, {.poison_memory = true}));
            CHORUS_ASSIGN_OR_RETURN(const Trial trial, TryProduct(*runtime, product, *answer, sizes,
                                                                  c.dtype, /*runs=*/1));
            if (!trial.check.right()) return Internal(trial.check.first_wrong);
            return trial.right() ? OkStatus() : Internal("counted is not predicted");
          });
      EXPECT_TRUE(status.ok()) << c.product << " on " << c.mesh << ": " << status.message();
    }
  }
}

}  // namespace
}  // namespace chorus
