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
std::string Held(bool (*holds)(const Member&, std::int64_t), OpKind op, std::int64_t own,
                 std::int64_t rank) {
  std::string text;
  for (std::int64_t b = 0; b < 4; ++b) text += holds({op, 4, 2, rank, own}, b) ? "x" : ".";
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
  EXPECT_EQ(Held(InHolds, OpKind::kGather, 3, 2), "...x");
  EXPECT_EQ(Held(InHolds, OpKind::kScatter, 3, 1), "....");
  EXPECT_EQ(Held(InHolds, OpKind::kScatter, 3, 2), "xxxx");
  EXPECT_EQ(Held(InHolds, OpKind::kScan, 0, 1), "xxxx");
  EXPECT_EQ(Held(InHolds, OpKind::kExScan, 0, 3), "xxxx");
}

TEST(OpTest, WhatRanksHoldAfter) {
  EXPECT_EQ(Held(OutHolds, OpKind::kAllGather, 3, 1), "xxxx");
  EXPECT_EQ(Held(OutHolds, OpKind::kReduceScatter, 3, 1), "...x");
  EXPECT_EQ(Held(OutHolds, OpKind::kAllReduce, 0, 1), "xxxx");
  EXPECT_EQ(Held(OutHolds, OpKind::kBroadcast, 0, 1), "xxxx");
  EXPECT_EQ(Held(OutHolds, OpKind::kReduce, 0, 1), "....");
  EXPECT_EQ(Held(OutHolds, OpKind::kReduce, 0, 2), "xxxx");
  EXPECT_EQ(Held(OutHolds, OpKind::kBarrier, 0, 2), "....");
  EXPECT_EQ(Held(OutHolds, OpKind::kGather, 3, 1), "....");
  EXPECT_EQ(Held(OutHolds, OpKind::kGather, 3, 2), "xxxx");
  EXPECT_EQ(Held(OutHolds, OpKind::kScatter, 3, 2), "...x");
  EXPECT_EQ(Held(OutHolds, OpKind::kScan, 0, 0), "xxxx");
  EXPECT_EQ(Held(OutHolds, OpKind::kExScan, 0, 0), "....");
  EXPECT_EQ(Held(OutHolds, OpKind::kExScan, 0, 1), "xxxx");
}

// Block i * 3 + j is what rank i has for rank j.
TEST(OpTest, AllToAllTurnsRowsIntoColumns) {
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    const Member member{OpKind::kAllToAll, 3, 0, rank, 0};
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) {
        EXPECT_EQ(InHolds(member, i * 3 + j), i == rank);
        EXPECT_EQ(OutHolds(member, i * 3 + j), j == rank);
      }
    }
  }
}

}  // namespace
}  // namespace chorus
