#include "chorus/verify/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chorus/algorithm/algorithm.h"

namespace chorus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The last value that any step of `rank` writes into `out`.
const HeldValue* LastOut(const WatchedRun& run, std::int64_t rank) {
  const HeldValue* last = nullptr;
  for (const std::vector<HeldValue>& step : run.writes[rank]) {
    for (const HeldValue& value : step) {
      if (value.chunk.buffer == BufferKind::kOut) last = &value;
    }
  }
  return last;
}

TEST(WatchTest, ARingReduceScatterAddsRankByRank) {
  const auto ring = FindAlgorithm("ring", OpKind::kReduceScatter);
  const Result<Expansion> e = Expand((*ring)->Build(), 3);
  ASSERT_TRUE(e.ok());
  const Result<WatchedRun> run = Watch(*e);
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  ASSERT_EQ(run->start.size(), 3u);
  ASSERT_EQ(run->start[1].size(), 3u);
  EXPECT_EQ(run->start[1][2], (HeldValue{{BufferKind::kIn, 0, 2, false}, {1}, false, "x1[2]"}));
  const HeldValue* last = LastOut(*run, 2);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->chunk.block, 2);
  EXPECT_TRUE(last->promised);
  EXPECT_THAT(last->ranks, ElementsAre(0, 1, 2));
}

TEST(WatchTest, WhatMustEndOnAnotherRankIsNotPromisedHere) {
  const auto direct = FindAlgorithm("direct", OpKind::kGather);
  const Result<Expansion> e = Expand((*direct)->Build(), 2, 1);
  ASSERT_TRUE(e.ok());
  const Result<WatchedRun> run = Watch(*e);
  ASSERT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_FALSE(run->start[0][0].promised);  // rank 0 is not the root
  EXPECT_TRUE(run->start[1][0].promised);
}

TEST(WatchTest, AScheduleThatIsWrongIsNotWatched) {
  const Result<Schedule> wrong = Schedule::Parse(
      "schedule wrong broadcast\n  blocks 1\nbegin\n  c: copy out[0] = in[0]\nend\n");
  ASSERT_TRUE(wrong.ok()) << wrong.status().ToString();
  const Result<Expansion> e = Expand(*wrong, 2);
  ASSERT_TRUE(e.ok());
  EXPECT_THAT(Watch(*e).status().message(), HasSubstr("holds nothing yet"));
}

}  // namespace
}  // namespace chorus
