#include "chorus/shard/moving_axes.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

// A[I_XY, J] -> A[I_X, J_Y]{U_Z} on X=2,Y=4,Z=3,W=5 of 24 x 10: X stays, Y moves, Z stays a sum.
struct OneMoves {
  Spec from = *Spec::Parse("A[I_XY, J]{U_Z}");
  Spec to = *Spec::Parse("A[I_X, J_Y]{U_Z}");
  Mesh mesh = *Mesh::Parse("X=2,Y=4,Z=3,W=5");
  DimSizes sizes = {{"I", 24}, {"J", 10}};
};

TEST(MovingAxes, AreThoseThatChangeTheirPlaceAndThoseBorrowed) {
  const OneMoves c;
  const MovingAxes own(c.from, c.to, c.mesh, c.sizes, {});
  EXPECT_EQ(own.count(), 1U);
  EXPECT_EQ(own.RanksAlong(0), 4);
  const MovingAxes wider(c.from, c.to, c.mesh, c.sizes, {"W"});
  EXPECT_EQ(wider.count(), 2U);
  EXPECT_EQ(wider.NamesOf(wider.LayoutOf(c.to).dims[1]), AxisNames{"Y"});
  const MovingAxes reduced(c.from, *Spec::Parse("A[I_XY, J]"), c.mesh, c.sizes, {});
  EXPECT_EQ(reduced.NamesOf(reduced.LayoutOf(c.from).sums), AxisNames{"Z"});
  EXPECT_FALSE(reduced.HasNoSums(reduced.LayoutOf(c.from)));
}

TEST(MovingAxes, WriteALayoutInThreeWays) {
  const OneMoves c;
  const MovingAxes axes(c.from, c.to, c.mesh, c.sizes, {"W"});
  for (const char* text : {"A[I_XY, J]{U_Z}", "A[I_X, J_WY]{U_Z}", "A[I_XYW, J]{U_Z}"}) {
    const Spec spec = *Spec::Parse(text);
    const LayoutCode code = axes.Encode(axes.LayoutOf(spec));
    EXPECT_EQ(axes.SpecOf(code).ToString(), text);
    Layout layout;
    axes.Decode(code, layout);
    EXPECT_EQ(axes.Encode(layout), code);
  }
}

TEST(MovingAxes, CountWhatRankZeroHolds) {
  const OneMoves c;
  const MovingAxes axes(c.from, c.to, c.mesh, c.sizes, {});
  const Layout from = axes.LayoutOf(c.from);
  const Layout to = axes.LayoutOf(c.to);
  EXPECT_EQ(axes.Elements(from), 3 * 10);  // 24 / 2 / 4 rows
  EXPECT_EQ(axes.Elements(to), 12 * 3);    // ceil(10 / 4) columns
  EXPECT_EQ(axes.Overlap(from, to), 3 * 3);
  // Of 12 x 10 each of the four keeps 3 x 3, 3 x 3, 3 x 2 and 3 x 2: 90 of 120 move, 22.5 a rank.
  std::vector<Block> blocks;
  EXPECT_EQ(axes.MeanExchanged(from, to, to.dims[1], blocks), 23);
  // 10 columns over 4 are 2.5 a rank, but 3 at most.
  EXPECT_DOUBLE_EQ(axes.evenness(), 2.5 / 3);
  // Of the eight blocks of A[I_XY] ranks (0, 0) and (1, 3) have the same of A[I_YX]: 6 of 8 move.
  const Spec xy = *Spec::Parse("A[I_XY, J]");
  const Spec yx = *Spec::Parse("A[I_YX, J]");
  const Mesh mesh = *Mesh::Parse("X=2,Y=4");
  for (const std::int64_t rows : {8, 16}) {
    const DimSizes sizes = {{"I", rows}, {"J", 5}};
    const MovingAxes turn(xy, yx, mesh, sizes, {});
    const Layout before = turn.LayoutOf(xy);
    const Layout after = turn.LayoutOf(yx);
    EXPECT_EQ(turn.MeanExchanged(before, after, after.dims[0], blocks), (rows / 8 * 5 * 6 + 7) / 8);
  }
  const MovingAxes even(c.from, c.to, c.mesh, {{"I", 24}, {"J", 12}}, {});
  EXPECT_EQ(even.evenness(), 1);
}

}  // namespace
}  // namespace chorus
