// The text of the algorithms, and that it is all of them: Parse(ToString()) is the same schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "chorus/algorithm/algorithm.h"

namespace chorus {
namespace {

TEST(GoldenTest, EveryAlgorithmIsItsText) {
  std::set<std::pair<std::string_view, OpKind>> names;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    const Schedule schedule = algorithm.Build();
    std::string name(algorithm.name);  // a schedule's name has no punctuation
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == ':' || c == '+'; }, '_');
    EXPECT_EQ(schedule.name(), name);
    EXPECT_EQ(schedule.op(), algorithm.op);
    EXPECT_TRUE(names.insert({algorithm.name, algorithm.op}).second);
    const Result<Schedule> parsed = Schedule::Parse(schedule.ToString());
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString() << "\n" << schedule.ToString();
    EXPECT_EQ(*parsed, schedule);
    EXPECT_NE(algorithm.cost.find("steps: "), std::string_view::npos);
    EXPECT_NE(algorithm.cost.find("bytes sent per rank: "), std::string_view::npos);
    EXPECT_FALSE(algorithm.picture.empty());
  }
}

TEST(GoldenTest, RingAllReduce) {
  EXPECT_EQ((*FindAlgorithm("ring", OpKind::kAllReduce))->Build().ToString(),
            R"(schedule ring all_reduce
  blocks N
  order any
  tmp 1
  acc 2
  tiles 2
begin
  u: copy out[r] = scaled in[r] finish if N == 1
  for k in 0 .. N - 2
    let b = (r - k - 2) % N
    s[k]: send (k == 0 ? in[(b + 1) % N] : acc[(k - 1) % 2 : (b + 1) % N]) to (r + 1) % N as k after a[k - 1]
    v[k]: recv (k == 0 ? tmp[0 : b] : acc[k % 2 : b]) from (r - 1) % N as k after s[k - 1]
    a[k]: reduce acc[k % 2 : b] = (k == 0 ? scaled tmp[0 : b] : acc[k % 2 : b]) + scaled in[b] after v[k] if k < N - 2
    a[k]: reduce out[b] = (k == 0 ? scaled tmp[0 : b] : acc[k % 2 : b]) + scaled in[b] finish after v[k] if k == N - 2
  end
  for k in 0 .. N - 2
    f[k]: send (k == 0 ? out[r] : out[(r - k) % N]) to (r + 1) % N as N - 1 + k after g[k - 1], a[N - 2]
    g[k]: recv out[(r - k - 1) % N] from (r - 1) % N as N - 1 + k
  end
end
)");
}

TEST(GoldenTest, BinomialBroadcast) {
  EXPECT_EQ((*FindAlgorithm("binomial", OpKind::kBroadcast))->Build().ToString(),
            R"(schedule binomial broadcast
  blocks 1
  tiles 4
begin
  c: copy out[0] = in[0] if r == root
  for t in 1 .. ceil_log2(N)
    let k = ceil_log2(N) - t
    let mine = r >> k
    let other = mine ^ 1
    let peer = root >> k == other ? root : other << k
    let below = root >> k == mine ? root : mine << k
    let above = root >> (k + 1) == mine >> 1 ? root : (mine >> 1) << (k + 1)
    let upper = r == above && other << k < N
    let lower = r == below && r != above
    v: recv out[0] from peer as 0 if lower
    s[k]: send (r == root ? in[0] : out[0]) to peer as 0 after v if upper
  end
end
)");
}

TEST(GoldenTest, DirectReduceScatterOfThreeRanksOnRankOne) {
  const auto steps = (*FindAlgorithm("direct", OpKind::kReduceScatter))->Build().ForRank(3, 1);
  std::string text;
  for (const Step& step : *steps) text += step.ToString() + "\n";
  EXPECT_EQ(text,
            "s[2]: send in[2] to 2 as 0\n"
            "v[0]: recv tmp[0 : 1] from 0 as 0\n"
            "s[0]: send in[0] to 0 as 0\n"
            "v[2]: recv tmp[1 : 1] from 2 as 0\n"
            "a[1]: reduce acc[0 : 1] = scaled tmp[0 : 1] + scaled in[1]\n"
            "a[2]: reduce out[1] = acc[0 : 1] + scaled tmp[1 : 1] finish\n");
}

TEST(ChooseTest, IsDirectWhileRanksAreFewAndRingForManyAndMuch) {
  const auto chosen = [](OpKind op, std::int64_t n, std::int64_t bytes, bool rank_order = false) {
    return ChooseAlgorithm(op, n, Bytes(bytes), rank_order).name;
  };
  EXPECT_EQ(chosen(OpKind::kAllReduce, 2, 8), "one_shot");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 2, 8 << 10), "one_shot");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 2, (8 << 10) + 1), "direct");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 4, 511), "one_shot");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 4, 512), "recursive_doubling");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 8, 4 << 10), "recursive_doubling");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 8, (4 << 10) + 1), "direct");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 4, 2048, /*rank_order=*/true), "one_shot");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 6, 16 << 10), "direct");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 8, std::int64_t{1} << 40), "direct");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 9, 256 << 10), "direct");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 9, (256 << 10) + 1), "ring");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 9, 1 << 20, /*rank_order=*/true), "direct");
  EXPECT_EQ(chosen(OpKind::kAllReduce, 1, 1 << 20), "direct");
  EXPECT_EQ(chosen(OpKind::kAllGather, 16, 1 << 20), "ring");
  EXPECT_EQ(chosen(OpKind::kReduceScatter, 4, 1 << 20), "direct");
  EXPECT_EQ(chosen(OpKind::kBroadcast, 8, 1), "direct");
  EXPECT_EQ(chosen(OpKind::kBroadcast, 9, 1), "binomial");
  EXPECT_EQ(chosen(OpKind::kReduce, 8, 1), "direct");
  EXPECT_EQ(chosen(OpKind::kReduce, 9, 1), "binomial");
  EXPECT_EQ(chosen(OpKind::kBarrier, 4, 0), "dissemination");
}

TEST(ChooseTest, RankOrderIsAlwaysKept) {
  for (OpKind op : {OpKind::kReduceScatter, OpKind::kAllReduce, OpKind::kReduce}) {
    for (std::int64_t n = 1; n <= 100; n += 7) {
      for (std::int64_t bytes : {0, 1 << 10, 1 << 20, 1 << 30}) {
        EXPECT_EQ(ChooseAlgorithm(op, n, Bytes(bytes), true).Build().order(), ReduceOrder::kRank);
      }
    }
  }
}

TEST(FindTest, AnUnknownNameListsWhatThereIs) {
  EXPECT_EQ(
      FindAlgorithm("tree", OpKind::kAllReduce).status().message(),
      "no algorithm 'tree' for all_reduce; there is direct, ring, one_shot, bidirectional_ring, "
      "recursive_doubling, halving_doubling, double_tree, two_level:L, hierarchical:L, torus:AxB");
}

}  // namespace
}  // namespace chorus
