#include "chorus/shard/compute.h"

#include <gtest/gtest.h>

#include "chorus/program/interpreter.h"

namespace chorus {
namespace {

Spec S(const char* text) { return *Spec::Parse(text); }

const DimSizes kSizes = {{"I", 1024}, {"J", 1024}, {"K", 1024}};

std::vector<ComputePlan> Plans(const char* a, const char* b, const char* c, const char* mesh,
                               const DimSizes& sizes = kSizes, const Tariff& tariff = Tariff()) {
  ComputeRequest request;
  request.operands = {S(a), S(b)};
  request.result = Spec::Whole("C", {"I", "K"});
  if (c != nullptr) request.wanted = S(c);
  const auto plans = PlanCompute(request, *Mesh::Parse(mesh), sizes, tariff);
  EXPECT_TRUE(plans.ok()) << plans.status().message();
  return plans.ok() ? *plans : std::vector<ComputePlan>();
}

TEST(PlanCompute, Case1NeedsNothing) {
  const ComputePlan plan = Plans("A[I_X, J]", "B[J, K_Y]", "C[I_X, K_Y]", "X=2,Y=2")[0];
  EXPECT_EQ(plan.rule, "X splits I, Y splits K");
  EXPECT_EQ(plan.cost, (Cost{Bytes(0), Flops(2LL * 512 * 1024 * 512), 0}));
}

TEST(PlanCompute, Case2GathersOrSlicesTheOtherAndReduces) {
  // All in whole arrays: gather A sends 3 MiB; slicing B and reducing C sends 6 MiB but splits
  // work.
  const auto plans = Plans("A[I, J_X]", "B[J, K]", "C[I, K]", "X=4");
  EXPECT_EQ(plans[0].rule, "X repeats: all_gather J over X of A");
  EXPECT_EQ(plans[0].cost, (Cost{Bytes(3 << 20), Flops(2LL << 30), 1}));
  const auto reduce = std::find_if(plans.begin(), plans.end(), [](const ComputePlan& p) {
    return p.rule == "X splits J: slice J over X of B, all_reduce over X of C";
  });
  ASSERT_NE(reduce, plans.end());
  EXPECT_EQ(reduce->cost, (Cost{Bytes(6 << 20), Flops(2LL << 28), 1}));
  // A machine that computes little while it sends a byte shares the work instead.
  Tariff slow;
  slow.flops_per_byte = 10;
  EXPECT_EQ(Plans("A[I, J_X]", "B[J, K]", "C[I, K]", "X=4", kSizes, slow)[0].repeated.size(), 0U);
}

TEST(PlanCompute, Case3LeavesASumToBeDone) {  // S08: one all_reduce of I x K
  const ComputePlan plan = Plans("A[I, J_X]", "B[J_X, K]", "C[I, K]", "X=4")[0];
  EXPECT_EQ(plan.rule, "X splits J: all_reduce over X of C");
  EXPECT_EQ(plan.cost.bytes_sent, Bytes(6 << 20));
  EXPECT_EQ(plan.result.ToString(), "C[I, K]{U_X}");
  EXPECT_EQ(Plans("A[I, J_X]", "B[J_X, K]", "C[I, K_X]", "X=4")[0].rule,
            "X splits J: reduce_scatter K over X of C");
  EXPECT_EQ(Plans("A[I, J_X]", "B[J_X, K]", "C[I, K]{U_X}", "X=4")[0].cost.bytes_sent, Bytes(0));
}

// Of two sums the cheaper is done, 4 x 7/8 x 128 KiB (all_reduce of B), and that of A waits until
// C, which is as small: 7/8 x 256 KiB.
TEST(PlanCompute, OfTwoSumsOneMayWait) {
  const DimSizes small_b = {{"I", 1024}, {"J", 1024}, {"K", 64}};
  const ComputePlan plan = Plans("A[I, J]{U_Y}", "B[J, K]{U_Y}", "C[I, K_Y]", "Y=8", small_b)[0];
  EXPECT_EQ(plan.rule,
            "Y passes the sum of A on: all_reduce over Y of B, reduce_scatter K over Y "
            "of C");
  EXPECT_EQ(plan.cost.bytes_sent, Bytes(688'128));
}

TEST(PlanCompute, Case4GathersTheCheaper) {
  const DimSizes small_b = {{"I", 1024}, {"J", 1024}, {"K", 16}};
  EXPECT_EQ(Plans("A[I_X, J]", "B[J, K_X]", nullptr, "X=4", small_b)[0].rule,
            "X splits I: all_gather K over X of B");
  const DimSizes small_a = {{"I", 16}, {"J", 1024}, {"K", 1024}};
  EXPECT_EQ(Plans("A[I_X, J]", "B[J, K_X]", nullptr, "X=4", small_a)[0].rule,
            "X splits K: all_gather I over X of A");
}

TEST(PlanCompute, GathersWeightsJustForTheirUse) {  // FSDP
  const DimSizes sizes = {{"I", 4096}, {"J", 64}, {"K", 256}};
  EXPECT_EQ(Plans("A[I_X, J]", "B[J_X, K]", nullptr, "X=4", sizes)[0].rule,
            "X splits I: all_gather J over X of B");
}

TEST(PlanCompute, KeepsItsHandsOffLaws) {
  ComputeRequest request;
  request.operands = {S("A[I_X, J]"), S("B[J, K_X]")};
  request.result = Spec::Whole("C", {"I", "K"});
  request.strict = true;
  const auto plans = PlanCompute(request, *Mesh::Parse("X=4"), kSizes, Tariff());
  ASSERT_TRUE(plans.ok());
  EXPECT_TRUE(plans->empty());  // X cannot split I and K
  request.operands = {S("A[I, J]"), S("B[J_X, K]")};
  request.wanted = S("C[I, K]");
  EXPECT_EQ((*PlanCompute(request, *Mesh::Parse("X=4"), kSizes, Tariff()))[0].rule,
            "X splits J: slice J over X of A, all_reduce over X of C");
}

TEST(PlanCompute, ReducesBeforeWhatIsNotLinear) {  // S06
  ComputeRequest request;
  request.op = GraphOp::kGelu;
  request.operands = {S("x[I]{U_X}")};
  request.result = Spec::Whole("y", {"I"});
  request.wanted = S("y[I]");
  const auto plans = PlanCompute(request, *Mesh::Parse("X=2"), {{"I", 8}}, Tariff());
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  for (const ComputePlan& plan : *plans) EXPECT_FALSE(plan.operands[0].IsPartial("X")) << plan.rule;
  EXPECT_EQ((*plans)[0].cost.bytes_sent, Bytes(32));
}

// S06: addends [1, 5] and [6, -3] are [7, 2], whose norm is sqrt(53); that of the addends is
// another.
TEST(PlanCompute, ANormIsThatOfTheSum) {
  ComputeRequest request;
  request.operands = {S("c[I]{U_X}"), S("d[I]{U_X}")};  // alike
  request.result = Spec::Whole("n", {});
  request.wanted = S("n[]");
  const Mesh mesh = *Mesh::Parse("X=2");
  const auto plans = PlanCompute(request, mesh, {{"I", 2}}, Tariff());
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  for (const ComputePlan& plan : *plans) {
    EXPECT_FALSE(plan.operands[0].IsPartial("X") && plan.operands[1].IsPartial("X")) << plan.rule;
  }
  const std::string bound =
      "bound\n  r[R_X]: f64 input\n  a[R_X, I]: f64 input\noperations\n"
      "  c[I]{U_X}: f64 activation = contract(r, a)\n";
  const auto run = [&](const std::string& ops) -> Result<PlainArray> {
    CHORUS_ASSIGN_OR_RETURN(const StepProgram program,
                            StepProgram::Parse(bound + ops + "outputs n\n"));
    CHORUS_ASSIGN_OR_RETURN(
        auto results,
        Interpret(program, mesh, {{"R", 2}, {"I", 2}},
                  {{"r", Filled(Shape({2}), 1)}, {"a", PlainArray{Shape({2, 2}), {1, 5, 6, -3}}}},
                  {}));
    return results.at("n");
  };
  EXPECT_EQ(
      run("  n[]{U_X}: f64 activation = contract(c, c)\n  free(c)\n").status().message(),
      "operation 1, n[]{U_X}: f64 activation = contract(c, c): a product of two sums over X is "
      "not the sum of the products, and c[I]{U_X} is partial too, so c[I]{U_X} must be reduced "
      "over X first");
  const auto right =
      run("  s[I]: f64 activation = all_reduce(c, X) into c\n"
          "  n[]: f64 activation = contract(s, s)\n  free(s)\n");
  ASSERT_TRUE(right.ok()) << right.status().message();
  EXPECT_EQ(right->elements, std::vector<double>{53});
  // Scattered first, the squares are a sum again.
  const auto split =
      run("  s[I_X]: f64 activation = reduce_scatter(c, I_X)\n  free(c)\n"
          "  t[]{U_X}: f64 activation = contract(s, s)\n  free(s)\n"
          "  n[]: f64 activation = all_reduce(t, X) into t\n");
  ASSERT_TRUE(split.ok()) << split.status().message();
  EXPECT_EQ(split->elements, std::vector<double>{53});
  // What is linear may wait: twice c is [14, 4], reduced at the end.
  const auto twice =
      run("  d[I]{U_X}: f64 activation = add(c, c)\n  free(c)\n"
          "  n[I]: f64 activation = all_reduce(d, X) into d\n");
  ASSERT_TRUE(twice.ok()) << twice.status().message();
  EXPECT_EQ(twice->elements, (std::vector<double>{14, 4}));
}

TEST(PlanCompute, RefusesWhatCannotBeCounted) {
  ComputeRequest request;
  request.operands = {S("A[I, J]"), S("B[J, K]")};
  request.result = Spec::Whole("C", {"I", "K"});
  const DimSizes huge = {{"I", 1 << 24}, {"J", 1 << 24}, {"K", 1 << 24}};
  EXPECT_EQ(
      PlanCompute(request, *Mesh::Parse("X=2"), huge, Tariff()).status().message(),
      "a loop over I, K, J with I=16777216,J=16777216,K=16777216 is more than 2^63 operations; "
      "give smaller sizes");
}

TEST(PlanCompute, RefusesASumFromNowhere) {
  ComputeRequest request;
  request.op = GraphOp::kGelu;
  request.operands = {S("x[I]")};
  request.result = Spec::Whole("y", {"I"});
  request.wanted = S("y[I]{U_X}");
  EXPECT_EQ(PlanCompute(request, *Mesh::Parse("X=2"), {{"I", 8}}, Tariff()).status().message(),
            "no way leads to y[I]{U_X}: a sum over an axis comes out only where the axis splits a "
            "summed index");
}

}  // namespace
}  // namespace chorus
