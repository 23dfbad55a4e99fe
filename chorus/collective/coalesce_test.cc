#include "chorus/collective/coalesce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

namespace chorus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Call Sum(std::int64_t count, DType dtype = DType::kF32, const Reduction& reduce = ReduceOp::kSum) {
  Call call;
  call.op = OpKind::kAllReduce;
  call.in = ConstBuffer(nullptr, count, dtype);
  call.out = MutableBuffer(nullptr, count, dtype);
  call.reduce = reduce;
  return call;
}

std::vector<std::vector<int>> PartsOf(const std::vector<Call>& calls, CoalescingTerms terms = {}) {
  if (!terms.adds_in_rank_order) terms.adds_in_rank_order = [](const Call&) { return true; };
  std::vector<const Call*> pointers;
  for (const Call& call : calls) pointers.push_back(&call);
  return Coalesce(pointers, terms);
}

TEST(CoalesceTest, CallsOfOneKindGoTogether) {  // the example in coalesce.h
  EXPECT_THAT(PartsOf({Sum(2), Sum(3), Sum(1, DType::kI32), Sum(1)}),
              ElementsAre(ElementsAre(0, 1, 3), ElementsAre(2)));
}

TEST(CoalesceTest, OtherReductionsAlgorithmsAndOperationsGoAlone) {
  Call named = Sum(4);
  named.algorithm = "ring";
  Call gather = Sum(4);
  gather.op = OpKind::kAllGather;
  Call empty = Sum(0);
  EXPECT_EQ(PartsOf({Sum(4), Sum(4, DType::kF32, ReduceOp::kMax), named, gather, empty,
                     Sum(4, DType::kF32, Reduction::PremulSum(0.5)),
                     Sum(4, DType::kF32, Reduction::PremulSum(0.25))})
                .size(),
            7U);
}

// 2 bytes / copy rate against the time of a call: 600 ns at 8 B/ns is worth up to 2,400 B.
TEST(CoalesceTest, OnlyWhatCostsLessThanACall) {
  EXPECT_THAT(PartsOf({Sum(600), Sum(600)}), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(PartsOf({Sum(601), Sum(600)}), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(CoalesceTest, APartHoldsNoMoreThanItMay) {
  CoalescingTerms terms;
  terms.most_bytes = 40;
  EXPECT_THAT(PartsOf({Sum(4), Sum(5), Sum(6), Sum(5)}, terms),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2), ElementsAre(3)));
  const std::vector<Call> many(kMostCoalesced + 3, Sum(1));
  const auto parts = PartsOf(many);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].size(), static_cast<std::size_t>(kMostCoalesced));
  EXPECT_EQ(parts[1].size(), 3U);
}

// Where a plan adds in an order that depends on the place, only what is exact may move.
TEST(CoalesceTest, BitsDoNotDependOnThePacking) {
  CoalescingTerms terms;
  terms.adds_in_rank_order = [](const Call& call) { return call.in.count < 8; };
  EXPECT_EQ(PartsOf({Sum(8), Sum(8)}, terms).size(), 2U);
  EXPECT_EQ(PartsOf({Sum(7), Sum(7)}, terms).size(), 2U);  // 14 together
  EXPECT_EQ(PartsOf({Sum(3), Sum(4)}, terms).size(), 1U);
  EXPECT_EQ(PartsOf({Sum(8, DType::kI32), Sum(8, DType::kI32)}, terms).size(), 1U);
  EXPECT_EQ(
      PartsOf({Sum(8, DType::kF32, ReduceOp::kMin), Sum(8, DType::kF32, ReduceOp::kMin)}, terms)
          .size(),
      1U);
  UserReduction left;
  left.name = "left";
  left.commutes = true;
  left.combine = [](void*, const void*, std::int64_t, DType) {};
  const Reduction user = Reduction::User(left);
  EXPECT_EQ(PartsOf({Sum(8, DType::kI32, user), Sum(8, DType::kI32, user)}, terms).size(), 2U);
}

TEST(CoalesceTest, APackedCallHasAllElements) {
  std::array<float, 5> in{};
  std::array<float, 5> out{};
  Call a = Sum(2);
  Call b = Sum(3);
  a.in.data = in.data();
  b.in.data = in.data() + 2;
  a.out.data = out.data();
  b.out.data = out.data() + 2;
  const Call both = Packed({&a, &b});
  EXPECT_EQ(both.in.count, 5);
  EXPECT_EQ(both.out.count, 5);
  EXPECT_EQ(both.in.data, nullptr);
  ASSERT_EQ(both.packed->size(), 2U);
  EXPECT_EQ((*both.packed)[1].in, in.data() + 2);
  EXPECT_EQ((*both.packed)[1].out, out.data() + 2);
  EXPECT_EQ((*both.packed)[1].count, 3);
  EXPECT_EQ(DescribePacked(PackCall(both), both.total()), "f32 x 5 sum in 2 calls");
  EXPECT_EQ(CallsOfPacked(PackCall(both)), 2);
  EXPECT_EQ(WithoutPacking(PackCall(both)), PackCall(a));
  EXPECT_EQ(CallsOfPacked(PackCall(a)), 1);
}

TEST(CoalesceTest, MemoryOfTwoCallsIsApart) {
  std::array<char, 100> memory{};
  const auto range = [&](int call, bool written, int begin, int end) {
    return CallRange{call, written, memory.data() + begin, end - begin};
  };
  EXPECT_TRUE(CheckApart({range(0, false, 0, 10), range(1, false, 5, 20)}).ok());
  EXPECT_TRUE(CheckApart({range(0, false, 0, 10), range(0, true, 0, 10)}).ok());
  EXPECT_TRUE(CheckApart({range(0, true, 0, 10), range(1, true, 10, 20)}).ok());
  EXPECT_TRUE(CheckApart({range(0, true, 0, 10), range(1, true, 5, 5)}).ok());
  EXPECT_THAT(CheckApart({range(3, true, 0, 10), range(1, false, 9, 20)}).message(),
              HasSubstr("calls 2 and 4 of a list use the same memory"));
  // A longer range of the same call hides no other.
  EXPECT_FALSE(CheckApart({range(0, false, 0, 90), range(1, false, 0, 50), range(0, false, 10, 80),
                           range(0, true, 40, 45)})
                   .ok());
  EXPECT_FALSE(
      CheckApart({range(0, false, 0, 90), range(1, false, 1, 95), range(1, true, 89, 92)}).ok());
}

TEST(CoalesceTest, CallsAreNumberedFromOne) {
  EXPECT_EQ(DescribeCalls({2}, 5), "call 3 of 5");
  EXPECT_EQ(DescribeCalls({0, 1}, 2), "calls 1 and 2 of 2");
  EXPECT_EQ(DescribeCalls({0, 1, 3}, 5), "calls 1, 2 and 4 of 5");
  EXPECT_EQ(DescribeCalls({1, 2, 3}, 5), "calls 2 to 4 of 5");
}

}  // namespace
}  // namespace chorus
