#include "chorus/base/shape.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(ShapeTest, ElementsIsTheProduct) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ((Shape{4, 1024}).elements(), 4096);
  EXPECT_EQ((Shape{4, 0, 7}).elements(), 0);
  EXPECT_EQ((Shape{2, 3, 5}).elements(1, 3), 15);
  // 64 bits: five ranks of 600 000 000 elements end at 3 000 000 000.
  EXPECT_EQ((Shape{5, 600'000'000}).elements(), 3'000'000'000);
}

TEST(ShapeTest, Prints) {
  EXPECT_EQ((Shape{4, 1024}).ToString(), "[4, 1024]");
  EXPECT_EQ(Shape().ToString(), "[]");
}

}  // namespace
}  // namespace chorus
