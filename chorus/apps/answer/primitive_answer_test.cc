#include "chorus/apps/answer/primitive_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chorus/algorithm/algorithm.h"
#include "chorus/verify/watch.h"

namespace chorus::answer {
namespace {

using ::testing::HasSubstr;

TEST(PrimitiveAnswer, AllToAllIsATransposition) {
  const Result<PrimitiveAnswer> a = Answer(PrimitiveQuestion{"all_to_all", 2});
  ASSERT_TRUE(a.ok());
  const Json json = ToJson(*a);
  EXPECT_EQ(json["before"][1].dump(),
            R"([{"block":2,"ranks":[1],"value":"x1[2]"},{"block":3,"ranks":[1],"value":"x1[3]"}])");
  EXPECT_EQ(json["after"][1].dump(),
            R"([{"block":1,"ranks":[0],"value":"x0[1]"},{"block":3,"ranks":[1],"value":"x1[3]"}])");
  EXPECT_EQ(json["names"]["mpi"], "MPI_Alltoall");
}

TEST(PrimitiveAnswer, ExScanGivesRankZeroNothing) {
  const Result<PrimitiveAnswer> a = Answer(PrimitiveQuestion{"exscan", 3});
  ASSERT_TRUE(a.ok());
  const Json json = ToJson(*a);
  EXPECT_EQ(json["after"][0].size(), 0u);
  EXPECT_EQ(json["after"][2][0]["value"], "x0[0] + x1[0]");
  EXPECT_TRUE(json["names"]["nccl"].is_null());
}

// The definition and what an algorithm ends with say the same.
TEST(PrimitiveAnswer, WhatADirectAlgorithmEndsWithIsWhatIsPromised) {
  for (const OpKind op : kAllOpKinds) {
    const Algorithm& algorithm = ChooseAlgorithm(op, 4, Bytes(1024));
    const Result<Expansion> e = Expand(algorithm.Build(), 4);
    ASSERT_TRUE(e.ok());
    const Result<WatchedRun> run = Watch(*e);
    ASSERT_TRUE(run.ok()) << run.status().ToString();
    const Result<PrimitiveAnswer> a = Answer(PrimitiveQuestion{std::string(Name(op)), 4});
    ASSERT_TRUE(a.ok());
    if (e->frames[0].blocks != std::ssize(a->block_elements)) continue;  // splits otherwise
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      for (const auto& step : run->writes[rank]) {
        for (const HeldValue& value : step) {
          if (!value.promised || value.chunk.buffer != BufferKind::kOut) continue;
          bool found = false;
          for (const PrimitiveBlock& block : a->after[rank]) {
            found = found || (block.block == value.chunk.block &&
                              block.of.last - block.of.first + 1 == std::ssize(value.ranks) &&
                              block.of.first == value.ranks.front());
          }
          EXPECT_TRUE(found) << Name(op) << " rank " << rank << " " << value.formula;
        }
      }
    }
  }
}

TEST(PrimitiveAnswer, CountsAreOfVariants) {
  PrimitiveQuestion q{"gather", 3};
  q.counts = {4, 0, 2};
  const Result<PrimitiveAnswer> a = Answer(q);
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(ToJson(*a)["block_elements"].dump(), "[4,0,2]");
  q.counts = {4, 0};
  EXPECT_THAT(Answer(q).status().message(), HasSubstr("takes 3"));
  q = {"all_reduce", 2};
  q.counts = {1, 2};
  EXPECT_THAT(Answer(q).status().message(), HasSubstr("no variant with counts"));
}

}  // namespace
}  // namespace chorus::answer
