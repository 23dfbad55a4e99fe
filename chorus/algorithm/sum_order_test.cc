// Which of the built-in schedules add each element left to right in rank order.
#include "chorus/schedule/sum_order.h"

#include <gtest/gtest.h>

#include <string>

#include "chorus/algorithm/algorithm.h"
#include "chorus/schedule/expansion.h"

namespace chorus {
namespace {

bool LeftToRight(const std::string& name, OpKind op, std::int64_t ranks) {
  const auto algorithm = FindAlgorithm(name, op);
  EXPECT_TRUE(algorithm.ok()) << algorithm.status().ToString();
  return AddsLeftToRight(Expand((*algorithm)->Build(), ranks).value());
}

TEST(SumOrderTest, DirectSchedulesAddInRankOrder) {
  for (const std::int64_t n : {1, 2, 3, 5, 8}) {
    EXPECT_TRUE(LeftToRight("one_shot", OpKind::kAllReduce, n)) << n;
    EXPECT_TRUE(LeftToRight("direct", OpKind::kAllReduce, n)) << n;
    EXPECT_TRUE(LeftToRight("direct", OpKind::kReduceScatter, n)) << n;
  }
}

TEST(SumOrderTest, RingsBeginElsewhereAndTreesAddInBrackets) {
  EXPECT_FALSE(LeftToRight("ring", OpKind::kAllReduce, 3));
  EXPECT_FALSE(LeftToRight("ring", OpKind::kAllReduce, 8));
  EXPECT_TRUE(LeftToRight("binomial", OpKind::kReduce, 3));   // (0 op 1) op 2
  EXPECT_FALSE(LeftToRight("binomial", OpKind::kReduce, 4));  // (0 op 1) op (2 op 3)
}

TEST(SumOrderTest, WhatSumsNothingDoesNotAdd) {
  EXPECT_FALSE(LeftToRight("direct", OpKind::kAllGather, 3));
  EXPECT_FALSE(LeftToRight("linear", OpKind::kScan, 3));
}

// A sum rounded on its way, or one that is missing a rank, is no such sum.
TEST(SumOrderTest, APartIsNoWhole) {
  Expansion expansion =
      Expand((*FindAlgorithm("one_shot", OpKind::kAllReduce))->Build(), 3).value();
  for (Step& step : expansion.ranks[1]) {
    if (step.verb == Verb::kReduce) step.chunks[2] = Chunk{BufferKind::kIn, 0, 0, true};
  }
  EXPECT_FALSE(AddsLeftToRight(expansion));
}

}  // namespace
}  // namespace chorus
