#include "chorus/base/dtype.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(DTypeTest, NameAndParseAreInverse) {
  for (DType dtype : kAllDTypes) EXPECT_EQ(ParseDType(Name(dtype)), dtype);
  EXPECT_EQ(ParseDType("float"), std::nullopt);
  EXPECT_EQ(ParseDType(""), std::nullopt);
}

TEST(DTypeTest, SizeMatchesTheCppType) {
  EXPECT_EQ(SizeOf(DType::kF16), 2);
  EXPECT_EQ(SizeOf(DType::kBF16), 2);
  EXPECT_EQ(SizeOf(DTypeOf<float>()), std::int64_t{sizeof(float)});
  EXPECT_EQ(SizeOf(DTypeOf<double>()), std::int64_t{sizeof(double)});
  EXPECT_EQ(SizeOf(DTypeOf<std::int64_t>()), 8);
  EXPECT_EQ(SizeOf(DTypeOf<bool>()), 1);
}

}  // namespace
}  // namespace chorus
