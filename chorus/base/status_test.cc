#include "chorus/base/status.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument("odd");
  return n / 2;
}

Result<int> Quarter(int n) {
  CHORUS_ASSIGN_OR_RETURN(int half, Half(n));
  CHORUS_ASSIGN_OR_RETURN(int quarter, Half(half));
  return quarter;
}

TEST(StatusTest, ScopeSaysWhatMustBeRebuilt) {
  EXPECT_EQ(OkStatus().scope(), ErrorScope::kNone);
  EXPECT_EQ(InvalidArgument("x").scope(), ErrorScope::kCall);
  EXPECT_EQ(Status(StatusCode::kPeerLost, "x").scope(), ErrorScope::kGroup);
  EXPECT_EQ(Status(StatusCode::kMismatch, "x").scope(), ErrorScope::kGroup);
}

TEST(StatusTest, ContextGoesBeforeTheMessage) {
  EXPECT_EQ(InvalidArgument("odd").WithContext("half of 3").ToString(),
            "invalid argument: half of 3: odd");
  EXPECT_EQ(OkStatus().WithContext("anything"), OkStatus());
}

TEST(StatusTest, CopiesAreApart) {
  static_assert(sizeof(Status) == sizeof(void*));
  const Status error = InvalidArgument("odd");
  Status copy = error;
  EXPECT_EQ(copy, error);
  copy = *&copy;
  EXPECT_EQ(copy, error);
  copy = OkStatus();
  EXPECT_TRUE(copy.ok());
  EXPECT_EQ(copy.message(), "");
  EXPECT_EQ(error.message(), "odd");
  EXPECT_EQ(Status(StatusCode::kOk, "dropped"), OkStatus());
}

TEST(StatusTest, AssignOrReturnPassesTheFirstError) {
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
}

}  // namespace
}  // namespace chorus
