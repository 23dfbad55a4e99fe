#include "chorus/base/nearest.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(NearestTest, AFewEditsAreASlip) {
  EXPECT_EQ(Nearest("h10", {"a100", "h100", "v5e"}), "h100");
  EXPECT_EQ(Nearest("rign", {"ring", "direct"}), "ring");
  EXPECT_EQ(Nearest("ring", {"direct", "ring"}), "ring");
  EXPECT_EQ(Nearest("", {"ring"}), "");
}

TEST(NearestTest, AnotherWordIsNoSlip) { EXPECT_EQ(Nearest("tree", {"direct", "ring"}), ""); }

TEST(NearestTest, TheAdviceNamesOneOrAll) {
  EXPECT_EQ(NearestAdvice("h10", {"a100", "h100"}), "did you mean 'h100'?");
  EXPECT_EQ(NearestAdvice("cray", {"a100", "h100"}), "there is a100, h100");
}

}  // namespace
}  // namespace chorus
