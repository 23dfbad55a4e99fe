#include "chorus/mesh/spec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "chorus/base/dtype.h"
#include "chorus/mesh/notation.h"

namespace chorus {
namespace {

Spec S(const char* text) {
  Result<Spec> spec = Spec::Parse(text);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return *spec;
}

std::int64_t LocalBytes(const char* spec, DType dtype, const char* mesh, const char* sizes) {
  return LocalShape(S(spec), *Mesh::Parse(mesh), *ParseDimSizes(sizes), 0).elements() *
         SizeOf(dtype);
}

TEST(Spec, TextAndBack) {
  for (const char* text : {"A[I, J]", "A[I_X, J_YZ]{U_W}", "[]", "loss[]{U_X}",
                           "blocks.0.win[D_Dp, F_Tp2]", "x'[B_DpTp]", "[W, V_X, D]"}) {
    EXPECT_EQ(S(text).ToString(), text);
  }
  EXPECT_EQ(S(" A [ I_X ,J ] {U_Y} ").ToString(), "A[I_X, J]{U_Y}");
  EXPECT_EQ(S("A[I]{U_YX}"), S("A[I]{U_XY}"));  // a sum has no order
  EXPECT_FALSE(S("A[I_XY]") == S("A[I_YX]"));
  EXPECT_TRUE(S("A[I_X]").SameLayout(S("B[I_X]")));
}

TEST(Spec, ReadsRunsOfAxisNames) {
  EXPECT_EQ(S("A[J_YZ]").AxesOf("J"), (AxisNames{"Y", "Z"}));
  EXPECT_EQ(S("A[J_DpTp]").AxesOf("J"), (AxisNames{"Dp", "Tp"}));
  EXPECT_EQ(S("A[I, J_X]").FindDim("J"), 1);
  EXPECT_EQ(S("A[I, J_X]").FindDim("K"), -1);
  EXPECT_TRUE(S("A[I_X]{U_Y}").Uses("X"));
  EXPECT_TRUE(S("A[I_X]{U_Y}").Uses("Y"));
  EXPECT_FALSE(S("A[I_X]{U_Y}").Uses("Z"));
}

TEST(Spec, SaysWhatIsWrong) {
  const auto error = [](const char* text) { return Spec::Parse(text).status().message(); };
  EXPECT_EQ(error("A[I_X, J_X]"),
            "axis X is used twice: on dimension I (character 5) and on dimension J (character 10); "
            "an axis can be used once, so write A[I_X, J] or A[I, J_X]\n"
            "  A[I_X, J_X]\n           ^");
  EXPECT_EQ(error("A[I_XY]{U_X}"),
            "axis X is used twice: on dimension I (character 5) and among the partial axes {U} "
            "(character 11); an axis can be used once, so write A[I_XY] or A[I_Y]{U_X}\n"
            "  A[I_XY]{U_X}\n            ^");
  EXPECT_EQ(error("A[I_XX]"),
            "axis X is used twice: on dimension I (character 5) and on dimension I (character 6); "
            "an axis can be used once, so write A[I_X]\n  A[I_XX]\n       ^");
  EXPECT_EQ(error("A"), "an array needs its dimensions in brackets, like A[I_X, J]\n  A\n   ^");
  EXPECT_EQ(
      error("A[I J]"),
      "the dimensions of an array are separated by commas and closed by ']', so write A[I, J]\n"
      "  A[I J]\n      ^");
  EXPECT_EQ(error("A[I,]"),
            "a dimension is missing here: a name of letters and digits, then the axes that split "
            "it, like J_YZ, so write A[I]\n  A[I,]\n      ^");
  EXPECT_EQ(error("A[I_x]"),
            "a mesh axis is missing here: an axis is named by one capital letter, then lower-case "
            "letters or digits, like X or Dp, so write A[I_X]\n  A[I_x]\n      ^");
  EXPECT_EQ(
      error("A[I, I]"),
      "dimension I is given twice; dimensions of one array need different names (characters 3 "
      "and 6), so write A[I, I2]\n"
      "  A[I, I]\n       ^");
  EXPECT_EQ(
      error("A[I]{X}"),
      "partial axes are written {U_X}: a sum over axis X still to be done, so write A[I]{U_X}\n"
      "  A[I]{X}\n       ^");
  EXPECT_EQ(error("A[I] B"),
            "the spec ends before this; write one array, like A[I_X, J]{U_Y}\n  A[I] B\n       ^");
}

TEST(Spec, IsCheckedAgainstAMesh) {
  const Mesh mesh = *Mesh::Parse("X=2,Y=2");
  EXPECT_TRUE(S("A[I_X, J_Y]").Check(mesh).ok());
  EXPECT_EQ(S("A[I_X, J_Z]").Check(mesh).message(),
            "A[I_X, J_Z] uses axis Z on dimension J, but the mesh has only X=2,Y=2, so write "
            "A[I_X, J_Y], or give the mesh the axis: X=2,Y=2,Z=2");
  EXPECT_EQ(
      S("A[I]{U_X}").Check(Mesh()).message(),
      "A[I]{U_X} uses axis X among the partial axes {U}, but the mesh has only one rank, so write "
      "A[I], or give the mesh the axis: X=2");
}

TEST(Spec, CreateNamesBothPlaces) {
  EXPECT_EQ(S("A[I_X, J]").WithAxes("J", {"X"}).status().message(),
            "axis X is used twice: on dimension I and on dimension J; an axis can be used once, so "
            "gather one of them");
  EXPECT_EQ(S("A[I_X, J]").WithAxes("J", {"Y"})->ToString(), "A[I_X, J_Y]");
  EXPECT_EQ(S("A[I_X, J]").WithAxes("K", {}).status().message(), "A[I_X, J] has no dimension K");
}

TEST(Block, FirstBlocksAreLonger) {  // 10 over 4: 3 3 2 2
  EXPECT_EQ(SplitEvenly(10, 4, 0), (Block{0, 3}));
  EXPECT_EQ(SplitEvenly(10, 4, 1), (Block{3, 3}));
  EXPECT_EQ(SplitEvenly(10, 4, 2), (Block{6, 2}));
  EXPECT_EQ(SplitEvenly(10, 4, 3), (Block{8, 2}));
  EXPECT_EQ(SplitEvenly(1, 3, 2), (Block{1, 0}));
}

// Every index is held by exactly one member of a group, in the group's order, and the blocks that
// share all but the minor axis join to the block of the major axes.
TEST(Block, TileTheDimensionAndJoinNeighbours) {
  const Mesh mesh = *Mesh::Parse("X=2,Y=3,Z=2");
  for (std::int64_t size = 0; size <= 25; ++size) {
    const AxisNames all = {"X", "Y", "Z"};
    std::int64_t next = 0;
    for (const std::int64_t rank : mesh.Group(0, all)) {
      const Block block = BlockOf(all, mesh, size, rank);
      EXPECT_EQ(block.begin, next);
      next += block.size;
    }
    EXPECT_EQ(next, size);
    for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
      const Block whole = BlockOf({"Z", "X"}, mesh, size, rank);
      std::int64_t begin = whole.begin;
      for (const std::int64_t member : mesh.Group(rank, {"Y"})) {
        const Block part = BlockOf({"Z", "X", "Y"}, mesh, size, member);
        EXPECT_EQ(part.begin, begin);
        begin += part.size;
      }
      EXPECT_EQ(begin, whole.begin + whole.size);
    }
  }
}

TEST(Shape, LocalAndGlobal) {
  const DimSizes sizes = *ParseDimSizes("I=5,J=4");
  const Mesh mesh = *Mesh::Parse("X=4,Y=2");
  EXPECT_EQ(GlobalShape(S("A[I_X, J_Y]"), sizes), Shape({5, 4}));
  EXPECT_EQ(LocalShape(S("A[I_X, J_Y]"), mesh, sizes, 0), Shape({2, 2}));
  EXPECT_EQ(LocalShape(S("A[I_X, J_Y]"), mesh, sizes, 7), Shape({1, 2}));
  EXPECT_EQ(LocalShape(S("loss[]"), mesh, sizes, 3), Shape());
}

// S0-27 to S0-29: bytes a rank of fp32[1024, 4096] and int8[128, 2048] over I_XY, and copies.
TEST(Shape, WorkedValuesOfTheLectureNotes) {
  EXPECT_EQ(LocalBytes("A[I_XY, J]", DType::kF32, "X=8,Y=2", "I=1024,J=4096"), 1048576);
  const std::int64_t rank_bytes =
      LocalBytes("A[I_XY, J]", DType::kI8, "X=2,Y=8,Z=2", "I=128,J=2048");
  EXPECT_EQ(rank_bytes, 16384);
  EXPECT_EQ(rank_bytes * Mesh::Parse("X=2,Y=8,Z=2")->size(), 524288);

  const Mesh mesh = *Mesh::Parse("X=4,Y=8,Z=2");
  const std::int64_t all_ranks =
      LocalBytes("A[I_X, J]", DType::kI8, "X=4,Y=8,Z=2", "I=64,J=3") * mesh.size();
  EXPECT_EQ(all_ranks / (64 * 3), 16);  // one copy for each place along Y and Z
}

TEST(DimSizes, TextAndErrors) {
  EXPECT_EQ(ToString(*ParseDimSizes("J=7, I=1024")), "I=1024,J=7");
  EXPECT_EQ(ParseDimSizes("I=").status().message(),
            "the size of dimension I must be a whole number, like 4\n  I=\n    ^");
  for (const char* text : {"I=7e9", "I=7.5", "I=7k"}) {
    EXPECT_EQ(
        ParseDimSizes(text).status().message(),
        fmt::format("the size of dimension I is a whole number, written in digits alone, like "
                    "7000000000\n  {}\n     ^",
                    text));
  }
  EXPECT_EQ(ParseDimSizes("I=2,I=3").status().message(),
            "dimension I is given twice, with size 2 and 3\n  I=2,I=3\n      ^");
  EXPECT_EQ(CheckSizes(S("A[I, J]"), *ParseDimSizes("I=4")).message(),
            "dimension J of A[I, J] has no size; there are I=4, so write for example I=4,J=1024");
  EXPECT_EQ(CheckSizes(S("A[I, J]"), {{"I", 4}, {"J", -2}}).message(),
            "dimension J of A[I, J] has the size -2; give 0 or more");
  EXPECT_EQ(
      CheckSizes(S("A[I, J]"), *ParseDimSizes("I=1099511627776,J=1048576")).message(),
      "A[I, J] with I=1099511627776,J=1048576 has more than 2^58 elements; give smaller sizes");
  EXPECT_TRUE(CheckSizes(S("A[I, J]"), *ParseDimSizes("I=1099511627776,J=0")).ok());
}

TEST(Notation, AnAxisUsedTwiceHasTwoSpellings) {
  EXPECT_EQ(SpellingsOf("A[I_X, J_XY]"), (std::vector<std::string>{"A[I_X, J_Y]", "A[I, J_XY]"}));
  EXPECT_EQ(SpellingsOf("A[I_XX]"), (std::vector<std::string>{"A[I_X]"}));
  EXPECT_TRUE(SpellingsOf("A[I_X, J]").empty());
  EXPECT_EQ(SpellingsOf("A[I_X,"), std::vector<std::string>{"A[I_X]"});
  EXPECT_TRUE(SpellingsOf("A").empty());
  EXPECT_EQ(FindAxisIn("A[I_X, J_YZ]{U_W}", "Z"), 10u);
  EXPECT_EQ(FindAxisIn("A[I_X, J_YZ]{U_W}", "W"), 15u);
  EXPECT_EQ(FindAxisIn("A[I_X]", "Y"), std::string_view::npos);
}

}  // namespace
}  // namespace chorus
