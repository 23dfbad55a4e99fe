#include "chorus/shard/reshard.h"

#include <gtest/gtest.h>

#include <numeric>

#include "chorus/program/interpreter.h"

namespace chorus {
namespace {

Spec S(const char* text) { return *Spec::Parse(text); }

// The moves of a reshard on X=2,Y=2 of f32[8, 8], as one line, with the bytes sent.
std::string Plan(const char* from, const char* to) {
  const Result<Reshard> plan = PlanReshard(S(from), S(to), DType::kF32, *Mesh::Parse("X=2,Y=2"),
                                           {{"I", 8}, {"J", 8}}, Tariff());
  if (!plan.ok()) return plan.status().message();
  std::string text;
  for (const Move& move : plan->moves) text += ToString(move) + "; ";
  return text + std::to_string(plan->cost.bytes_sent.value()) + " B";
}

TEST(Reshard, TakesTheCheapestSteps) {
  EXPECT_EQ(Plan("A[I, J]", "A[I, J]"), "0 B");
  EXPECT_EQ(Plan("A[I, J]", "A[I_X, J_Y]"), "slice J over Y; slice I over X; 0 B");
  EXPECT_EQ(Plan("A[I, J]", "A[I_YX, J]"), "slice I over YX; 0 B");
  EXPECT_EQ(Plan("A[I_X, J]", "A[I, J]"), "all_gather I over X; 128 B");
  EXPECT_EQ(Plan("A[I_XY, J]", "A[I, J]"), "all_gather I over XY; 192 B");
  EXPECT_EQ(Plan("A[I_XY, J]", "A[I_X, J]"), "all_gather I over Y; 64 B");
  EXPECT_EQ(Plan("A[I, J]{U_X}", "A[I, J]"), "all_reduce over X; 256 B");
  EXPECT_EQ(Plan("A[I, J]{U_X}", "A[I, J_X]"), "reduce_scatter J over X; 128 B");
  EXPECT_EQ(Plan("A[I, J]{U_XY}", "A[I, J]"), "all_reduce over XY; 384 B");
  EXPECT_EQ(Plan("A[I, J]{U_XY}", "A[I_XY, J]"), "reduce_scatter I over XY; 192 B");
  EXPECT_EQ(Plan("A[I, J]{U_XY}", "A[I, J]{U_Y}"), "all_reduce over X; 256 B");
  // Reduce while it is small, gather last.
  EXPECT_EQ(Plan("A[I_X, J]{U_Y}", "A[I, J_Y]"),
            "reduce_scatter J over Y; all_gather I over X; 128 B");
  // Removing the major axis leaves stripes, so both are gathered and one is sliced again.
  EXPECT_EQ(Plan("A[I_XY, J]", "A[I_Y, J]"), "all_gather I over XY; slice I over Y; 192 B");
  // An axis that goes to another dimension.
  EXPECT_EQ(Plan("A[I_X, J]", "A[I, J_X]"), "all_gather I over X; slice J over X; 128 B");
  EXPECT_EQ(Plan("A[I_X, J_Y]", "A[I_XY, J]"), "all_gather J over Y; slice I over Y; 64 B");
}

TEST(Reshard, RefusesToInventASum) {
  EXPECT_EQ(
      Plan("A[I, J]", "A[I, J]{U_X}"),
      "A[I, J] cannot become A[I, J]{U_X}: it is whole over X, and nothing says how to make it "
      "a sum");
  EXPECT_EQ(Plan("A[I, J]", "A[J, I]"), "A[I, J] cannot become A[J, I]: their dimensions differ");
  EXPECT_EQ(Plan("A[I_Z, J]", "A[I, J]"),
            "A[I_Z, J] uses axis Z on dimension I, but the mesh has only X=2,Y=2");
}

// All specs of [I, J] over axes X and Y, without and with sums.
std::vector<Spec> AllSpecs() {
  std::vector<Spec> specs;
  const std::vector<AxisNames> splits = {{}, {"X"}, {"Y"}, {"X", "Y"}, {"Y", "X"}};
  for (const AxisNames& i : splits) {
    for (const AxisNames& j : splits) {
      for (const AxisNames& u : splits) {
        const Result<Spec> spec = Spec::Create("A", {{"I", i}, {"J", j}}, u);
        if (spec.ok() && u != AxisNames{"Y", "X"}) specs.push_back(*spec);
      }
    }
  }
  return specs;
}

// Carries a reshard out: A is whole, `from` is made by slicing it or, for sums, by a product whose
// contracted index is split.
PlainArray Carry(const Spec& from, const Reshard& plan, const Mesh& mesh, const DimSizes& sizes,
                 const PlainArray& p, const PlainArray& q) {
  // A[I, J] = sum over R, S of p[I, R, S] q[J, R, S]; R is split over X, S over Y if A is a sum.
  const AxisNames r = from.IsPartial("X") ? AxisNames{"X"} : AxisNames{};
  const AxisNames s = from.IsPartial("Y") ? AxisNames{"Y"} : AxisNames{};
  std::vector<ProgramValue> values = {
      {*Spec::Create("p", {{"I", from.AxesOf("I")}, {"R", r}, {"S", s}}), DType::kF64,
       StorageClass::kInput},
      {*Spec::Create("q", {{"J", from.AxesOf("J")}, {"R", r}, {"S", s}}), DType::kF64,
       StorageClass::kInput},
      {from.WithName("v0"), DType::kF64, StorageClass::kActivation}};
  std::vector<ProgramOp> ops;
  ProgramOp product;
  product.kind = ProgramOpKind::kCompute;
  product.compute = GraphOp::kContract;
  product.operands = {0, 1};
  product.result = 2;
  ops.push_back(product);
  for (const Move& move : plan.moves) {
    const auto id = static_cast<ValueId>(values.size());
    values.push_back(
        {move.result.WithName("v" + std::to_string(id)), DType::kF64, StorageClass::kActivation});
    ProgramOp op;
    op.kind = move.kind;
    op.operands = {id - 1};
    op.result = id;
    op.dim = move.dim;
    op.axes = move.axes;
    ops.push_back(op);
    ProgramOp free;
    free.operands = {id - 1};
    ops.push_back(free);
  }
  const auto last = static_cast<ValueId>(values.size()) - 1;
  const std::string name = values.back().name();
  const Result<StepProgram> program = StepProgram::Create(values, ops, {last});
  EXPECT_TRUE(program.ok()) << program.status().message();
  const auto result = Interpret(*program, mesh, sizes, {{"p", p}, {"q", q}}, AdamWSettings());
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result->at(name);
}

PlainArray Numbers(const Shape& shape, int seed) {
  PlainArray array = Filled(shape, 0);
  int next = seed;
  for (double& x : array.elements) x = (next = (next * 37 + 11) % 101) - 50;
  return array;
}

// Every pair of specs, uneven and empty blocks: the array arrives as it was.
TEST(Reshard, KeepsTheArrayBetweenAllSpecs) {
  const std::vector<Spec> specs = AllSpecs();
  int carried = 0;
  for (const char* mesh_text : {"X=2,Y=3", "X=2,Y=2"}) {
    const Mesh mesh = *Mesh::Parse(mesh_text);
    const DimSizes sizes = {{"I", 5}, {"J", 3}, {"R", 3}, {"S", 4}};
    const PlainArray p = Numbers(Shape({5, 3, 4}), 1);
    const PlainArray q = Numbers(Shape({3, 3, 4}), 2);
    const PlainArray whole = Carry(S("A[I, J]"), Reshard(), Mesh(), sizes, p, q);
    for (const Spec& from : specs) {
      for (const Spec& to : specs) {
        const Result<Reshard> plan = PlanReshard(from, to, DType::kF64, mesh, sizes, Tariff());
        if (!plan.ok()) continue;  // a sum from nothing
        EXPECT_EQ(Carry(from, *plan, mesh, sizes, p, q), whole)
            << from.ToString() << " -> " << to.ToString();
        if (!plan->moves.empty()) {
          EXPECT_TRUE(plan->moves.back().result.SameLayout(to));
        }
        ++carried;
      }
    }
  }
  EXPECT_GT(carried, 400);
}

}  // namespace
}  // namespace chorus
