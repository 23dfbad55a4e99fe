// Loops over chunks written by hand: what they mean is what the collective and the product mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "chorus/program/account.h"
#include "chorus/program/chunked.h"
#include "chorus/program/interpreter.h"
#include "chorus/program/program.h"

namespace chorus {
namespace {

PlainArray Numbers(const Shape& shape, std::int64_t salt) {
  PlainArray array = Filled(shape, 0);
  for (std::size_t i = 0; i < array.elements.size(); ++i) {
    array.elements[i] = static_cast<double>((static_cast<std::int64_t>(i) * 7 + salt) % 9 - 4);
  }
  return array;
}

// C = A . B as the program leaves it, and plainly.
void ExpectProduct(const std::string& text, std::string_view mesh_text, const DimSizes& sizes) {
  const Result<StepProgram> program = StepProgram::Parse(text);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(*StepProgram::Parse(program->ToString()), *program);
  const Mesh mesh = *Mesh::Parse(mesh_text);
  const std::int64_t i = sizes.at("I");
  const std::int64_t j = sizes.at("J");
  const std::int64_t k = sizes.at("K");
  const PlainArray a = Numbers(Shape({i, j}), 3);
  const PlainArray b = Numbers(Shape({j, k}), 5);
  const auto results = Interpret(*program, mesh, sizes, {{"A", a}, {"B", b}}, {});
  ASSERT_TRUE(results.ok()) << results.status().message();
  const OpRule rule = *MakeRule(GraphOp::kContract, {{"I", "J"}, {"J", "K"}}, {"I", "K"});
  EXPECT_EQ(results->at("C"), Contract(rule, a, b, Shape({i, k})));
}

std::string ErrorOf(const std::string& text) { return StepProgram::Parse(text).status().message(); }

constexpr const char* kGatherContracted =
    "bound\n  A[I_X, J]: f32 input\n  B[J_X, K]: f32 input\n"
    "operations\n"
    "  b.1[J, K] holds J_X 00 10: f32 workspace = shift(B, X, 1)\n"
    "  b.2[J, K] holds J_X 00 01: f32 workspace = shift(B, X, 1)\n"
    "  c.0[I_X, K] so_far J_X 11 00: f32 activation = contract(A, B)\n"
    "  c.1[I_X, K] so_far J_X 11 10: f32 activation = contract(A, b.1, c.0) into c.0\n"
    "  free(b.1)\n"
    "  C[I_X, K]: f32 activation = contract(A, b.2, c.1) into c.1\n"
    "  free(b.2)\n"
    "outputs C\n";

TEST(ChunkedTest, AGatheredFactorIsUsedChunkByChunk) {
  ExpectProduct(kGatherContracted, "X=2", {{"I", 5}, {"J", 7}, {"K", 3}});
  ExpectProduct(kGatherContracted, "X=2", {{"I", 1}, {"J", 2}, {"K", 1}});  // empty chunks
}

TEST(ChunkedTest, RowsArriveAndAreFilledIn) {
  ExpectProduct(
      "bound\n  A[I_X, J]: f32 input\n  B[J, K]: f32 input\n"
      "operations\n"
      "  a.1[I, J] holds I_X 0 1 0: f32 workspace = shift(A, X, 1)\n"
      "  c.0[I, K] so_far I_X 1 0 0: f32 activation = contract(A, B)\n"
      "  a.2[I, J] holds I_X 0 0 1: f32 workspace = shift(a.1, X, 1)\n"
      "  c.1[I, K] so_far I_X 1 1 0: f32 activation = contract(a.1, B, c.0) into c.0\n"
      "  C[I, K]: f32 activation = contract(a.2, B, c.1) into c.1\n"
      "  free(a.1)\n  free(a.2)\n"
      "outputs C\n",
      "X=3", {{"I", 7}, {"J", 4}, {"K", 3}});
}

TEST(ChunkedTest, SumsTravelAndGrow) {
  ExpectProduct(
      "bound\n  A[I, J_X]: f32 input\n  B[J_X, K]: f32 input\n"
      "operations\n"
      "  s.2[I, K] holds I_X 0 0 1 so_far J_X 1 0 0: f32 workspace = contract(A, B)\n"
      "  t.1[I, K] holds I_X 0 1 0 so_far J_X 0 0 1: f32 workspace = shift(s.2, X, -1)\n"
      "  s.1[I, K] holds I_X 0 1 0 so_far J_X 1 0 1: f32 workspace = contract(A, B, t.1) into t.1\n"
      "  free(s.2)\n"
      "  t.0[I, K] holds I_X 1 0 0 so_far J_X 0 1 1: f32 workspace = shift(s.1, X, -1)\n"
      "  s.0[I, K] holds I_X 1 0 0: f32 workspace = contract(A, B, t.0) into t.0\n"
      "  free(s.1)\n"
      "  C[I_X, K]: f32 activation = join(s.0)\n"
      "  free(s.0)\n"
      "outputs C\n",
      "X=3", {{"I", 8}, {"J", 7}, {"K", 2}});
}

constexpr const char* kScatterAdded =
    "bound\n  A[I, J_X]: f32 input\n  B[J_X, K]: f32 input\n"
    "operations\n"
    "  s.0[I, K] holds I_X 00 10 so_far J_X 1 0: f32 workspace = contract(A, B)\n"
    "  t.0[I, K] holds I_X 10 00 so_far J_X 0 1: f32 workspace = shift(s.0, X, -1)\n"
    "  s.1[I, K] holds I_X 00 01 so_far J_X 1 0: f32 workspace = contract(A, B)\n"
    "  t.1[I, K] holds I_X 01 00 so_far J_X 0 1: f32 workspace = shift(s.1, X, -1)\n"
    "  own[I, K] holds I_X 11 00 so_far J_X 1 0: f32 activation = contract(A, B)\n"
    "  free(s.0)\n  free(s.1)\n"
    "  C[I_X, K]: f32 activation = join(own, t.0, t.1) into own\n"
    "  free(t.0)\n  free(t.1)\n"
    "outputs C\n";

TEST(ChunkedTest, WhatCameIsAddedToTheOwnRows) {
  ExpectProduct(kScatterAdded, "X=2", {{"I", 7}, {"J", 5}, {"K", 3}});
  const auto with = [](std::string_view what, std::string_view instead) {
    std::string text = kScatterAdded;
    text.replace(text.find(what), what.size(), instead);
    return ErrorOf(text);
  };
  EXPECT_THAT(with("join(own, t.0, t.1) into own", "join(own, t.0) into own"),
              testing::HasSubstr("every chunk is to be added once"));
  EXPECT_THAT(with("join(own, t.0, t.1) into own", "join(own, t.0, t.0) into own"),
              testing::HasSubstr("no parts of one array"));
  EXPECT_THAT(with("join(own, t.0, t.1) into own", "join(t.0, t.1, own) into own"),
              testing::HasSubstr("adds to its first operand"));
  EXPECT_THAT(with("join(own, t.0, t.1) into own", "join(own, s.0, t.1) into own"),
              testing::HasSubstr("is not what own[I, K]"));
  EXPECT_NE(with("join(own, t.0, t.1) into own", "join(own, t.0, t.1)"), "");
}

TEST(ChunkedTest, WhatIsSentComputedAndHeldIsCounted) {
  const StepProgram program = *StepProgram::Parse(kGatherContracted);
  const Mesh mesh = *Mesh::Parse("X=2");
  const DimSizes sizes = {{"I", 5}, {"J", 7}, {"K", 3}};
  // Rank 0 has rows 0..3 of B, in chunks of 2 and 2; rank 1 has 4..6, in chunks of 2 and 1.
  EXPECT_EQ(ShiftedBytes(program, program.ops()[1], mesh, sizes, 0), Bytes(2 * 3 * 4));
  EXPECT_EQ(ShiftedBytes(program, program.ops()[1], mesh, sizes, 1), Bytes(1 * 3 * 4));
  EXPECT_EQ(ProductFlops(program, mesh, sizes, 0), Flops(2 * 3 * 7 * 3));
  // A 3 x 7, B 4 x 3, C 3 x 3, and what has come: 2 x 3 and 1 x 3.
  EXPECT_EQ(PeakMemory(program, mesh, sizes, 0).peak, Bytes(4 * (21 + 12 + 9 + 6 + 3)));
}

TEST(ChunkedTest, ChunksDoneTwiceOrNeverAreRefused) {
  const auto with = [](std::string_view what, std::string_view instead) {
    std::string text = kGatherContracted;
    text.replace(text.find(what), what.size(), instead);
    return ErrorOf(text);
  };
  EXPECT_NE(with("c.0[I_X, K] so_far J_X 11 00", "c.0[I_X, K] so_far J_X 10 00"), "");
  EXPECT_NE(with("C[I_X, K]: f32 activation = contract(A, b.2, c.1)",
                 "C[I_X, K]: f32 activation = contract(A, b.1, c.1)"),
            "");
  EXPECT_NE(with("shift(B, X, 1)", "shift(B, X, -2)"), "");
  EXPECT_NE(
      with("b.1[J, K] holds J_X 00 10", "b.1[J, K] holds J_X 10 00").find("cannot be shifted"),
      std::string::npos);
  EXPECT_NE(with("outputs C", "outputs C, c.0"), "");
  // A chunk of another block than the one that is summed.
  EXPECT_NE(with("so_far J_X 11 10", "so_far J_X 11 01").find("others work on"), std::string::npos);
}

TEST(ChunkedTest, AnArrayThatDiffersAlongTheAxisMayNotGoRound) {
  const std::string error = ErrorOf(
      "bound\n  A[I_X, J]: f32 input\n  B[J, K]: f32 input\noperations\n"
      "  c[I_X, K] so_far J_Y 1 0: f32 activation = contract(A, B)\n"
      "  d[I, K] holds I_X 0 1: f32 activation = shift(A, Y, 1)\n"
      "outputs d\n");
  EXPECT_NE(error, "");
}

TEST(ChunkedTest, TurnsAreThoseOfTheMesh) {
  const StepProgram program = *StepProgram::Parse(kGatherContracted);
  const Status status = program.Check(*Mesh::Parse("X=3"), {{"I", 5}, {"J", 7}, {"K", 3}});
  EXPECT_NE(status.message().find("of 2 turns, but 3 ranks are along X"), std::string::npos)
      << status.message();
}

// Panels of J: the second lies in two blocks of A on X=2, the others in one.
constexpr const char* kPanels =
    "bound\n  A[I, J_X]: f32 input\n  B[J, K]: f32 input\n"
    "operations\n"
    "  a.0[I, J] holds J 100: f32 workspace = all_gather(A, J_X)\n"
    "  c.0[I, K] so_far J 100: f32 activation = contract(a.0, B)\n"
    "  free(a.0)\n"
    "  a.1[I, J] holds J 010: f32 workspace = all_gather(A, J_X)\n"
    "  c.1[I, K] so_far J 110: f32 activation = contract(a.1, B, c.0) into c.0\n"
    "  free(a.1)\n"
    "  a.2[I, J] holds J 001: f32 workspace = all_gather(A, J_X)\n"
    "  C[I, K]: f32 activation = contract(a.2, B, c.1) into c.1\n"
    "  free(a.2)\n"
    "outputs C\n";

TEST(ChunkedTest, AFactorIsGatheredPanelByPanel) {
  ExpectProduct(kPanels, "X=2", {{"I", 5}, {"J", 7}, {"K", 3}});
  ExpectProduct(kPanels, "X=3", {{"I", 5}, {"J", 7}, {"K", 3}});
  ExpectProduct(kPanels, "X=1", {{"I", 2}, {"J", 3}, {"K", 2}});
  ExpectProduct(kPanels, "X=2", {{"I", 1}, {"J", 2}, {"K", 1}});  // an empty panel
}

TEST(ChunkedTest, PanelsJoinToTheArray) {
  const StepProgram program = *StepProgram::Parse(
      "bound\n  A[I, J_X]: f32 input\noperations\n"
      "  a.0[I, J] holds J 10: f32 workspace = all_gather(A, J_X)\n"
      "  a.1[I, J] holds J 01: f32 workspace = all_gather(A, J_X)\n"
      "  b[I, J]: f32 activation = join(a.1, a.0)\n"
      "  free(a.0)\n  free(a.1)\n"
      "outputs b\n");
  const PlainArray a = Numbers(Shape({3, 7}), 3);
  const auto results =
      Interpret(program, *Mesh::Parse("X=3"), {{"I", 3}, {"J", 7}}, {{"A", a}}, {});
  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_EQ(results->at("b"), a);
}

TEST(ChunkedTest, APanelOfOneBlockIsItsOwnersAndNeedsNoPacking) {
  const StepProgram program = *StepProgram::Parse(kPanels);
  const Mesh mesh = *Mesh::Parse("X=2");
  const DimSizes sizes = {{"I", 5}, {"J", 7}, {"K", 3}};
  // Panels are J 0..2, 3..4 and 5..6; rank 0 has 0..3.
  const std::vector<std::vector<std::int64_t>> lengths = {{3, 0}, {1, 1}, {0, 2}};
  const std::vector<int> owners = {0, -1, 1};
  for (std::size_t panel = 0; panel < 3; ++panel) {
    const ProgramOp& op = program.ops()[3 * panel];
    const CollectiveShape shape = ShapeOf(program, op, mesh, sizes, 1);
    EXPECT_EQ(shape.lengths, lengths[panel]);
    EXPECT_EQ(shape.owner, owners[panel]);
    EXPECT_EQ(shape.held, 3);
    EXPECT_EQ(WorkspaceBytes(program, op, mesh, sizes, 1), Bytes(panel == 1 ? 5 * 2 * 4 : 0));
  }
  EXPECT_EQ(ShapeOf(program, program.ops()[6], mesh, sizes, 1).from, 1);
  // A 5 x 4, B 7 x 3, C 5 x 3, and most of all two columns with their packed copy.
  EXPECT_EQ(PeakMemory(program, mesh, sizes, 0).peak, Bytes(4 * (20 + 21 + 15 + 2 * 10)));
}

TEST(ChunkedTest, PanelsThatAreNoneAreRefused) {
  const auto with = [](std::string_view what, std::string_view instead) {
    std::string text = kPanels;
    text.replace(text.find(what), what.size(), instead);
    return ErrorOf(text);
  };
  EXPECT_NE(with("holds J 100", "holds I 100").find("a panel of J, like J 0100"),
            std::string::npos);
  EXPECT_NE(with("holds J 100", "holds J 101").find("not chunks that are next to each other"),
            std::string::npos);
  EXPECT_NE(with("holds J 100", "holds J 1 0 0").find("one group of digits is expected"),
            std::string::npos);
  EXPECT_NE(with("holds J 100", "holds J_X 1 0").find("a panel of J, like J 0100"),
            std::string::npos);
  EXPECT_NE(with("all_gather(A, J_X)", "shift(A, X, 1)").find("it must hold a chunk over X"),
            std::string::npos);
}

TEST(ChunkedTest, ASetIsReadBack) {
  Scanner scanner("J_XY 010 111: f32");
  const Result<ChunkSet> set = ScanChunkSet(scanner);
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_EQ(set->turns, 2);
  EXPECT_EQ(set->parts, 3);
  EXPECT_EQ(set->ToString(), "J_XY 010 111");
  EXPECT_EQ(set->Turned(1).ToString(), "J_XY 111 010");
  EXPECT_EQ(set->Turned(-1), set->Turned(1));
  EXPECT_FALSE(RunOf(*set).ok());
}

}  // namespace
}  // namespace chorus
