#include "chorus/run/lower.h"

#include <gtest/gtest.h>

#include "chorus/algorithm/algorithm.h"
#include "chorus/run/validate.h"

namespace chorus {
namespace {

LoweredPlan PlanOf(const char* name, OpKind op, std::int64_t n, std::int64_t rank,
                   std::int64_t root = 0) {
  return Lower(FindAlgorithm(name, op).value()->Build(), n, rank, root).value();
}

TEST(LowerTest, DirectReduceScatterIsOneReductionFromTheChannels) {
  EXPECT_EQ(PlanOf("direct", OpKind::kReduceScatter, 3, 1).ToString(),
            "plan direct reduce_scatter rank 1 of 3 root 0 tiles 2\n"
            "  0: send in[2] to 2 as 0\n"
            "  1: send in[0] to 0 as 0\n"
            "  2: reduce out[1] = message 0 from 0, scaled in[1], message 0 from 2; finish\n");
}

TEST(LowerTest, RingReduceScatterAddsWhatArrives) {
  EXPECT_EQ(PlanOf("ring", OpKind::kReduceScatter, 3, 0).ToString(),
            "plan ring reduce_scatter rank 0 of 3 root 0 tiles 2\n"
            "  0: send in[2] to 1 as 0\n"
            "  1: reduce acc[0 : 1] = message 0 from 2, scaled in[1]\n"
            "  2: send acc[0 : 1] to 1 as 1 after 1\n"
            "  3: reduce out[0] = message 1 from 2, scaled in[0]; finish after 0\n");
}

TEST(LowerTest, ASumOnTheRightKeepsItsParentheses) {
  // Root 4 of 6 adds what comes from rank 0 to the left: out = (x0 + ... + x3) + (x4 + x5).
  const LoweredPlan plan = PlanOf("binomial", OpKind::kReduce, 6, 4, 4);
  ASSERT_EQ(plan.instructions.size(), 2u);
  EXPECT_EQ(plan.instructions[0].operands.size(), 2u);
  EXPECT_EQ(plan.instructions[1].operands.size(), 2u);
  EXPECT_TRUE(plan.instructions[1].operands[0].is_message);
  EXPECT_FALSE(plan.instructions[1].operands[1].is_message);
}

TEST(LowerTest, OneShotPutsAsideWhatItMayOnlyAddLater) {
  // In place, out overwrites in, which must be sent first; two ranks that took messages only then
  // would wait for each other once messages are longer than channels.
  EXPECT_EQ(PlanOf("one_shot", OpKind::kAllReduce, 2, 1).ToString(),
            "plan one_shot all_reduce rank 1 of 2 root 0 tiles 2\n"
            "  0: send in[0] to 0 as 0\n"
            "  1: recv tmp[0 : 0] from 0 as 0\n"
            "  2: reduce out[0] = scaled tmp[0 : 0], scaled in[0]; finish after 0, 1\n");
}

TEST(LowerTest, UnfusedIsOneInstructionAStep) {
  const Schedule schedule = FindAlgorithm("direct", OpKind::kAllReduce).value()->Build();
  const LoweredPlan plan = Lower(schedule, 4, 2, 0, {.fuse = false}).value();
  EXPECT_EQ(plan.instructions.size(), schedule.ForRank(4, 2).value().size());
  EXPECT_TRUE(CheckPlan(plan, schedule).ok());
}

// Every algorithm there is, every small group, every root: the plans do what the schedule says and
// cannot block, whatever the channels hold.
TEST(LowerTest, EveryPlanIsValid) {
  for (const Algorithm& algorithm : AllAlgorithms()) {
    const Schedule schedule = algorithm.Build();
    for (std::int64_t n = 1; n <= 9; ++n) {
      if (!algorithm.Fits(n).ok()) continue;
      for (std::int64_t root = 0; root < (HasRoot(algorithm.op) ? n : 1); ++root) {
        for (const bool fuse : {true, false}) {
          std::vector<LoweredPlan> plans;
          for (std::int64_t rank = 0; rank < n; ++rank) {
            plans.push_back(Lower(schedule, n, rank, root, {fuse}).value());
            const Status status = CheckPlan(plans.back(), schedule);
            ASSERT_TRUE(status.ok()) << status.message();
          }
          const Status together = CheckTogether(plans);
          ASSERT_TRUE(together.ok()) << together.message();
        }
      }
    }
  }
}

class SpoiltPlanTest : public testing::Test {
 protected:
  Status Check() const { return CheckPlan(plan, schedule); }

  const Schedule schedule = FindAlgorithm("ring", OpKind::kAllReduce).value()->Build();
  LoweredPlan plan = Lower(schedule, 4, 1, 0).value();
};

TEST_F(SpoiltPlanTest, EachSingleChangeIsRejected) {
  ASSERT_TRUE(Check().ok());
  const LoweredPlan good = plan;
  for (std::size_t i = 0; i < good.instructions.size(); ++i) {
    SCOPED_TRACE(good.instructions[i].ToString());
    plan = good;
    plan.instructions.erase(plan.instructions.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(Check().ok()) << "deleted";
    for (const std::int64_t dependency : good.instructions[i].after) {
      plan = good;
      std::erase(plan.instructions[i].after, dependency);
      EXPECT_FALSE(Check().ok()) << "without dependency on " << dependency;
    }
    plan = good;
    plan.instructions[i].steps.push_back(plan.instructions[(i + 1) % 3].steps[0]);
    EXPECT_FALSE(Check().ok()) << "a step done twice";
    if (good.instructions[i].kind == Instruction::Kind::kReduce) {
      plan = good;
      std::swap(plan.instructions[i].operands.front(), plan.instructions[i].operands.back());
      EXPECT_FALSE(Check().ok()) << "operands swapped";
      plan = good;
      plan.instructions[i].finish = !plan.instructions[i].finish;
      EXPECT_FALSE(Check().ok()) << "rounding changed";
    } else {
      plan = good;
      ++plan.instructions[i].message;
      EXPECT_FALSE(Check().ok()) << "another message";
    }
  }
}

TEST(CheckTogetherTest, FindsRanksThatWaitForEachOther) {
  // Each rank wants to receive before it sends.
  const Schedule schedule = Schedule::Parse(R"(
schedule stuck barrier
  blocks 0
begin
  v: recv signal from (r + 1) % N as 0
  s: send signal to (r - 1) % N as 0 after v
end)")
                                .value();
  std::vector<LoweredPlan> plans;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    plans.push_back(Lower(schedule, 3, rank, 0).value());
  }
  const Status status = CheckTogether(plans);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("waits for itself"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace chorus
