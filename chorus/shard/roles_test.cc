#include "chorus/shard/roles.h"

#include <gtest/gtest.h>

#include <limits>

namespace chorus {
namespace {

// The example at the head of roles.h.
TEST(RoleChoices, BoundWhatEachRoleCosts) {
  ComputeRequest request;
  request.operands = {*Spec::Parse("A[I_X, J]"), *Spec::Parse("B[J, K_X]")};
  request.result = *Spec::Parse("C[I, K]");
  request.wanted = request.result;
  const Mesh mesh = *Mesh::Parse("X=4");
  const DimSizes sizes = {{"I", 8}, {"J", 8}, {"K", 8}};
  const Tariff tariff{64, 0};
  const ReshardPlanner planner(DType::kF32, mesh, sizes, tariff);
  const OpRule rule = *MakeRule(GraphOp::kContract, {{"I", "J"}, {"J", "K"}}, {"I", "K"});
  const RoleChoices choices(request, rule, planner);

  bool left_out = false;
  const auto all = choices.Within(std::numeric_limits<double>::infinity(), left_out);
  EXPECT_FALSE(left_out);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_NEAR(all[0].at_least, 352 + 256 / 64.0, 1e-5);
  EXPECT_TRUE(choices.At(all[0].number)[0].Splits());
  EXPECT_EQ(rule.loop[choices.At(all[0].number)[0].which], "J");
  EXPECT_NEAR(all[1].at_least, 384 + 256 / 64.0, 1e-5);
  EXPECT_NEAR(all[2].at_least, 384 + 256 / 64.0, 1e-5);
  EXPECT_NEAR(all[3].at_least, 384 + 1024 / 64.0, 1e-5);
  EXPECT_TRUE(choices.At(all[3].number)[0].Repeats());

  EXPECT_EQ(choices.Within(360, left_out).size(), 1U);
  EXPECT_TRUE(left_out);
}

}  // namespace
}  // namespace chorus
