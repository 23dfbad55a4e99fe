#include "chorus/collective/matcher.h"

#include <gtest/gtest.h>

#include <vector>

#include "chorus/base/random.h"

namespace chorus {
namespace {

struct Receive {
  int source;
  int tag;
  int id;
};
struct Message {
  int source;
  int tag;
  int id;
};
using TestMatcher = Matcher<Receive, Message>;

TEST(MatcherTest, AnEarlyMessageWaitsForItsReceive) {
  TestMatcher matcher;
  Message message{0, 7, 1};
  EXPECT_FALSE(matcher.Arrive(message).has_value());
  EXPECT_FALSE(matcher.Post({0, 8, 1}).has_value());  // another tag
  EXPECT_FALSE(matcher.Post({1, 7, 2}).has_value());  // another source
  EXPECT_EQ(matcher.Post({0, 7, 3})->id, 1);
  EXPECT_TRUE(matcher.arrivals().empty());
  EXPECT_EQ(matcher.receives().size(), 2u);
}

TEST(MatcherTest, MessagesOfOneSourceDoNotOvertake) {
  TestMatcher matcher;
  for (int id : {1, 2, 3}) {
    Message message{4, id == 2 ? 9 : 7, id};
    EXPECT_FALSE(matcher.Arrive(message).has_value());
  }
  EXPECT_EQ(matcher.Post({kAnySource, 9, 0})->id, 2);  // by tag, past the first
  EXPECT_EQ(matcher.Post({4, kAnyTag, 0})->id, 1);
  EXPECT_EQ(matcher.Post({kAnySource, kAnyTag, 0})->id, 3);
}

TEST(MatcherTest, TheOldestReceiveThatFitsGetsTheMessage) {
  TestMatcher matcher;
  EXPECT_FALSE(matcher.Post({2, 5, 1}).has_value());
  EXPECT_FALSE(matcher.Post({kAnySource, kAnyTag, 2}).has_value());
  EXPECT_FALSE(matcher.Post({3, 5, 3}).has_value());
  Message from3{3, 5, 0};
  EXPECT_EQ(matcher.Arrive(from3)->id, 2);
  Message again{3, 5, 0};
  EXPECT_EQ(matcher.Arrive(again)->id, 3);
  Message from2{2, 5, 0};
  EXPECT_EQ(matcher.Arrive(from2)->id, 1);
}

// Against the rule itself: random posts and arrivals; after each, no kept pair fits, and every pair
// that was made was the oldest possible on both sides.
TEST(MatcherTest, RandomOrdersKeepTheRule) {
  const RandomStream random(20260, "matcher");
  std::uint64_t k = 0;
  const auto draw = [&](int n) { return static_cast<int>(random.Bits(k++) % n); };
  TestMatcher matcher;
  for (int step = 0; step < 5000; ++step) {
    if (draw(2) == 0) {
      const Receive receive{draw(4) - 1, draw(3) - 1, step};
      const Message* oldest = matcher.Find(receive.source, receive.tag);
      const int want = oldest == nullptr ? -1 : oldest->id;
      const auto got = matcher.Post(receive);
      ASSERT_EQ(got.has_value() ? got->id : -1, want);
    } else {
      Message message{draw(3), draw(2), step};
      int want = -1;
      for (const Receive& receive : matcher.receives()) {
        if (want < 0 && Fits(receive.source, receive.tag, message.source, message.tag)) {
          want = receive.id;
        }
      }
      const auto got = matcher.Arrive(message);
      ASSERT_EQ(got.has_value() ? got->id : -1, want);
    }
    for (const Receive& receive : matcher.receives()) {
      ASSERT_EQ(matcher.Find(receive.source, receive.tag), nullptr);
    }
  }
}

}  // namespace
}  // namespace chorus
