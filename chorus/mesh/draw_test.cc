#include "chorus/mesh/draw.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

std::string Draw(const char* spec, const char* mesh, const DimSizes& sizes) {
  const Result<std::string> drawn = DrawSpec(*Spec::Parse(spec), *Mesh::Parse(mesh), sizes);
  return drawn.ok() ? *drawn : drawn.status().message();
}

const DimSizes kSizes = {{"I", 5}, {"J", 4}, {"K", 1}};

TEST(Draw, ShowsWhoHoldsWhichBlock) {
  EXPECT_EQ(Draw("A[I_X, J_Y]", "X=2,Y=2", kSizes),
            "          J 0-1   J 2-3\n"
            "  I 0-2 | 0     | 1     |\n"
            "  I 3-4 | 2     | 3     |\n");
  // X major against Y major: the same blocks on other ranks.
  EXPECT_EQ(Draw("A[J_XY]", "X=2,Y=2", kSizes),
            "  J 0 | 0 |\n  J 1 | 1 |\n  J 2 | 2 |\n  J 3 | 3 |\n");
  EXPECT_EQ(Draw("A[J_YX]", "X=2,Y=2", kSizes),
            "  J 0 | 0 |\n  J 1 | 2 |\n  J 2 | 1 |\n  J 3 | 3 |\n");
}

TEST(Draw, ShowsCopiesAndSums) {
  EXPECT_EQ(Draw("A[I_X]", "X=2,Y=2", kSizes), "  I 0-2 | 0,1 |\n  I 3-4 | 2,3 |\n");
  EXPECT_EQ(Draw("A[I_X]{U_Y}", "X=2,Y=2", kSizes), "  I 0-2 | 0+1 |\n  I 3-4 | 2+3 |\n");
  EXPECT_EQ(Draw("A[I]{U_Y}", "X=2,Y=2", kSizes), "  I 0-4 | 0+1,2+3 |\n");
  EXPECT_EQ(Draw("A[]", "X=2", kSizes), "   | 0,1 |\n");
}

TEST(Draw, NamesRanksThatHoldNothing) {
  EXPECT_EQ(Draw("A[K_X, J]", "X=3", kSizes), "        J 0-3\n  K 0 | 0     |\n  nothing: 1, 2\n");
}

TEST(Draw, GivesEachBlockOfFurtherDimensionsItsTable) {
  EXPECT_EQ(Draw("A[J, K, I_X]", "X=2", kSizes),
            "  I 0-2\n          K 0\n  J 0-3 | 0   |\n"
            "  I 3-4\n          K 0\n  J 0-3 | 1   |\n");
}

TEST(Draw, RefusesWhatIsTooLarge) {
  EXPECT_EQ(Draw("A[I_X]", "X=65", kSizes), "mesh X=65 has 65 ranks; at most 64 can be drawn");
  EXPECT_EQ(Draw("A[L]", "X=2", kSizes),
            "dimension L of A[L] has no size; there are I=5,J=4,K=1, so write for example "
            "I=5,J=4,K=1,L=1024");
}

}  // namespace
}  // namespace chorus
