#include "chorus/base/counted.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(CountedTest, OneHasNoS) {
  EXPECT_EQ(Counted(1, "rank"), "1 rank");
  EXPECT_EQ(Counted(0, "rank"), "0 ranks");
  EXPECT_EQ(Counted(8, "device"), "8 devices");
}

}  // namespace
}  // namespace chorus
