// chorus run from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// `chorus run -n RANKS OPTIONS... -- sh -c SCRIPT`
ToolOutcome RunScript(int ranks, const std::string& script,
                      const std::vector<std::string>& options = {}) {
  std::vector<std::string> words = {"run", "-n", std::to_string(ranks)};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "sh", "-c", script});
  return RunTool(words);
}

TEST(Run, EachRankIsToldWhoItIs) {
  const ToolOutcome outcome =
      RunScript(3, "echo $RANK of $WORLD_SIZE, here $LOCAL_RANK of $LOCAL_WORLD_SIZE");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(Lines(outcome.out), UnorderedElementsAre("0 of 3, here 0 of 3", "1 of 3, here 1 of 3",
                                                       "2 of 3, here 2 of 3"));
}

TEST(Run, AllRanksMeetAtTheSamePlace) {
  const ToolOutcome outcome = RunScript(3, "echo $MASTER_ADDR:$MASTER_PORT");
  const std::vector<std::string> lines = Lines(outcome.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_THAT(lines[0], StartsWith("127.0.0.1:"));
  EXPECT_EQ(lines[1], lines[0]);
  EXPECT_EQ(lines[2], lines[0]);
}

TEST(Run, TagsEachLineWithItsRank) {
  const ToolOutcome outcome = RunScript(2, "echo a; echo b", {"--tag"});
  EXPECT_THAT(Lines(outcome.out), UnorderedElementsAre("[0] a", "[0] b", "[1] a", "[1] b"));
}

// Rank 2 fails while the others would go on for a minute: its own message comes first, then what
// the tool says, and the others are ended.
TEST(Run, AFailingRankEndsTheRunWithItsOwnMessageFirst) {
  const ToolOutcome outcome =
      RunScript(4, "[ $RANK != 2 ] || { echo rank two has no data >&2; exit 3; }; exec sleep 60");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(Lines(outcome.err),
              ElementsAre("rank two has no data",
                          "chorus run: rank 2 exited with code 3; the others were ended"));
}

TEST(Run, AKilledRankGivesItsSignal) {
  const ToolOutcome outcome = RunScript(2, "[ $RANK != 1 ] || kill -9 $$; exec sleep 60");
  EXPECT_EQ(outcome.exit_code, 128 + 9);
  EXPECT_THAT(Lines(outcome.err),
              ElementsAre("chorus run: rank 1 was killed by signal 9; the others were ended"));
}

TEST(Run, TheOthersShrinkAndFinishIfAsked) {
  const ToolOutcome outcome = RunTool({"run", "-n", "4", "--keep-going", CHORUS_SHRINK_PROGRAM});
  EXPECT_EQ(outcome.exit_code, 128 + 9);
  EXPECT_THAT(Lines(outcome.out),
              UnorderedElementsAre("rank 0 of 3 was 0, sum 13", "rank 1 of 3 was 2, sum 13",
                                   "rank 2 of 3 was 3, sum 13"));
  ASSERT_FALSE(Lines(outcome.err).empty());
  EXPECT_EQ(Lines(outcome.err).back(),
            "chorus run: rank 1 was killed by signal 9; 3 of 4 ranks ended with code 0");
}

TEST(Run, UsageNamesTheProgram) {
  const ToolOutcome outcome = RunTool({"run", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr(" run [OPTIONS] PROGRAM [ARGUMENTS...]\n"));
}

TEST(Run, JsonSaysWhichRankFailedAndHow) {
  const ToolOutcome outcome = RunScript(2, "[ $RANK = 0 ] || exit 7; exec sleep 60", {"--json"});
  EXPECT_EQ(outcome.exit_code, 7);
  const auto json = nlohmann::json::parse(outcome.err, nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome.err;
  EXPECT_EQ(json["exit_code"], 7);
  EXPECT_EQ(json["failure"], "rank 1 exited with code 7; the others were ended");
}

TEST(Run, RefusesBadInput) {
  // Executable, but nothing that the system can run.
  const std::string notes = WriteTemporary("notes", "not a program");
  std::filesystem::permissions(notes, std::filesystem::perms::owner_all);
  ExpectBadInput({"run", "-n", "2", notes},
                 "run: '" + notes + "' cannot be run: Exec format error");
  ExpectBadInput({"run"}, "run: no program is given; chorus run -n 2 ./program does");
  ExpectBadInput({"run", "/no/such/program"}, "run: there is no program '/no/such/program'");
  for (const char* ranks : {"0", "-1", "1025", "many"}) {
    const ToolOutcome outcome = RunTool({"run", "-n", ranks, "true"});
    EXPECT_EQ(outcome.exit_code, 2) << ranks;
    EXPECT_EQ(Lines(outcome.err).size(), 1U) << outcome.err;
    EXPECT_THAT(outcome.err, StartsWith("chorus run: "));
  }
}

}  // namespace
}  // namespace chorus
