#include "chorus/shard/layout_code.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

AxisRun RunWith(std::initializer_list<std::uint8_t> axes) {
  AxisRun run;
  for (const std::uint8_t axis : axes) run.Add(axis);
  return run;
}

TEST(AxisRun, IsCutAndCompared) {
  const AxisRun run = RunWith({2, 0, 7});
  EXPECT_EQ(run.First(2), RunWith({2, 0}));
  EXPECT_EQ(run.From(1), RunWith({0, 7}));
  EXPECT_EQ(run.Without(RunWith({0, 5})), RunWith({2, 7}));
  EXPECT_EQ(run.InCommon(RunWith({2, 1, 7})), 1U);
  EXPECT_TRUE(run.StartsWith(RunWith({2, 0})));
  EXPECT_FALSE(run.StartsWith(RunWith({0, 2})));
  EXPECT_TRUE(run.ContainsAll(RunWith({7, 2})));
  EXPECT_FALSE(run.ContainsAll(RunWith({7, 1})));
  EXPECT_FALSE(run == RunWith({0, 2, 7}));
}

// A[I_XY, J]{U_Z} with X, Y, Z as 0, 1, 7 of the axes that move, and what steps make of it.
TEST(LayoutCode, KeepsPlacesAndOrder) {
  LayoutCode code;
  code.PutRun(RunWith({0, 1}), 0, 0);
  code.PutAside(RunWith({7}), LayoutCode::kSum);
  EXPECT_EQ(code.PlaceOf(1), 0U);
  EXPECT_EQ(code.PositionOf(1), 1U);
  EXPECT_EQ(code.PlaceOf(7), LayoutCode::kSum);

  LayoutCode turned = code;
  turned.PutRun(RunWith({1}), kMostReshardDims - 1, 0);  // all_to_all of Y to the last dimension
  EXPECT_EQ(turned.PlaceOf(1), kMostReshardDims - 1);
  EXPECT_EQ(turned.PositionOf(1), 0U);
  EXPECT_FALSE(turned == code);
  turned.PutRun(RunWith({1}), 0, 1);
  EXPECT_EQ(turned, code);

  code.PutRun(RunWith({7}), 0, 2);  // reduce_scatter of Z behind X and Y
  EXPECT_EQ(code.PlaceOf(7), 0U);
  EXPECT_EQ(code.PositionOf(7), 2U);
}

}  // namespace
}  // namespace chorus
