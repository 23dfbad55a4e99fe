#include "chorus/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chorus/program/account.h"

namespace chorus {
namespace {

// One step of data parallel over X with the update split over X (ZeRO-1), of y = x . w.
constexpr const char* kStep = R"(bound
  x[B_X, D]: f32 input
  dy[B_X, F]: f32 input
  w[D, F]: f32 parameter
  w.m[D_X, F]: f32 optimizer_state
  w.v[D_X, F]: f32 optimizer_state
operations
  one[]: f32 activation = constant(1)
  d.w.sum[D, F]{U_X}: f32 gradient = contract(x, dy)  # d.w | w | X splits B | not gather x (96 B, 480 FLOP) | not gather dy (160 B, 480 FLOP)
  d.w[D_X, F]: f32 gradient = reduce_scatter(d.w.sum, D_X)  # d.w | w | {U_X} and D_X
  free(d.w.sum)
  w.own[D_X, F]: f32 workspace = slice(w, D_X)
  adamw(w.own, w.m, w.v, d.w)
  free(d.w)
  w.new[D, F]: f32 parameter = all_gather(w.own, D_X) into w
  free(w.own)
outputs one
)";

StepProgram Step() {
  Result<StepProgram> program = StepProgram::Parse(kStep);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return *program;
}

// The same text with `line` in the place of the first line that starts with `start`.
std::string Changed(const std::string& start, const std::string& line) {
  std::string text = kStep;
  const std::size_t begin = text.find("  " + start);
  EXPECT_NE(begin, std::string::npos) << start;
  const std::size_t end = text.find('\n', begin) + 1;
  return text.substr(0, begin) + line + text.substr(end);
}

std::string Error(const std::string& text) {
  const Result<StepProgram> program = StepProgram::Parse(text);
  return program.ok() ? "accepted" : program.status().message();
}

TEST(StepProgram, TextAndBack) {
  const StepProgram program = Step();
  EXPECT_EQ(program.ToString(), kStep);
  EXPECT_EQ(*StepProgram::Parse(program.ToString()), program);
  EXPECT_EQ(program.bound(), 5);
  EXPECT_EQ(program.ops().size(), 9U);
  EXPECT_EQ(program.outputs(), std::vector<ValueId>{program.Find("one")});
  EXPECT_EQ(program.Find("w.newer"), kNoValue);
  const Provenance& why = program.ops()[1].why;
  EXPECT_EQ(why.source, "d.w");
  ASSERT_EQ(why.rejected.size(), 2U);
  EXPECT_EQ(why.rejected[1], (Alternative{"gather dy", Bytes(160), Flops(480)}));
  EXPECT_EQ(*StepProgram::Parse(StepProgram().ToString()), StepProgram());
}

TEST(StepProgram, RefusesASumThatIsDoneAlready) {  // S11
  EXPECT_EQ(Error(Changed("d.w[D_X",
                          "  d.w.x[D, F]: f32 gradient = all_reduce(d.w.sum, X)\n"
                          "  d.w[D, F]: f32 gradient = all_reduce(d.w.x, X)\n")),
            "operation 3, d.w[D, F]: f32 gradient = all_reduce(d.w.x, X): all_reduce over X: "
            "d.w.x[D, F] is no sum over X ({U_X} is missing), so nothing is left to add; adding it "
            "again would count it once a rank");
}

TEST(StepProgram, ChecksLifetimes) {
  EXPECT_EQ(Error(Changed("free(d.w.sum)", "")), "value d.w.sum is neither freed nor an output");
  EXPECT_EQ(Error(Changed("free(d.w.sum)", "  free(d.w.sum)\n  free(d.w.sum)\n")),
            "operation 4, free(d.w.sum): value d.w.sum is used after it was freed or taken over");
  EXPECT_EQ(Error(Changed("free(d.w.sum)", "  free(w)\n")),
            "operation 3, free(w): value w is bound and cannot be freed");
  EXPECT_EQ(
      Error(Changed("free(w.own)",
                    "  free(w.own)\n  again[D_X, F]: f32 workspace = "
                    "slice(w, D_X)\n  free(again)\n")),
      "operation 9, again[D_X, F]: f32 workspace = slice(w, D_X): value w is used after it was "
      "freed or taken over");
}

TEST(StepProgram, ChecksMoves) {
  EXPECT_EQ(
      Error(Changed("w.own", "  w.own[D_X, F]: f64 workspace = slice(w, D_X)\n")),
      "operation 4, w.own[D_X, F]: f64 workspace = slice(w, D_X): leaves f32 [D_X, F], but the "
      "result is f64 w.own[D_X, F]");
  EXPECT_EQ(
      Error(Changed("w.new", "  w.new[D, F]: f32 parameter = all_gather(w.own, F_X) into w\n")),
      "operation 7, w.new[D, F]: f32 parameter = all_gather(w.own, F_X) into w: all_gather over "
      "X: these are not the minor axes of dimension F of w.own[D_X, F]");
  EXPECT_EQ(
      Error(Changed("w.new", "  w.new[D, F]: f32 parameter = all_gather(w.own, D_X) into w.m\n")),
      "operation 7, w.new[D, F]: f32 parameter = all_gather(w.own, D_X) into w.m: f32 w.new[D, "
      "F] cannot lie in the memory of f32 w.m[D_X, F]");
  EXPECT_EQ(Error(Changed("adamw", "  adamw(w, w.m, w.v, d.w)\n")),
            "operation 5, adamw(w, w.m, w.v, d.w): updates w[D, F] with w.m[D_X, F]: both must lie "
            "alike and be no sums to be done");
}

TEST(StepProgram, PointsAtBadText) {
  EXPECT_EQ(Error("bound\n  x[B_X]: f33 input\n"),
            "line 2: a dtype is expected here, like f32\n    x[B_X]: f33 input\n            ^");
  EXPECT_EQ(Error("bound\noperations\n  free(y)\noutputs\n"),
            "line 3: 'y' is no value defined above\n    free(y)\n         ^");
  EXPECT_EQ(
      Error("bound\noperations\n  y[]: f32 activation = sin()\noutputs\n"),
      "line 3: 'sin' is no operation; there are constant, contract, add, gelu, gelu_grad, "
      "embed_window, embed_window_grad, cross_entropy, cross_entropy_grad, slice, all_gather, "
      "reduce_scatter, all_reduce, all_to_all, permute, shift, join, adamw, free\n    y[]: f32 "
      "activation = "
      "sin()\n                      "
      "    ^");
  EXPECT_EQ(Error("operations\n"), "a line 'bound' is expected here\n  operations\n  ^");
}

TEST(StepProgram, IsCheckedAgainstMeshAndSizes) {
  EXPECT_TRUE(Step().Check(*Mesh::Parse("X=2"), {{"B", 4}, {"D", 3}, {"F", 2}}).ok());
  EXPECT_EQ(Step().Check(*Mesh::Parse("Y=2"), {{"B", 4}, {"D", 3}, {"F", 2}}).message(),
            "x[B_X, D] uses axis X on dimension B, but the mesh has only Y=2, so "
            "write x[B_Y, D], or give the mesh the axis: Y=2,X=2");
  EXPECT_EQ(Step().Check(*Mesh::Parse("X=2"), {{"B", 4}, {"D", 3}}).message(),
            "dimension F of dy[B_X, F] has no size; there are B=4,D=3, so write for "
            "example B=4,D=3,F=1024");
}

TEST(Account, CountsWhatARankDoes) {  // 3 rows of w over 2 ranks: 2 and 1
  const StepProgram program = Step();
  const Mesh mesh = *Mesh::Parse("X=2");
  const DimSizes sizes = {{"B", 8}, {"D", 3}, {"F", 5}};
  EXPECT_EQ(ProductFlops(program, mesh, sizes, 0), Flops(2 * 4 * 3 * 5));

  const CollectiveShape scatter = ShapeOf(program, program.ops()[2], mesh, sizes, 1);
  EXPECT_EQ(scatter.group, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(scatter.index, 1);
  EXPECT_EQ(scatter.counts, (std::vector<std::int64_t>{10, 5}));
  EXPECT_EQ(scatter.lengths, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(scatter.elements, 15);
  EXPECT_FALSE(scatter.NeedsPacking());

  // x 12, dy 20, w 15, m 10, v 10 = 67 floats; then one 1, d.w.sum 15, d.w 10.
  const MemoryUse use = PeakMemory(program, mesh, sizes, 0);
  EXPECT_EQ(use.bound, Bytes(4 * 67));
  EXPECT_EQ(use.peak, Bytes(4 * (67 + 1 + 15 + 10)));
  EXPECT_EQ(use.peak_op, 2);
  EXPECT_EQ(use.at_end, Bytes(4 * 68));
  EXPECT_EQ(PeakMemory(program, mesh, sizes, 1).peak, Bytes(4 * (57 + 1 + 15 + 5)));
}

TEST(Account, PacksBlocksOfADimensionThatIsNotLeading) {
  const StepProgram program = *StepProgram::Parse(
      "bound\n  w[D, F_X]: f32 parameter\noperations\n"
      "  u[D, F]: f32 workspace = all_gather(w, F_X)\noutputs u\n");
  const Mesh mesh = *Mesh::Parse("X=3");
  const auto workspace = [&](const DimSizes& sizes) {
    return WorkspaceBytes(program, program.ops()[0], mesh, sizes, 0);
  };
  EXPECT_EQ(workspace({{"D", 4}, {"F", 7}}), Bytes(4 * 28));
  EXPECT_EQ(workspace({{"D", 1}, {"F", 7}}), Bytes(0));  // one row: the blocks are runs already
  const CollectiveShape shape = ShapeOf(program, program.ops()[0], mesh, {{"D", 4}, {"F", 7}}, 2);
  EXPECT_EQ(shape.counts, (std::vector<std::int64_t>{12, 8, 8}));
  EXPECT_EQ(shape.outer, 4);
  EXPECT_EQ(shape.inner, 1);
}

std::string ComputeError(GraphOp op, const std::vector<const char*>& operands, const char* result) {
  std::vector<Spec> specs;
  for (const char* operand : operands) specs.push_back(*Spec::Parse(operand));
  const Status status = CheckCompute(op, specs, *Spec::Parse(result));
  return status.ok() ? "ok" : status.message();
}

TEST(CheckCompute, FollowsTheRule) {
  constexpr auto kContract = GraphOp::kContract;
  EXPECT_EQ(ComputeError(kContract, {"A[I_X, J]", "B[J, K_Y]"}, "C[I_X, K_Y]"), "ok");
  EXPECT_EQ(ComputeError(kContract, {"A[I, J_X]", "B[J_X, K]"}, "C[I, K]{U_X}"), "ok");
  EXPECT_EQ(ComputeError(kContract, {"A[I, J]{U_X}", "B[J, K_Y]"}, "C[I, K_Y]{U_X}"), "ok");
  EXPECT_EQ(ComputeError(kContract, {"A[I, J_X]", "B[J_X, K]"}, "C[I, K]"),
            "contract leaves a result partial over X, but C[I, K] says no axis");
  EXPECT_EQ(ComputeError(kContract, {"A[I, J_X]", "B[J, K]"}, "C[I, K]"),
            "index J is X in A[I, J_X] but whole in B[J, K]; bring one to the other's split");
  EXPECT_EQ(ComputeError(kContract, {"A[I_X, J]", "B[J, K_X]"}, "C[I_X, K]"),
            "index K is X in B[J, K_X] but whole in C[I_X, K]; bring one to the other's split");
  // One axis on two indices of different arrays: each spec is fine, together they are not.
  EXPECT_EQ(ComputeError(GraphOp::kContract, {"A[I_X, J]", "B[I_X, J]"}, "C[]{U_X}"), "ok");
  EXPECT_EQ(
      ComputeError(GraphOp::kEmbedWindowGrad, {"t[B_X, W]", "d[B_X, D]"}, "e[W, V_X, D]"),
      "axis X splits index B and index V, so blocks off the diagonal would be missing; gather "
      "one of them");
}

TEST(CheckCompute, LetsSumsThroughWhatIsLinear) {  // S06
  EXPECT_EQ(ComputeError(GraphOp::kGelu, {"C[I]{U_X}"}, "D[I]{U_X}"),
            "gelu is not linear in operand 0, so C[I]{U_X} must be reduced over X first");
  EXPECT_EQ(ComputeError(GraphOp::kGeluGrad, {"x[I]", "dy[I]{U_X}"}, "dx[I]{U_X}"), "ok");
  EXPECT_EQ(ComputeError(GraphOp::kAdd, {"a[I]{U_X}", "b[I]{U_X}"}, "c[I]{U_X}"), "ok");
  EXPECT_EQ(
      ComputeError(GraphOp::kAdd, {"a[I]{U_X}", "b[I]"}, "c[I]{U_X}"),
      "b[I] is whole over X and would be added once a rank, so a[I]{U_X} must be reduced over X "
      "first");
  EXPECT_EQ(ComputeError(GraphOp::kContract, {"a[I]{U_X}", "b[I]{U_X}"}, "c[]{U_X}"),
            "a product of two sums over X is not the sum of the products, and b[I]{U_X} is partial "
            "too, so a[I]{U_X} must be reduced over X first");
  EXPECT_EQ(ComputeError(GraphOp::kContract, {"a[I]{U_X}", "b[I, J_X]"}, "c[J_X]"),
            "axis X splits index J of contract, so a[I]{U_X} must be reduced over X first");
  EXPECT_EQ(ComputeError(GraphOp::kCrossEntropy, {"l[B, V_X]", "t[B]"}, "loss[]"),
            "cross_entropy needs index V whole on each rank, but X splits it");
  EXPECT_EQ(ComputeError(GraphOp::kCrossEntropy, {"l[B_X, V]", "t[B_X]"}, "loss[]{U_X}"), "ok");
}

// A program of one move of a.
std::string OneMove(const std::string& from, const std::string& to, const std::string& call) {
  return "bound\n  a" + from + ": f32 input\noperations\n  b" + to + ": f32 activation = " + call +
         "\noutputs b\n";
}

TEST(StepProgram, BlocksMayChangeRanks) {
  for (const std::string& text :
       {OneMove("[I_X, J]", "[I, J_X]", "all_to_all(a, I_X, J)"),
        OneMove("[I_ZXY, J_W]{U_V}", "[I_Z, J_WXY]{U_V}", "all_to_all(a, I_XY, J)"),
        OneMove("[I_XY, J]", "[I_YX, J]", "permute(a, XY)"),
        OneMove("[I_ZX, J_Y]{U_V}", "[I_ZY, J_X]{U_V}", "permute(a, XY)")}) {
    const Result<StepProgram> program = StepProgram::Parse(text);
    ASSERT_TRUE(program.ok()) << program.status().message();
    EXPECT_EQ(program->ToString(), text);
  }
  EXPECT_THAT(Error(OneMove("[I_XY, J]", "[I_Y, J_X]", "all_to_all(a, I_X, J)")),
              testing::EndsWith("all_to_all over X: these are not the minor axes of dimension I of "
                                "a[I_XY, J]"));
  EXPECT_THAT(Error(OneMove("[I_X, J]", "[I, J_X]", "all_to_all(a, I_X, I)")),
              testing::EndsWith("all_to_all from dimension I to itself"));
  EXPECT_THAT(Error(OneMove("[I_X, J]", "[I, J_X]", "all_to_all(a, I_X, K)")),
              testing::EndsWith("a[I, J] has no dimension K"));
  EXPECT_THAT(Error(OneMove("[I_X, J]", "[I_X, J]", "all_to_all(a, I_X, J)")),
              testing::EndsWith("leaves f32 [I, J_X], but the result is f32 b[I_X, J]"));
  EXPECT_THAT(Error(OneMove("[I_XY, J]", "[I_YX, J]", "permute(a, X)")),
              testing::EndsWith("permute over X of a[I_XY, J] leaves b[I_YX, J]: the axes that "
                                "change are XY"));
  EXPECT_THAT(Error(OneMove("[I_X, J]{U_Y}", "[I_Y, J]", "permute(a, XY)")),
              testing::EndsWith("permute of a[I_X, J]{U_Y} leaves b[I_Y, J]: it moves blocks, so "
                                "dimensions and sums stay"));
  const StepProgram renamed =
      *StepProgram::Parse(OneMove("[I_X, J]", "[I_Y, J]", "permute(a, XY)"));
  const DimSizes sizes = {{"I", 6}, {"J", 2}};
  EXPECT_TRUE(renamed.Check(*Mesh::Parse("X=2,Y=2"), sizes).ok());
  EXPECT_EQ(renamed.Check(*Mesh::Parse("X=2,Y=3"), sizes).message(),
            "b[I_Y, J]: f32 activation = permute(a, XY): dimension I is in 2 parts before and in 3 "
            "after it on X=2,Y=3, but a permute moves blocks and cuts none");
}

// S15: a scan along a dimension needs a carry from block to block. There is none, so it is refused
// and not done block by block; so is a scatter to indices.
TEST(StepProgram, RefusesScansAlongADimension) {
  for (const char* call : {"cumsum(a)", "scan(a, I_X)", "scatter(a, I_X)"}) {
    EXPECT_THAT(Error(OneMove("[I_X]", "[I_X]", call)),
                testing::HasSubstr("is no operation; there are constant, contract, add, gelu, "
                                   "gelu_grad, embed_window, embed_window_grad, cross_entropy, "
                                   "cross_entropy_grad, slice, all_gather, reduce_scatter, "
                                   "all_reduce, all_to_all, permute, shift, join, adamw, free"))
        << call;
  }
}

}  // namespace
}  // namespace chorus
