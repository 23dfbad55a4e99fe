#include "chorus/mesh/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chorus {
namespace {

using testing::ElementsAre;

TEST(Mesh, OrdersRanksRowMajor) {  // d = 2x + y on 2x2
  const Mesh mesh = *Mesh::Parse("X=2,Y=2");
  EXPECT_EQ(mesh.size(), 4);
  for (std::int64_t x = 0; x < 2; ++x) {
    for (std::int64_t y = 0; y < 2; ++y) {
      EXPECT_EQ(mesh.RankOf({x, y}), 2 * x + y);
      EXPECT_THAT(mesh.Coordinates(2 * x + y), ElementsAre(x, y));
    }
  }
}

TEST(Mesh, StridedSubgroupsOfOneAxis) {  // 6 ranks as 2x3: X pairs (0,3), (1,4), (2,5)
  const Mesh mesh = *Mesh::Parse("X=2,Y=3");
  EXPECT_THAT(mesh.Group(0, {"X"}), ElementsAre(0, 3));
  EXPECT_THAT(mesh.Group(4, {"X"}), ElementsAre(1, 4));
  EXPECT_THAT(mesh.Group(5, {"X"}), ElementsAre(2, 5));
  EXPECT_THAT(mesh.Group(4, {"Y"}), ElementsAre(3, 4, 5));
  EXPECT_THAT(mesh.Group(3, {"X", "Y"}), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(mesh.Group(3, {"Y", "X"}), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(mesh.Group(3, {}), ElementsAre(3));
  EXPECT_EQ(mesh.IndexAlong(4, "X"), 1);
  EXPECT_EQ(mesh.IndexAlong(4, "Y"), 1);
  EXPECT_EQ(mesh.IndexAlong(2, "Y"), 2);
}

TEST(Mesh, EveryRankStandsInItsGroup) {
  const Mesh mesh = *Mesh::Parse("X=2,Y=3,Z=2");
  const std::vector<AxisNames> choices = {{},         {"X"},      {"Z"},
                                          {"Z", "X"}, {"Y", "X"}, {"X", "Y", "Z"}};
  for (const AxisNames& axes : choices) {
    for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
      const std::vector<std::int64_t> group = mesh.Group(rank, axes);
      ASSERT_EQ(static_cast<std::int64_t>(group.size()), mesh.GroupSize(axes));
      EXPECT_EQ(group[static_cast<std::size_t>(mesh.IndexInGroup(rank, axes))], rank);
      for (const std::int64_t member : group) EXPECT_EQ(mesh.Group(member, axes), group);
    }
  }
}

TEST(Mesh, TextAndBack) {
  for (const char* text : {"", "X=1", "X=2,Y=2", "Dp=8,Tp2=3"}) {
    EXPECT_EQ(Mesh::Parse(text)->ToString(), text);
  }
  EXPECT_EQ(Mesh::Parse("")->size(), 1);
  EXPECT_EQ(*Mesh::Parse(" X = 2 , Y = 3 "), *Mesh::Create({{"X", 2}, {"Y", 3}}));
}

TEST(Mesh, SaysWhatIsWrong) {
  const auto error = [](const char* text) { return Mesh::Parse(text).status().message(); };
  EXPECT_EQ(error("X=2,y=2"),
            "a mesh axis is missing here: an axis is named by one capital letter, then lower-case "
            "letters or digits, like X or Dp\n  X=2,y=2\n      ^");
  EXPECT_EQ(error("X"), "axis X needs a size, like X=4\n  X\n   ^");
  EXPECT_EQ(error("X=0"), "mesh axis X has size 0, it must be at least 1\n  X=0\n  ^");
  EXPECT_EQ(
      error("X=2;Y=2"),
      "a mesh is axes with their sizes, separated by commas, like X=2,Y=2\n  X=2;Y=2\n     ^");
  EXPECT_EQ(error("X=2,X=3"),
            "mesh axis X is given twice, with size 2 and with 3\n  X=2,X=3\n      ^");
  EXPECT_EQ(error("X=2,"),
            "a mesh axis is missing here: an axis is named by one capital letter, then lower-case "
            "letters or digits, like X or Dp\n  X=2,\n      ^");
  EXPECT_EQ(error("X=65536,Y=65536"),
            "mesh axis Y of size 65536 brings the mesh above 2^31-1 ranks\n"
            "  X=65536,Y=65536\n          ^");
}

}  // namespace
}  // namespace chorus
