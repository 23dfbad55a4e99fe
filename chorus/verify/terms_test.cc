#include "chorus/verify/terms.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(TermsTest, EqualFormulasAreOneTerm) {
  Terms t(OpKind::kAllReduce, 3, ReduceOrder::kAny);
  const auto x = [&](std::int64_t rank) { return *t.Scale(t.Raw(rank, 7)); };
  const Terms::Id a = *t.Sum(*t.Sum(x(0), x(1)), x(2));
  const Terms::Id b = *t.Sum(x(0), *t.Sum(x(1), x(2)));
  EXPECT_NE(a, b);  // other parentheses, other bits
  EXPECT_EQ(a, *t.Sum(*t.Sum(x(0), x(1)), x(2)));
  EXPECT_EQ(t.ToString(*t.Finish(a)), "[((x0[7]' + x1[7]') + x2[7]')]");
  EXPECT_EQ(t.block(a), 7);
  EXPECT_TRUE(t.IsPartial(a));
  EXPECT_FALSE(t.IsPartial(t.Raw(1, 7)));
  EXPECT_TRUE(t.IsFinished(*t.Finish(b)));
}

TEST(TermsTest, RankOrderIsKeptWithAnyParentheses) {
  Terms t(OpKind::kAllReduce, 4, ReduceOrder::kRank);
  const auto x = [&](std::int64_t rank) { return *t.Scale(t.Raw(rank, 0)); };
  EXPECT_TRUE(t.Sum(*t.Sum(x(0), x(1)), *t.Sum(x(2), x(3))).ok());
  EXPECT_FALSE(t.Sum(x(1), x(0)).ok());
  EXPECT_FALSE(t.Sum(x(0), x(2)).ok());  // x1 could never enter between them
}

TEST(TermsTest, ContributionsAreCountedOnceAcrossMoreThan64Ranks) {
  Terms t(OpKind::kAllReduce, 130, ReduceOrder::kAny);
  const auto x = [&](std::int64_t rank) { return *t.Scale(t.Raw(rank, 0)); };
  Terms::Id sum = x(129);
  for (std::int64_t rank = 0; rank < 129; ++rank) {
    EXPECT_FALSE(t.Finish(sum).ok());
    sum = *t.Sum(sum, x(rank));
  }
  EXPECT_TRUE(t.Finish(sum).ok());
  EXPECT_EQ(t.Sum(sum, x(100)).status().message().substr(0, 27), "rank 100 is counted twice i");
}

TEST(TermsTest, LongTermsAreCutShort) {
  Terms t(OpKind::kAllReduce, 100, ReduceOrder::kRank);
  Terms::Id sum = *t.Scale(t.Raw(0, 0));
  for (std::int64_t rank = 1; rank < 100; ++rank) sum = *t.Sum(sum, *t.Scale(t.Raw(rank, 0)));
  EXPECT_EQ(t.ToString(sum).size(), 123U);
  EXPECT_TRUE(t.ToString(sum).ends_with("..."));
}

TEST(TermsTest, AScanIsFinishedWithAllRanksFromZero) {
  Terms t(OpKind::kScan, 4, ReduceOrder::kRank);
  const auto x = [&](std::int64_t rank) { return *t.Scale(t.Raw(rank, 0)); };
  EXPECT_TRUE(t.Finish(x(0)).ok());
  EXPECT_EQ(t.highest(*t.Finish(*t.Sum(x(0), x(1)))), 1);
  EXPECT_EQ(t.Finish(*t.Sum(x(1), x(2))).status().message(),
            "(x1[0]' + x2[0]') is finished with 2 of 3 contributions");
}

}  // namespace
}  // namespace chorus
