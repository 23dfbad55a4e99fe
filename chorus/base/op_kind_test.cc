#include "chorus/base/op_kind.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(OpKindTest, NameAndParseAreInverse) {
  int count = 0;
  for (OpKind op : kAllOpKinds) {
    EXPECT_EQ(ParseOpKind(Name(op)), op);
    ++count;
  }
  EXPECT_EQ(count, kOpKinds);
  EXPECT_EQ(ParseOpKind("allreduce"), std::nullopt);
}

}  // namespace
}  // namespace chorus
