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
  EXPECT_EQ(SizeOf(DType::kF8E4M3), 1);
  EXPECT_EQ(SizeOf(DType::kF8E5M2), 1);
  EXPECT_EQ(SizeOf(DTypeOf<std::complex<float>>()), std::int64_t{sizeof(std::complex<float>)});
  EXPECT_EQ(SizeOf(DTypeOf<std::complex<double>>()), std::int64_t{sizeof(std::complex<double>)});
}

TEST(DTypeTest, APairOfValueAndIndexHasNoPadding) {
  EXPECT_EQ(SizeOf(DTypeOf<Located<float>>()), std::int64_t{sizeof(Located<float>)});
  EXPECT_EQ(SizeOf(DTypeOf<Located<double>>()), std::int64_t{sizeof(Located<double>)});
  EXPECT_EQ(SizeOf(DTypeOf<Located<std::int32_t>>()), std::int64_t{sizeof(Located<std::int32_t>)});
  EXPECT_EQ(SizeOf(DTypeOf<Located<std::int64_t>>()), std::int64_t{sizeof(Located<std::int64_t>)});
  static_assert(sizeof(Located<float>::value) == sizeof(Located<float>::index));
  static_assert(sizeof(Located<double>::value) == sizeof(Located<double>::index));
}

TEST(DTypeTest, EveryDTypeIsOfOneClass) {
  for (const DType dtype : kAllDTypes) {
    const int classes = int{IsFloat(dtype)} + int{IsInteger(dtype)} + int{IsComplex(dtype)} +
                        int{IsLocated(dtype)} + int{dtype == DType::kBool};
    EXPECT_EQ(classes, 1) << Name(dtype);
    EXPECT_TRUE(!IsSigned(dtype) || IsInteger(dtype)) << Name(dtype);
  }
}

}  // namespace
}  // namespace chorus
