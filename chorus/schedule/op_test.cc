#include "chorus/schedule/op.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(OpTest, NamesOfOrdersAndParseAreInverse) {
  for (ReduceOrder order : {ReduceOrder::kNone, ReduceOrder::kRank, ReduceOrder::kAny}) {
    EXPECT_EQ(ParseReduceOrder(Name(order)), order);
  }
  EXPECT_EQ(ParseReduceOrder("ring"), std::nullopt);
}

// Which of blocks 0 .. 3 a rank holds of 4, the rank owning block `own` and the root being 2.
std::string Held(bool (*holds)(OpKind, std::int64_t, std::int64_t, std::int64_t, std::int64_t),
                 OpKind op, std::int64_t own, std::int64_t rank) {
  std::string text;
  for (std::int64_t b = 0; b < 4; ++b) text += holds(op, own, rank, 2, b) ? "x" : ".";
  return text;
}

TEST(OpTest, WhatRanksHoldBefore) {
  EXPECT_EQ(Held(InHolds, OpKind::kAllGather, 3, 1), "...x");
  EXPECT_EQ(Held(InHolds, OpKind::kReduceScatter, 3, 1), "xxxx");
  EXPECT_EQ(Held(InHolds, OpKind::kAllReduce, 0, 1), "xxxx");
  EXPECT_EQ(Held(InHolds, OpKind::kReduce, 0, 1), "xxxx");
  EXPECT_EQ(Held(InHolds, OpKind::kBroadcast, 0, 1), "....");
  EXPECT_EQ(Held(InHolds, OpKind::kBroadcast, 0, 2), "xxxx");
  EXPECT_EQ(Held(InHolds, OpKind::kBarrier, 0, 2), "....");
}

TEST(OpTest, WhatRanksHoldAfter) {
  EXPECT_EQ(Held(OutHolds, OpKind::kAllGather, 3, 1), "xxxx");
  EXPECT_EQ(Held(OutHolds, OpKind::kReduceScatter, 3, 1), "...x");
  EXPECT_EQ(Held(OutHolds, OpKind::kAllReduce, 0, 1), "xxxx");
  EXPECT_EQ(Held(OutHolds, OpKind::kBroadcast, 0, 1), "xxxx");
  EXPECT_EQ(Held(OutHolds, OpKind::kReduce, 0, 1), "....");
  EXPECT_EQ(Held(OutHolds, OpKind::kReduce, 0, 2), "xxxx");
  EXPECT_EQ(Held(OutHolds, OpKind::kBarrier, 0, 2), "....");
}

}  // namespace
}  // namespace chorus
