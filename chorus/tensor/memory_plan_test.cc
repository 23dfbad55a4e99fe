#include "chorus/tensor/memory_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chorus/mesh/mesh.h"
#include "chorus/program/account.h"

namespace chorus {
namespace {

// On one rank, I=16, J=4 and f32.
MemoryPlan PlanOf(const std::string& operations, std::vector<std::int64_t> workspace) {
  const Result<StepProgram> program =
      StepProgram::Parse("bound\n  a[I, J]: f32 parameter\noperations\n" + operations);
  EXPECT_TRUE(program.ok()) << program.status().message();
  const DimSizes sizes = {{"I", 16}, {"J", 4}, {"K", 3}};
  std::vector<Shape> shapes;
  for (const ProgramValue& value : program->values()) {
    shapes.push_back(LocalShape(value.spec, Mesh(), sizes, 0));
  }
  workspace.resize(program->ops().size(), 0);
  return PlanMemory(*program, shapes, workspace);
}

TEST(MemoryPlanTest, WhatIsFreedIsTakenAgain) {
  const MemoryPlan plan = PlanOf(
      "  b[I, J]: f32 activation = gelu(a)\n"
      "  c[I, J]: f32 activation = gelu(b)\n"
      "  free(b)\n"
      "  d[I, J]: f32 activation = gelu(c)\n"
      "outputs c, d\n",
      {});
  EXPECT_EQ(plan.slots, (std::vector<std::int64_t>{256, 256}));
  EXPECT_EQ(plan.slot_of, (std::vector<int>{-1, -1, 1, 0}));
  EXPECT_EQ(plan.ops[2].frees, 0);
  EXPECT_EQ(plan.peak, 512);
  EXPECT_EQ(plan.peak_op, 1);
}

// A value that goes on in the memory of another has its slot; that of a bound value is nobody's.
TEST(MemoryPlanTest, WhatIsTakenOverKeepsItsSlot) {
  const MemoryPlan plan = PlanOf(
      "  b[I, J]: f32 activation = gelu(a)\n"
      "  c[I, J]: f32 activation = gelu(b) into b\n"
      "outputs c\n",
      {});
  EXPECT_EQ(plan.slots, (std::vector<std::int64_t>{256}));
  EXPECT_EQ(plan.slot_of, (std::vector<int>{-1, -1, 0}));
  EXPECT_EQ(plan.ops[1].result, MemoryPlan::kNone);
  EXPECT_EQ(plan.peak, 256);
}

// A slot that would leave more than a quarter of it idle is not taken; a workspace is given back.
TEST(MemoryPlanTest, SmallValuesTakeNoLargeSlots) {
  const MemoryPlan plan = PlanOf(
      "  b[I, J]: f32 activation = gelu(a)\n"
      "  s[J]: f32 activation = constant(1)\n"
      "  c[I, J]: f32 activation = gelu(b)\n"
      "outputs b, s, c\n",
      {256, 200, 100});
  EXPECT_EQ(plan.slots, (std::vector<std::int64_t>{256, 256, 16, 100}));
  EXPECT_EQ(plan.ops[0].workspace, 1);
  EXPECT_EQ(plan.ops[1].workspace, 1);  // 200 of 256
  EXPECT_EQ(plan.ops[2].result, 1);
  EXPECT_EQ(plan.ops[2].workspace, 3);
  EXPECT_EQ(plan.peak, 256 + 16 + 256 + 100);
}

}  // namespace
}  // namespace chorus
