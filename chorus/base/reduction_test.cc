#include "chorus/base/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace chorus {
namespace {

using testing::HasSubstr;

UserReduction Named(const std::string& name, bool commutes) {
  return {name, commutes, [](void*, const void*, std::int64_t, DType) {}};
}

TEST(ReductionTest, AReduceOpIsAReduction) {
  const Reduction reduction = ReduceOp::kMax;
  EXPECT_EQ(reduction.op(), ReduceOp::kMax);
  EXPECT_EQ(reduction.factor(), 1);
  EXPECT_EQ(reduction.user(), nullptr);
  EXPECT_TRUE(reduction.commutes());
  EXPECT_EQ(reduction.ToString(), "max");
}

TEST(ReductionTest, WhatDiffersHashesDifferently) {
  const Reduction all[] = {ReduceOp::kSum,
                           ReduceOp::kMax,
                           Reduction::PremulSum(0.5),
                           Reduction::PremulSum(-0.5),
                           Reduction::PremulSum(1),
                           Reduction::User(Named("a", true)),
                           Reduction::User(Named("a", false)),
                           Reduction::User(Named("b", true))};
  for (const Reduction& a : all) {
    for (const Reduction& b : all) EXPECT_EQ(a.Hash() == b.Hash(), &a == &b) << a.ToString();
  }
  EXPECT_EQ(Reduction::User(Named("a", true)).Hash(), all[5].Hash());
  EXPECT_EQ(all[2].ToString(), "premul_sum 0.5");
  EXPECT_EQ(all[6].ToString(), "user a");
  EXPECT_FALSE(all[6].commutes());
}

TEST(ReductionTest, NonsenseIsRefusedByName) {
  const auto refusal = [](const Reduction& reduction, DType dtype) {
    return CheckReduction(reduction, dtype).ToString();
  };
  EXPECT_THAT(refusal(ReduceOp::kMax, DType::kComplex64),
              HasSubstr("unsupported: max of complex64 has no meaning: complex numbers have no "
                        "order"));
  EXPECT_THAT(refusal(ReduceOp::kBitAnd, DType::kF32), HasSubstr("bit_and of f32 has no meaning"));
  EXPECT_THAT(refusal(ReduceOp::kMinLoc, DType::kF32), HasSubstr("it takes pairs"));
  EXPECT_THAT(refusal(ReduceOp::kSum, DType::kF32I32), HasSubstr("min_loc"));
  EXPECT_THAT(refusal(ReduceOp::kPremulSum, DType::kF32), HasSubstr("has no factor"));
  EXPECT_THAT(refusal(ReduceOp::kUser, DType::kF32), HasSubstr("has no function"));
  EXPECT_THAT(refusal(Reduction::User(UserReduction{"empty", true, nullptr}), DType::kF32),
              HasSubstr("has no function"));
  EXPECT_TRUE(CheckReduction(Reduction::User(Named("a", false)), DType::kF32I32).ok());
}

TEST(ReductionTest, AFactorOfIntegersIsOneOfTheirValues) {
  const auto ok = [](double factor, DType dtype) {
    return CheckReduction(Reduction::PremulSum(factor), dtype).ok();
  };
  EXPECT_TRUE(ok(0.5, DType::kBF16));
  EXPECT_FALSE(ok(0.5, DType::kI32));
  EXPECT_TRUE(ok(-128, DType::kI8));
  EXPECT_FALSE(ok(128, DType::kI8));
  EXPECT_TRUE(ok(255, DType::kU8));
  EXPECT_FALSE(ok(-1, DType::kU8));
  EXPECT_FALSE(ok(18446744073709551616.0, DType::kU64));
  EXPECT_TRUE(ok(-9223372036854775808.0, DType::kI64));
  EXPECT_FALSE(ok(std::numeric_limits<double>::quiet_NaN(), DType::kI64));
  EXPECT_FALSE(ok(std::numeric_limits<double>::infinity(), DType::kU64));
}

}  // namespace
}  // namespace chorus
