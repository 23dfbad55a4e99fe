#include "chorus/base/reduce_op.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(ReduceOpTest, NameAndParseAreInverse) {
  for (ReduceOp op : kAllReduceOps) EXPECT_EQ(ParseReduceOp(Name(op)), op);
  EXPECT_EQ(ParseReduceOp("average"), std::nullopt);
  EXPECT_EQ(ParseReduceOp(""), std::nullopt);
}

}  // namespace
}  // namespace chorus
