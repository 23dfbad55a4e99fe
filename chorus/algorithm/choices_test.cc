#include "chorus/algorithm/choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chorus {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kText =
    "[reduce_scatter.4]\n"
    "\"0 B\" = \"ring\"\n"
    "\n"
    "[all_reduce.2]\n"
    "\"0 B\" = \"one_shot\"\n"
    "\"32 KiB\" = \"direct\"\n"
    "\"1.5 MiB\" = \"ring\"\n";

Choices Parsed(std::string_view text) {
  Result<Choices> choices = Choices::Parse(text);
  EXPECT_TRUE(choices.ok()) << choices.status().message();
  return choices.ok() ? *choices : Choices();
}

std::string_view Chosen(const Choices& choices, OpKind op, std::int64_t n, std::int64_t bytes) {
  return choices.Choose(op, n, Bytes(bytes)).name;
}

TEST(Choices, TheLastRowThatBeginsBelowIsChosen) {
  const Choices choices = Parsed(kText);
  EXPECT_EQ(Chosen(choices, OpKind::kAllReduce, 2, 0), "one_shot");
  EXPECT_EQ(Chosen(choices, OpKind::kAllReduce, 2, (32 << 10) - 1), "one_shot");
  EXPECT_EQ(Chosen(choices, OpKind::kAllReduce, 2, 32 << 10), "direct");
  EXPECT_EQ(Chosen(choices, OpKind::kAllReduce, 2, std::int64_t{1} << 40), "ring");
  EXPECT_EQ(Chosen(choices, OpKind::kReduceScatter, 4, 8), "ring");
}

TEST(Choices, WhatNoRowNamesIsTheBuiltInRule) {
  const Choices choices = Parsed(kText);
  for (const OpKind op : kAllOpKinds) {
    for (const std::int64_t n : {1, 3, 17}) {
      for (const std::int64_t bytes : {0, 4096, 1 << 24}) {
        EXPECT_EQ(&choices.Choose(op, n, Bytes(bytes)), &ChooseAlgorithm(op, n, Bytes(bytes)));
        EXPECT_EQ(&Choices().Choose(op, n, Bytes(bytes)), &ChooseAlgorithm(op, n, Bytes(bytes)));
      }
    }
  }
}

TEST(Choices, RankOrderTakesNoRowThatAddsInAnotherOrder) {
  const Choices choices = Parsed(kText);
  const Algorithm& ring = choices.Choose(OpKind::kAllReduce, 2, Bytes(4 << 20), true);
  EXPECT_EQ(ring.Build().order(), ReduceOrder::kRank) << ring.name;
  EXPECT_EQ(choices.Choose(OpKind::kAllReduce, 2, Bytes(64 << 10), true).name, "direct");
}

TEST(Choices, TextIsReadBackAsItIsWritten) {
  const Choices choices = Parsed(kText);
  EXPECT_EQ(Parsed(choices.ToString()), choices);
  EXPECT_EQ(*Choices::Create(choices.rows()), choices);
  EXPECT_EQ(choices.rows().size(), 4U);
  const Choices odd = Parsed("[all_reduce.2]\n\"0 B\" = \"ring\"\n\"123457B\" = \"direct\"\n");
  EXPECT_EQ(Parsed(odd.ToString()), odd) << odd.ToString();
  EXPECT_NE(Parsed("[all_reduce.2]\n\"0 B\" = \"ring\"\n"), choices);
  EXPECT_EQ(Choices().ToString(), "");
}

TEST(Choices, CommentsAndEmptyLinesAreSkipped) {
  EXPECT_EQ(Parsed("# measured\n\n  [all_reduce.2] # two\n \"0B\"=\"ring\"  # all\n\n"),
            Parsed("[all_reduce.2]\n\"0 B\" = \"ring\"\n"));
  EXPECT_TRUE(Parsed("# nothing\n").empty());
}

TEST(Choices, AWrongLineIsShown) {
  const auto message = [](std::string_view text) {
    return Choices::Parse(text).status().message();
  };
  EXPECT_THAT(message("[all_sum.2]\n"), HasSubstr("there is no operation 'all_sum'"));
  EXPECT_THAT(message("\"0 B\" = \"ring\"\n"), HasSubstr("like [all_reduce.2], are missing"));
  EXPECT_THAT(message("[all_reduce.2]\n\"0 B\" = \"rong\"\n"),
              HasSubstr("no algorithm 'rong' for all_reduce; there is "));
  EXPECT_THAT(message("[all_reduce.2]\n\"0 B\" = \"rong\"\n"), HasSubstr("line 2"));
  EXPECT_THAT(message("[all_reduce.2]\n\"little\" = \"ring\"\n"), HasSubstr("little"));
  EXPECT_THAT(message("[all_reduce.2]\n\"8 B\" = \"ring\"\n"),
              HasSubstr("all_reduce of 2 ranks begins at 8 B; it must begin at 0 B"));
  EXPECT_THAT(message("[all_reduce.2]\n\"0 B\" = \"ring\"\n\"0B\" = \"direct\"\n"),
              HasSubstr("all_reduce of 2 ranks from 0 B is there twice"));
  EXPECT_THAT(message("[all_reduce.2]\n\"0 B\" = \"ring\" too\n"), HasSubstr("only a comment"));
  EXPECT_FALSE(Choices::Parse("[all_reduce.0]\n\"0 B\" = \"ring\"\n").ok());
}

TEST(Choices, AnAlgorithmOfAnotherOperationIsRefused) {
  const auto gather = *FindAlgorithm("ring", OpKind::kAllGather);
  EXPECT_FALSE(Choices::Create({{OpKind::kAllReduce, 2, Bytes(0), gather}}).ok());
  EXPECT_FALSE(Choices::Create({{OpKind::kAllReduce, 2, Bytes(0), nullptr}}).ok());
}

}  // namespace
}  // namespace chorus
