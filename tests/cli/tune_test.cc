// chorus tune from outside, and how times become choices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "chorus/algorithm/choices.h"
#include "chorus/apps/cli/tune_choices.h"
#include "chorus/base/test_path_test.h"
#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

cli::TunedTime Time(std::int64_t bytes, const char* algorithm, double us) {
  return {OpKind::kAllReduce, 2, Bytes(bytes),
          FindAlgorithm(algorithm, OpKind::kAllReduce).value().get(), us};
}

TEST(ChooseFastest, TheFastestIsTakenAndChangesBetweenSizes) {
  const Result<Choices> choices = cli::ChooseFastest(
      {Time(4096, "one_shot", 2), Time(4096, "ring", 4), Time(4096, "direct", 3),
       Time(65536, "one_shot", 30), Time(65536, "ring", 9), Time(65536, "direct", 20)},
      Bytes(65536));
  ASSERT_TRUE(choices.ok()) << choices.status().message();
  EXPECT_EQ(choices->ToString(), "[all_reduce.2]\n\"0 B\" = \"one_shot\"\n\"16 KiB\" = \"ring\"\n");
}

TEST(ChooseFastest, WhatIsNotClearlyFasterThanTheBuiltInRuleIsNotTaken) {
  const std::string rule(ChooseAlgorithm(OpKind::kAllReduce, 2, Bytes(1 << 20)).name);
  const std::string other = rule == "ring" ? "direct" : "ring";
  const auto chosen = [&](double us) {
    const Result<Choices> choices = cli::ChooseFastest(
        {Time(1 << 20, rule.c_str(), 100), Time(1 << 20, other.c_str(), us)}, Bytes(1 << 20));
    return choices->Choose(OpKind::kAllReduce, 2, Bytes(1 << 20)).name;
  };
  EXPECT_EQ(chosen(96), rule);
  EXPECT_EQ(chosen(90), other);
}

TEST(ChooseFastest, WhereTimesEndTheBuiltInRuleGoesOn) {
  const std::vector<cli::TunedTime> times = {Time(8, "ring", 1), Time(8, "one_shot", 2)};
  const Result<Choices> choices = cli::ChooseFastest(times, Bytes(1 << 20));
  ASSERT_TRUE(choices.ok()) << choices.status().message();
  EXPECT_EQ(choices->Choose(OpKind::kAllReduce, 2, Bytes(8)).name, "ring");
  for (std::int64_t bytes = 16; bytes <= std::int64_t{1} << 30; bytes *= 2) {
    EXPECT_EQ(choices->Choose(OpKind::kAllReduce, 2, Bytes(bytes)).name,
              ChooseAlgorithm(OpKind::kAllReduce, 2, Bytes(bytes)).name)
        << bytes;
  }
  const auto lines = cli::Unmeasured(times, {2}, Bytes(1 << 20));
  EXPECT_EQ(std::ranges::count(lines, "all_reduce on 2 ranks: to 8 B"), 1);
  EXPECT_EQ(std::ranges::count(lines, "broadcast on 2 ranks: not at all"), 1);
  const auto when_smaller = cli::Unmeasured(times, {2}, Bytes(8));
  EXPECT_EQ(when_smaller.size() + 1, lines.size()) << "all_reduce was measured";
}

TEST(ChooseFastest, TextIsChoicesWithComments) {
  const std::vector<cli::TunedTime> times = {Time(4096, "one_shot", 2.5), Time(4096, "ring", 4)};
  const Result<Choices> choices = cli::ChooseFastest(times, Bytes(4096));
  const std::string text = cli::TuningText("# head\n", *choices, times);
  EXPECT_THAT(text, HasSubstr("# all_reduce.2    4 KiB: one_shot 2.5 ring 4\n"));
  EXPECT_EQ(*Choices::Parse(text), *choices);
  EXPECT_EQ(*cli::ParseLine(cli::ToLine(times[0])), times[0]);
  EXPECT_FALSE(cli::ParseLine("all_reduce two").ok());
}

TEST(Tune, StoresWhatProcessesThenUse) {
  const std::string folder = TestPath("tune");
  const ToolOutcome outcome =
      RunTool({"tune", "-n", "2,3", "--seconds", "0.5", "--out", folder, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  const std::string text = ReadAll(json["file"]);
  EXPECT_THAT(text, HasSubstr("# Written by chorus tune"));
  const Result<Choices> choices = Choices::Parse(text);
  ASSERT_TRUE(choices.ok()) << choices.status().message() << "\n" << text;
  EXPECT_EQ(choices->rows().size(), json["choices"].size());
  // How far half a second reaches depends on what else the machine does.
  EXPECT_THAT(choices->ToString(), HasSubstr("]\n\"0 B\" = "));

  setenv("CHORUS_TUNING", folder.c_str(), 1);
  const ToolOutcome bench = RunTool({"bench", "all", "-b", "4K", "-e", "4K", "-n", "1", "-g", "3"});
  setenv("CHORUS_TUNING", "off", 1);
  EXPECT_EQ(bench.exit_code, 0) << bench.out << bench.err;
}

TEST(Tune, AFolderThatCannotBeMadeIsRefused) {
  ExpectBadInput(
      {"tune", "--out", "/proc/chorus"},
      "'/proc/chorus' cannot be made (No such file or directory); give another folder with "
      "--out");
}

}  // namespace
}  // namespace chorus
