#include "chorus/apps/studio/server/answer_cache.h"

#include <gtest/gtest.h>

namespace chorus::studio {
namespace {

TEST(AnswerCache, KeepsWhatWasUsedLastAndNoMoreThanItMay) {
  AnswerCache cache(400);
  const std::string answer(90, 'x');  // 92 bytes with its question
  for (const char* question : {"a", "b", "c", "d"}) cache.Keep(question, answer);
  EXPECT_EQ(cache.Find("a"), answer);
  cache.Keep("e", answer);
  EXPECT_EQ(cache.Find("b"), std::nullopt);  // used the longest time ago
  for (const char* question : {"a", "c", "d", "e"}) EXPECT_TRUE(cache.Find(question)) << question;
  cache.Keep("f", std::string(100, 'x'));
  EXPECT_EQ(cache.Find("f"), std::nullopt);  // one answer does not push out all others
}

}  // namespace
}  // namespace chorus::studio
