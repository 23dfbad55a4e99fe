#include "chorus/train/text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "chorus/base/test_path_test.h"
#include "chorus/train/batch.h"
#include "chorus/train/learning_rate.h"

namespace chorus {
namespace {

std::string Alphabet(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}

TEST(TextTest, VocabularyIsTheBytesThatOccurAscending) {
  const Result<Text> text = Text::Create("banana bandana!!", 0.25, 2);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_EQ(text->vocabulary(), " !abdn");
  EXPECT_EQ(text->size(), 16);
  EXPECT_EQ(text->training_size(), 12);
  EXPECT_EQ(text->tokens()[0], 3);  // b
  EXPECT_EQ(*text->Encode("nab"), (std::vector<std::int32_t>{5, 2, 3}));
  EXPECT_EQ(text->Encode("zebra").status().message(),
            "\"zebra\" has the byte 122 ('z'), which the text does not have");
}

TEST(TextTest, BytesAboveAsciiAreTokensToo) {
  const Result<Text> text = Text::Create("\xC3\xA9t\xC3\xA9 \xC3\xA9t\xC3\xA9", 0.4, 2);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->vocabulary(), " t\xA9\xC3");
  EXPECT_EQ(*text->Encode("\xC3"), (std::vector<std::int32_t>{3}));
}

TEST(TextTest, RefusesATextThatIsTooShort) {
  const Result<Text> text = Text::Create("a short text", 0.25, 8);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(
      text.status().message(),
      "a text of 12 characters, 3 of them held out, is too short for a window of 8; each part "
      "needs more than 8");
  EXPECT_FALSE(Text::Create(Alphabet(100), 0.0, 2).ok());
  EXPECT_FALSE(Text::Create(Alphabet(100), 0.75, 2).ok());
}

TEST(TextTest, ReadsAFileOrSaysWhichIsMissing) {
  const std::string path = TestPath("text");
  std::ofstream(path) << "one\ntwo\n";
  const Result<std::string> read = ReadTextSource(path);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, "one\ntwo\n");

  const Result<std::string> missing = ReadTextSource("/nowhere/text");
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.status().message(),
            "text file '/nowhere/text' cannot be read (No such file or directory); [data] source "
            "is a path to a text file, or "
            "\"bible-kjv\"");
}

// Debian's bible-kjv is a package of the set-up, so its text is there where tests run.
TEST(TextTest, ReadsTheBibleWithoutReferences) {
  const Result<std::string> bible = ReadTextSource(std::string(kBibleSource));
  ASSERT_TRUE(bible.ok()) << bible.status().message();
  EXPECT_EQ(bible->substr(0, 55), "In the beginning God created the heaven and the earth.\n");
  EXPECT_GT(bible->size(), 4'000'000U);
  EXPECT_EQ(bible->find("Ge1:2"), std::string::npos);
}

TEST(BatchTest, ASampleIsAWindowAndWhatFollows) {
  const Result<Text> text = Text::Create(Alphabet(400), 0.25, 5);
  ASSERT_TRUE(text.ok());
  const Batch batch = TrainingBatch(*text, 5, /*seed=*/1, /*step=*/3, 0, 7);
  ASSERT_EQ(batch.tokens.size(), 35U);
  ASSERT_EQ(batch.targets.size(), 7U);
  for (std::size_t b = 0; b < 7; ++b) {
    for (std::size_t w = 1; w < 5; ++w) {
      EXPECT_EQ(batch.tokens[5 * b + w], (batch.tokens[5 * b + w - 1] + 1) % 26);
    }
    EXPECT_EQ(batch.targets[b], (batch.tokens[5 * b + 4] + 1) % 26);
  }
}

TEST(BatchTest, PartsOfABatchJoinToTheBatch) {
  const Result<Text> text = Text::Create(Alphabet(400), 0.25, 3);
  ASSERT_TRUE(text.ok());
  const Batch whole = TrainingBatch(*text, 3, 1, 2, 0, 10);
  Batch joined = TrainingBatch(*text, 3, 1, 2, 0, 4);
  const Batch rest = TrainingBatch(*text, 3, 1, 2, 4, 6);
  joined.tokens.insert(joined.tokens.end(), rest.tokens.begin(), rest.tokens.end());
  joined.targets.insert(joined.targets.end(), rest.targets.begin(), rest.targets.end());
  EXPECT_EQ(joined, whole);
  EXPECT_NE(TrainingBatch(*text, 3, 1, 3, 0, 10), whole);
  EXPECT_NE(TrainingBatch(*text, 3, 2, 2, 0, 10), whole);
}

TEST(BatchTest, TrainingAndHeldOutSamplesStayInTheirParts) {
  // 'b' only in the held-out part.
  const Result<Text> text = Text::Create(std::string(90, 'a') + std::string(30, 'b'), 0.25, 4);
  ASSERT_TRUE(text.ok());
  const Batch training = TrainingBatch(*text, 4, 1, 1, 0, 500);
  for (const std::int32_t token : training.tokens) EXPECT_EQ(token, 0);
  for (const std::int32_t token : training.targets) EXPECT_EQ(token, 0);
  const Batch held_out = HeldOutBatch(*text, 4, 50, 0, 50);
  for (const std::int32_t token : held_out.tokens) EXPECT_EQ(token, 1);
  for (const std::int32_t token : held_out.targets) EXPECT_EQ(token, 1);
  EXPECT_TRUE(HeldOutBatch(*text, 4, 50, 0, 0).targets.empty());
}

TEST(LearningRateTest, RisesInALineAndFallsAsACosine) {
  const LearningRate rate{.peak = 2.0, .final_fraction = 0.1, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(rate.At(1, 0.01), 0.5);
  EXPECT_DOUBLE_EQ(rate.At(3, 0.03), 1.5);
  EXPECT_DOUBLE_EQ(rate.At(10, 0.0), 2.0);
  EXPECT_DOUBLE_EQ(rate.At(10, 0.5), 1.1);
  EXPECT_DOUBLE_EQ(rate.At(10, 1.0), 0.2);
  EXPECT_DOUBLE_EQ(rate.At(10, 2.0), 0.2);  // a time budget may be overrun by a step
}

}  // namespace
}  // namespace chorus
