#include "chorus/program/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "chorus/program/account.h"
#include "chorus/program/interpreter.h"

namespace chorus {
namespace {

using ::testing::ElementsAre;

BlockExchange Exchanged(const char* from, const char* to, const char* mesh, const DimSizes& sizes,
                        std::int64_t rank) {
  const Spec before = *Spec::Parse(from);
  const Spec after = *Spec::Parse(to);
  return ExchangeOf(before, after, ChangedAxes(before, after), *Mesh::Parse(mesh), sizes, rank);
}

// The picture of the header.
TEST(Pieces, AnAllToAllCutsItsBlocksAlongTheOtherDimension) {
  const DimSizes sizes = {{"I", 3}, {"J", 3}};
  const BlockExchange first = Exchanged("A[I_X, J]", "A[I, J_X]", "X=2", sizes, 0);
  EXPECT_THAT(first.sends.counts, ElementsAre(4, 2));
  EXPECT_THAT(first.receives.counts, ElementsAre(4, 2));
  EXPECT_THAT(first.sends.at[1], ElementsAre(Block{0, 2}, Block{2, 1}));
  EXPECT_FALSE(first.sends.are_runs);
  EXPECT_TRUE(first.receives.are_runs);
  EXPECT_EQ(first.WorkspaceElements(), 6);
  const BlockExchange second = Exchanged("A[I_X, J]", "A[I, J_X]", "X=2", sizes, 1);
  EXPECT_THAT(second.sends.counts, ElementsAre(2, 1));
  EXPECT_TRUE(second.sends.are_runs);  // one row
}

TEST(Pieces, APermuteSendsWholeBlocksToOneRank) {
  const DimSizes sizes = {{"I", 4}, {"J", 3}};
  // Rank (0, 1) has quarter 1 of XY and wants quarter 2; rank (0, 0) keeps what it has.
  const BlockExchange order = Exchanged("A[I_XY, J]", "A[I_YX, J]", "X=2,Y=2", sizes, 1);
  EXPECT_THAT(order.sends.counts, ElementsAre(0, 0, 3, 0));
  EXPECT_THAT(order.receives.counts, ElementsAre(0, 0, 3, 0));
  EXPECT_EQ(order.WorkspaceElements(), 0);
  EXPECT_THAT(Exchanged("A[I_XY, J]", "A[I_YX, J]", "X=2,Y=2", sizes, 0).sends.counts,
              ElementsAre(3, 0, 0, 0));
  // Halves: (0, 1) and (1, 0) swap, the others keep theirs.
  EXPECT_THAT(Exchanged("A[I_X, J]", "A[I_Y, J]", "X=2,Y=2", sizes, 1).sends.counts,
              ElementsAre(0, 0, 6, 0));
  EXPECT_THAT(Exchanged("A[I_X, J]", "A[I_Y, J]", "X=2,Y=2", sizes, 3).sends.counts,
              ElementsAre(0, 0, 0, 6));
}

TEST(Pieces, UnevenBlocksComeFromSeveralRanks) {
  // 7 over XY of 2 x 3: 2 1 1 1 1 1; over YX: 2 1 1 1 1 1 as well, but other ranks: (0, 1) is
  // second and becomes third.
  const BlockExchange move =
      Exchanged("A[I_XY]", "A[I_YX]", "X=2,Y=3", {{"I", 7}}, /*rank (1, 0)=*/3);
  EXPECT_THAT(move.receives.counts, ElementsAre(0, 1, 0, 0, 0, 0));
  // 4 over 3 x 2: XY makes 1 1 | 1 0 | 1 0, YX makes 1 1 0 | 1 1 0 or 2 rows cut over X.
  const BlockExchange other = Exchanged("A[I_XY]", "A[I_YX]", "X=3,Y=2", {{"I", 4}}, 0);
  EXPECT_EQ(other.receives.elements(), 1);
}

// Who sends and who receives agree, and every rank gets all of its block once, on every pair of
// layouts of a dimension or two over three axes.
TEST(Pieces, BothSidesAgreeAndNothingIsSentTwice) {
  const std::vector<const char*> layouts = {
      "[I_X, J]",    "[I_Y, J]",    "[I_XY, J]",   "[I_YX, J]", "[I_X, J_Y]", "[I_Y, J_X]",
      "[I_XZ, J_Y]", "[I_ZX, J_Y]", "[I_YZ, J_X]", "[I, J_X]",  "[I_XYZ, J]", "[I_ZYX, J]"};
  int permutes = 0;
  for (const char* mesh_text : {"X=2,Y=2,Z=2", "X=2,Y=3,Z=1", "X=2,Y=2,Z=3"}) {
    const Mesh mesh = *Mesh::Parse(mesh_text);
    for (const char* from_text : layouts) {
      for (const char* to_text : layouts) {
        const Spec from = Spec::Parse(from_text)->WithName("a");
        const Spec to = Spec::Parse(to_text)->WithName("b");
        const AxisNames axes = ChangedAxes(from, to);
        bool is_permute = !axes.empty();
        for (const char* dim : {"I", "J"}) {
          is_permute =
              is_permute && mesh.GroupSize(from.AxesOf(dim)) == mesh.GroupSize(to.AxesOf(dim));
        }
        if (!is_permute) continue;
        ++permutes;
        const DimSizes sizes = {{"I", 5}, {"J", 3}};
        const std::string text = "bound\n  " + from.ToString() + ": f64 input\noperations\n  " +
                                 to.ToString() + ": f64 activation = permute(a, " + JoinAxes(axes) +
                                 ")\noutputs b\n";
        const StepProgram program = *StepProgram::Parse(text);
        PlainArray whole = Filled(Shape({5, 3}), 0);
        for (std::size_t i = 0; i < whole.elements.size(); ++i) {
          whole.elements[i] = static_cast<double>(i);
        }
        const auto run = Interpret(program, mesh, sizes, {{"a", whole}}, {});
        ASSERT_TRUE(run.ok()) << text << run.status().message();
        EXPECT_EQ(run->at("b"), whole) << text;
        for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
          const BlockExchange mine = ExchangeOf(from, to, axes, mesh, sizes, rank);
          EXPECT_EQ(mine.receives.elements(), LocalShape(to, mesh, sizes, rank).elements());
          const std::vector<std::int64_t> group = mesh.Group(rank, axes);
          const auto me = static_cast<std::size_t>(mesh.IndexInGroup(rank, axes));
          for (std::size_t k = 0; k < group.size(); ++k) {
            EXPECT_EQ(mine.sends.counts[k],
                      ExchangeOf(from, to, axes, mesh, sizes, group[k]).receives.counts[me])
                << text << mesh_text << " " << rank << " to " << group[k];
          }
        }
      }
    }
  }
  EXPECT_GT(permutes, 40);
}

// S12: 6 ranks as 2x3. A collective over one axis is within the ranks that differ along it, which
// are strided for the major axis; over both it is within all, in the order of the axes.
TEST(Pieces, AnAllToAllOverOneAxisStaysAmongItsRanks) {
  const Mesh mesh = *Mesh::Parse("X=2,Y=3");
  const DimSizes sizes = {{"P", 6}, {"Q", 6}};
  const struct {
    const char* from;
    const char* to;
    const char* call;
    std::vector<std::vector<std::int64_t>> groups;  // of ranks 0 to 5
  } kMoves[] = {
      {"[P_YX, Q]",
       "[P_Y, Q_X]",
       "all_to_all(a, P_X, Q)",
       {{0, 3}, {1, 4}, {2, 5}, {0, 3}, {1, 4}, {2, 5}}},
      {"[P_XY, Q]",
       "[P_X, Q_Y]",
       "all_to_all(a, P_Y, Q)",
       {{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {3, 4, 5}, {3, 4, 5}, {3, 4, 5}}},
      {"[P_XY, Q]", "[P, Q_XY]", "all_to_all(a, P_XY, Q)", {6, {0, 1, 2, 3, 4, 5}}},
      {"[P_YX, Q]", "[P, Q_YX]", "all_to_all(a, P_YX, Q)", {6, {0, 3, 1, 4, 2, 5}}},
  };
  PlainArray a = Filled(Shape({6, 6}), 0);
  for (std::size_t i = 0; i < 36; ++i) a.elements[i] = static_cast<double>(i);
  for (const auto& move : kMoves) {
    const std::string text = std::string("bound\n  a") + move.from +
                             ": f64 input\noperations\n  b" + move.to +
                             ": f64 activation = " + move.call + "\noutputs b\n";
    const Result<StepProgram> program = StepProgram::Parse(text);
    ASSERT_TRUE(program.ok()) << program.status().message();
    for (std::int64_t rank = 0; rank < 6; ++rank) {
      const CollectiveShape shape = ShapeOf(*program, program->ops()[0], mesh, sizes, rank);
      EXPECT_EQ(shape.group, move.groups[static_cast<std::size_t>(rank)]) << text << rank;
      // Each member gets as much: of the 6 numbers a rank holds, 6 / members.
      const std::vector<std::int64_t> even(shape.group.size(), 6 / std::ssize(shape.group));
      EXPECT_EQ(shape.pieces.sends.counts, even) << text << rank;
    }
    EXPECT_EQ(Interpret(*program, mesh, sizes, {{"a", a}}, {})->at("b"), a) << text;
  }
}

TEST(Pieces, LookAtAllRanksOrAtSomeSpreadEvenly) {
  EXPECT_EQ(RanksLookedAt(3), (std::vector<std::int64_t>{0, 1, 2}));
  const std::vector<std::int64_t> some = RanksLookedAt(1000);
  ASSERT_EQ(std::ssize(some), kRanksLookedAt);
  EXPECT_EQ(some.front(), 0);
  EXPECT_EQ(some[128], 500);
  EXPECT_EQ(some.back(), 996);
}

}  // namespace
}  // namespace chorus
