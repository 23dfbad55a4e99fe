#include "chorus/base/reduce_op.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace chorus {
namespace {

TEST(ReduceOpTest, NameAndParseAreInverse) {
  for (ReduceOp op : kAllReduceOps) EXPECT_EQ(ParseReduceOp(Name(op)), op);
  EXPECT_EQ(ParseReduceOp("average"), std::nullopt);
  EXPECT_EQ(ParseReduceOp(""), std::nullopt);
  EXPECT_EQ(ParseReduceOp(Name(ReduceOp::kUser)), std::nullopt);  // a name is no function
}

// The whole table, one letter a dtype in the order of kAllDTypes:
//   f32 f64 f16 bf16 | i8 i16 i32 i64 u8 u16 u32 u64 | bool | e4m3 e5m2 | c64 c128 | 4 located
TEST(ReduceOpTest, SupportsWhatTheTableSays) {
  const std::map<ReduceOp, std::string> table = {
      {ReduceOp::kSum, "yyyyyyyyyyyyyyyyy...."},
      {ReduceOp::kProd, "yyyyyyyyyyyyyyyyy...."},
      {ReduceOp::kMin, "yyyyyyyyyyyyyyy......"},
      {ReduceOp::kMax, "yyyyyyyyyyyyyyy......"},
      {ReduceOp::kAvg, "yyyyyyyyyyyy.yyyy...."},
      {ReduceOp::kPremulSum, "yyyyyyyyyyyy.yyyy...."},
      {ReduceOp::kBitAnd, "....yyyyyyyyy........"},
      {ReduceOp::kBitOr, "....yyyyyyyyy........"},
      {ReduceOp::kBitXor, "....yyyyyyyyy........"},
      {ReduceOp::kLogicalAnd, "....yyyyyyyyy........"},
      {ReduceOp::kLogicalOr, "....yyyyyyyyy........"},
      {ReduceOp::kLogicalXor, "....yyyyyyyyy........"},
      {ReduceOp::kMinLoc, ".................yyyy"},
      {ReduceOp::kMaxLoc, ".................yyyy"},
      {ReduceOp::kUser, "yyyyyyyyyyyyyyyyyyyyy"},
  };
  for (const auto& [op, row] : table) {
    std::string got;
    for (const DType dtype : kAllDTypes) got += Supports(op, dtype) ? 'y' : '.';
    EXPECT_EQ(got, row) << Name(op);
  }
}

TEST(ReduceOpTest, EveryRefusalSaysWhatWouldBeRight) {
  for (const ReduceOp op : kAllReduceOps) {
    for (const DType dtype : kAllDTypes) {
      if (Supports(op, dtype)) continue;
      EXPECT_GT(WhyUnsupported(op, dtype).size(), 20u) << Name(op) << Name(dtype);
    }
  }
  EXPECT_EQ(WhyUnsupported(ReduceOp::kAvg, DType::kBool),
            "bools have no average; sum is or, prod is and");
}

}  // namespace
}  // namespace chorus
