#include "chorus/apps/answer/schedule_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chorus::answer {
namespace {

using ::testing::HasSubstr;

ScheduleAnswer ScheduleOf(const ScheduleQuestion& question) {
  Result<ScheduleAnswer> answer = Answer(question);
  EXPECT_TRUE(answer.ok()) << answer.status().ToString();
  return *std::move(answer);
}

// The state after each step as the pictures of chorus show have it: how many ranks' contributions
// each rank has of each block, * if it is final. "1 1|1 1" of two ranks and two blocks.
std::vector<std::string> Pictures(const ScheduleAnswer& a) {
  const std::int64_t n = a.expansion.group_size, blocks = a.expansion.frames[0].blocks;
  std::vector<std::vector<std::string>> state(n, std::vector<std::string>(blocks, "-"));
  std::vector<std::string> pictures;
  const auto take = [&](const std::vector<ShownCell>& cells) {
    for (const ShownCell& c : cells) {
      state[c.rank][c.block] = c.final ? "*" : std::to_string(c.ranks.size());
    }
    std::string text;
    for (const auto& rank : state) {
      text += text.empty() ? "" : "|";
      for (const std::string& cell : rank) text += cell;
    }
    pictures.push_back(text);
  };
  take(a.cells);
  for (const ShownStep& step : a.steps) take(step.cells);
  return pictures;
}

TEST(ScheduleAnswer, ARingAllReduceIsThePictureOfItsBuilder) {
  const ScheduleAnswer a = ScheduleOf({"all_reduce", "ring", 4});
  EXPECT_EQ(Pictures(a), (std::vector<std::string>{"1111|1111|1111|1111", "1121|1112|2111|1211",
                                                   "1321|1132|2113|3211", "*321|1*32|21*3|321*",
                                                   "*32*|**32|2**3|32**", "*3**|**3*|***3|3***",
                                                   "****|****|****|****"}));
  ASSERT_TRUE(a.convention.has_value());
  EXPECT_EQ(a.convention->offset, 0);
  EXPECT_TRUE(a.verdict.ok());
  EXPECT_EQ(a.verdict.proof.cases, 2);
  // 2(N - 1)/N of 1 MiB from each of 4 ranks, 4 links of the ring in each step.
  EXPECT_EQ(a.total_bytes, 4 * 1572864);
  for (const ShownStep& step : a.steps) {
    EXPECT_EQ(step.links, 4);
    EXPECT_EQ(step.bytes, 1048576);
  }
  EXPECT_EQ(a.steps.back().sent_bytes, (std::vector<std::int64_t>(4, 1572864)));
}

TEST(ScheduleAnswer, AccumulatorsWeighMore) {
  ScheduleQuestion q{"all_reduce", "ring", 4};
  q.accumulator_ratio = 2;
  const ScheduleAnswer a = ScheduleOf(q);
  // The second and third of the three summing steps send partial sums.
  EXPECT_EQ(a.steps[0].bytes, 1048576);
  EXPECT_EQ(a.steps[1].bytes, 2 * 1048576);
  EXPECT_EQ(a.steps[2].bytes, 2 * 1048576);
  EXPECT_EQ(a.steps[3].bytes, 1048576);
}

TEST(ScheduleAnswer, RelabelledChunksAreProvedAgain) {
  ScheduleQuestion q{"reduce_scatter", "ring", 3};
  q.relabel = true;
  const ScheduleAnswer a = ScheduleOf(q);
  EXPECT_EQ(a.convention->offset, 1);
  EXPECT_TRUE(a.convention->relabelled);
  EXPECT_TRUE(a.verdict.ok());
  EXPECT_EQ(a.expansion.frames[2].own, 0);  // rank 2 ends with chunk 3 mod 3
  EXPECT_EQ(Pictures(a).back(), "1*2|21*|*21");
  // The schedule of the notes does that by itself, and back.
  const ScheduleAnswer shifted = ScheduleOf({"reduce_scatter", "shifted_ring", 3});
  EXPECT_EQ(Pictures(shifted), Pictures(a));
  ScheduleQuestion back{"reduce_scatter", "shifted_ring", 3};
  back.relabel = true;
  EXPECT_EQ(Pictures(ScheduleOf(back)), Pictures(ScheduleOf({"reduce_scatter", "ring", 3})));
}

TEST(ScheduleAnswer, WhatEndsOtherwiseHasNoOtherConvention) {
  const ScheduleAnswer a = ScheduleOf({"broadcast", "binomial", 4});
  EXPECT_FALSE(a.convention.has_value());
  EXPECT_EQ(Pictures(a).front().substr(0, 1), "*");  // the root has it
  ScheduleQuestion q{"broadcast", "binomial", 4};
  q.relabel = true;
  EXPECT_THAT(Answer(q).status().message(), HasSubstr("does not end with one chunk a rank"));
}

// Every algorithm that fits is shown to its end: every cell that the operation promises is final.
TEST(ScheduleAnswer, EveryAlgorithmEndsWithWhatIsPromised) {
  for (const Algorithm& algorithm : AllAlgorithms()) {
    for (const std::int64_t n : {1, 2, 5, 8}) {
      if (!algorithm.Fits(n).ok()) continue;
      const ScheduleAnswer a =
          ScheduleOf({std::string(Name(algorithm.op)), std::string(algorithm.name), n});
      ASSERT_TRUE(a.verdict.ok());
      std::int64_t final = 0, promised = 0, messages = 0;
      std::vector<std::vector<bool>> is_final(n, std::vector<bool>(a.expansion.frames[0].blocks));
      for (const ShownCell& c : a.cells) is_final[c.rank][c.block] = c.final;
      for (const ShownStep& step : a.steps) {
        for (const ShownCell& c : step.cells) is_final[c.rank][c.block] = c.final;
        for (const ShownMessage& m : step.messages) {
          ++messages;
          EXPECT_EQ(m.read.size(), m.written.size());
          EXPECT_GE(m.arrives, &step - a.steps.data());
        }
      }
      for (std::int64_t rank = 0; rank < n; ++rank) {
        for (std::int64_t b = 0; b < a.expansion.frames[0].blocks; ++b) {
          promised += OutHolds(a.expansion.MemberOf(rank), b) ? 1 : 0;
          final += is_final[rank][b] ? 1 : 0;
        }
      }
      EXPECT_EQ(final, promised) << algorithm.name << " " << Name(algorithm.op) << " N=" << n;
      EXPECT_EQ(messages, Prove(a.expansion, false).proof.messages);
    }
  }
}

TEST(ScheduleAnswer, RefusalsSayWhatWouldBeRight) {
  EXPECT_THAT(Answer(ScheduleQuestion{"all_reduce", "ring", 65}).status().message(),
              HasSubstr("give 1 to 64"));
  EXPECT_THAT(Answer(ScheduleQuestion{"all_reduce", "ringg", 4}).status().message(),
              HasSubstr("ring"));
  EXPECT_THAT(Answer(ScheduleQuestion{"all_reduce", "ring", 4, 1}).status().message(),
              HasSubstr("has no root"));
  ScheduleQuestion much{"all_reduce", "ring", 4};
  much.bytes = "2TiB";
  EXPECT_THAT(Answer(much).status().message(), HasSubstr("at most 1TiB"));
}

}  // namespace
}  // namespace chorus::answer
