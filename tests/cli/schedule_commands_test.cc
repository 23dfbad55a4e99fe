// chorus show and chorus verify from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "chorus/algorithm/algorithm.h"
#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// "direct, ring, ...", each once.
std::string NamesOf(const std::vector<const Algorithm*>& algorithms) {
  std::string names;
  for (const Algorithm* algorithm : algorithms) {
    const std::string name(algorithm->name);
    if ((", " + names + ", ").find(", " + name + ", ") != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

std::string NamesOfAll() {
  std::vector<const Algorithm*> all;
  for (const Algorithm& algorithm : AllAlgorithms()) all.push_back(&algorithm);
  return NamesOf(all);
}

TEST(Show, PrintsTheScheduleAndWhoSendsWhat) {
  const ToolOutcome shown = RunTool({"show", "ring", "all_reduce", "-n", "4"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_EQ(shown.err, "");
  EXPECT_THAT(shown.out, StartsWith("ring all_reduce: ring reduce_scatter, then ring all_gather"));
  EXPECT_THAT(shown.out, HasSubstr("bytes sent per rank: 2(N - 1)/N V"));
  EXPECT_THAT(shown.out, HasSubstr("schedule ring all_reduce\n  blocks N\n"));
  EXPECT_THAT(shown.out,
              HasSubstr("round  rank 0 sends  rank 1 sends  rank 2 sends  rank 3 sends\n"
                        "    1  in[3] -> 1    in[0] -> 2    in[1] -> 3    in[2] -> 0\n"
                        "    2  acc[2] -> 1   acc[3] -> 2   acc[0] -> 3   acc[1] -> 0\n"));
}

TEST(Show, OneRankShowsEveryStepWithWhatItWaitsFor) {
  const ToolOutcome shown =
      RunTool({"show", "binomial", "reduce", "-n", "6", "--root", "4", "--rank", "4"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.out, HasSubstr("Rank 4 of 6, root 4, one tile; it sends 0 messages."));
  EXPECT_THAT(shown.out,
              HasSubstr("   1  a[0]: reduce acc[0 : 0] = scaled in[0] + scaled tmp[0 : 0]  after "
                        "v[0]\n"));
}

TEST(Show, ManyRanksAreListed) {
  const ToolOutcome shown = RunTool({"show", "direct", "all_gather", "-n", "12"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.out, HasSubstr("round 1:  0: in[0] -> 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11  1: "));
  for (const std::string& line : Lines(shown.out)) EXPECT_LE(line.size(), 120U) << line;
}

TEST(Show, JsonHasEveryStep) {
  const ToolOutcome shown = RunTool({"show", "direct", "reduce_scatter", "-n", "3", "--json"});
  EXPECT_EQ(shown.exit_code, 0);
  const auto json = nlohmann::json::parse(shown.out);
  EXPECT_EQ(json["name"], "direct");
  EXPECT_EQ(json["expansion"]["order"], "rank");
  EXPECT_EQ(json["expansion"]["ranks"].size(), 3U);
  const auto last = json["expansion"]["ranks"][1].back();
  EXPECT_EQ(last["label"], "a[2]");
  EXPECT_EQ(last["finish"], true);
  EXPECT_EQ(last["after"], (std::vector<int>{3, 4}));
  EXPECT_EQ(last["chunks"][1]["slot"], 0);
}

TEST(Show, BadInput) {
  ExpectBadInput({"show", "rign", "all_reduce"}, "no algorithm 'rign' for all_reduce; there is " +
                                                     NamesOfAlgorithms(OpKind::kAllReduce));
  EXPECT_THAT(RunTool({"show", "hierarchical:2x2", "all_gather"}).err,
              HasSubstr("'hierarchical:2x2': 'x' is not expected; write hierarchical:L"));
  ExpectBadInput(
      {"show", "pipelined_hierarchical", "all_reduce"},
      "pipelined_hierarchical of all_reduce is a formula, for chorus estimate, and has no "
      "schedule; those that have one are " +
          NamesOfAlgorithms(OpKind::kAllReduce));
  ExpectBadInput({"show", "ring", "allreduce"},
                 "there is no operation 'allreduce'; did you mean 'all_reduce'?");
  ExpectBadInput({"show", "ring", "all_reduce", "-n", "0"},
                 "-n 0 is out of range; give 1 to 100000");
  ExpectBadInput({"show", "ring", "all_reduce", "-n", "4", "--rank", "4"},
                 "--rank 4 is out of range; give 0 to 3");
  ExpectBadInput({"show", "binomial", "reduce", "-n", "4", "--root", "9"},
                 "--root 9 is out of range; give 0 to 3");
  ExpectBadInput({"show", "ring", "all_reduce", "--root", "1"},
                 "all_reduce has no root; leave --root out");
  ExpectBadInput({"show", "ring", "all_reduce", "-n", "65"},
                 "65 ranks are too many to show together (at most 64); add --rank R for one of "
                 "them, or --text");
}

TEST(Verify, ProvesAllAndCounts) {
  const ToolOutcome proved = RunTool({"verify", "all", "-n", "1..6"});
  EXPECT_EQ(proved.exit_code, 0);
  const std::string all = std::to_string(AllAlgorithms().size());
  EXPECT_THAT(proved.out, HasSubstr("ring all_reduce              N = 1..6  proved: 12 cases, "));
  EXPECT_THAT(proved.out,
              HasSubstr(all + " of " + all + " schedules proved, N = 1..6, every root"));
  const ToolOutcome one = RunTool({"verify", "ring", "all_gather", "-n", "4"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, HasSubstr("1 of 1 schedules proved, N = 4"));
}

TEST(Verify, ReadsWhatShowPrints) {
  const ToolOutcome text = RunTool({"show", "one_shot", "all_reduce", "--text"});
  const std::string file = WriteTemporary("good.schedule", text.out);
  const ToolOutcome proved = RunTool({"verify", "--file", file, "-n", "1..5", "--json"});
  EXPECT_EQ(proved.exit_code, 0);
  const auto json = nlohmann::json::parse(proved.out);
  EXPECT_EQ(json[0]["proved"], true);
  EXPECT_EQ(json[0]["cases"], 10);
}

TEST(Verify, AWrongScheduleShowsItsFirstWrongStep) {
  std::string text = RunTool({"show", "one_shot", "all_reduce", "--text"}).out;
  // Without waiting for its sends, the sum overwrites in place what is being sent.
  for (std::size_t at; (at = text.find(", s[*]")) != std::string::npos;) text.erase(at, 6);
  const std::string file = WriteTemporary("wrong.schedule", text);
  const ToolOutcome wrong = RunTool({"verify", "--file", file, "-n", "1..5"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.out, HasSubstr("one_shot all_reduce          N = 2, in place  WRONG: rank 0, "
                                   "a[1]: reduce out[0] = scaled in[0] + scaled tmp[0 : 0] finish: "
                                   "it writes memory that s[1] reads"));
  EXPECT_THAT(wrong.out, HasSubstr("0 of 1 schedules proved"));
}

TEST(Verify, AFileStandsInsteadOfAnAlgorithm) {
  const ToolOutcome both = RunTool({"verify", "ring", "--file", "my.schedule"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_EQ(both.out, "");
  EXPECT_THAT(both.err, HasSubstr("ALGORITHM excludes --file"));
}

TEST(Verify, BadInput) {
  ExpectBadInput({"verify", "ring", "-n", "9..4"},
                 "-n '9..4' is no number of ranks; give 1 to 128, or a range such as 1..32");
  ExpectBadInput({"verify", "ring", "-n", "0"},
                 "-n '0' is no number of ranks; give 1 to 128, or a range such as 1..32");
  ExpectBadInput({"verify", "tree"}, "no algorithm 'tree'; there is all, " + NamesOfAll());
  ExpectBadInput({"verify", "--file", "/no/such.schedule"},
                 "schedule '/no/such.schedule' cannot be read (No such file or directory); give "
                 "the path of a text file");
  const std::string file = WriteTemporary("bad.schedule", "schedule x barrier blocks 0\nbegun");
  ExpectBadInput({"verify", "--file", file},
                 file + ": 2:1: expected 'begin' before the steps, found 'begun'");
}

}  // namespace
}  // namespace chorus
