#include "chorus/apps/studio/server/bounded.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace chorus::studio {
namespace {

TEST(AnswerWithin, GivesTheAnswerWhole) {
  const std::string body(3'000'000, 'x');
  const auto reply = AnswerWithin(std::chrono::minutes(1), [&] { return BoundedReply{422, body}; });
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, 422);
  EXPECT_EQ(reply->body, body);
}

TEST(AnswerWithin, GivesUpWhatTakesTooLong) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(AnswerWithin(std::chrono::milliseconds(50), [] {
                 for (;;) sleep(1000);
                 return BoundedReply{};
               }).has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
}

TEST(AnswerWithin, AnAnswerThatEndsTheProcessIsNone) {
  EXPECT_FALSE(AnswerWithin(std::chrono::minutes(1), [] {
                 _exit(3);
                 return BoundedReply{};
               }).has_value());
}

}  // namespace
}  // namespace chorus::studio
