// chorus bench from outside: its lines are those of nccl-tests, and what is wrong is found.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "chorus/probe/cores.h"
#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The words of each line that is neither empty nor a comment: what parsers of nccl-tests read.
std::vector<std::vector<std::string>> Rows(const std::string& out) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : Lines(out)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    rows.emplace_back(std::istream_iterator<std::string>(words),
                      std::istream_iterator<std::string>());
  }
  return rows;
}

// A built-in schedule's text with one change.
std::string ScheduleWith(const std::string& from, const std::string& to) {
  std::string text = RunTool({"show", "direct", "all_reduce", "--text"}).out;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << text;
  return WriteTemporary("bench.schedule", text.replace(at, from.size(), to));
}

TEST(Bench, PrintsTheColumnsAndTheFooterOfNcclTests) {
  const ToolOutcome outcome =
      RunTool({"bench", "all_reduce", "-b", "8", "-e", "32K", "-f", "64", "-n", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto rows = Rows(outcome.out);
  ASSERT_EQ(rows.size(), 3U) << outcome.out;
  // size count type redop root | time algbw busbw #wrong | time algbw busbw #wrong | of bound,
  // algorithm
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 15U) << outcome.out;
    EXPECT_GT(std::atof(row[5].c_str()), 0);
    EXPECT_EQ(row[8], "0");
    EXPECT_EQ(row[12], "0");
  }
  EXPECT_THAT(std::vector<std::string>(rows[1].begin(), rows[1].begin() + 5),
              ElementsAre("512", "128", "float", "sum", "-1"));
  const std::vector<std::string> lines = Lines(outcome.out);
  EXPECT_THAT(lines, Contains("# Collective test starting: all_reduce"));
  EXPECT_THAT(lines, Contains("# Out of bounds values : 0 OK"));
  EXPECT_THAT(lines, Contains(StartsWith("# Avg bus bandwidth    : ")));
  EXPECT_THAT(lines, Contains("# Collective test concluded"));
  EXPECT_THAT(lines, Contains("# memory: ordinary calls: sync algorithms: the built-in rule"));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("#  Rank  1 "), HasSubstr(" Pid "))));
}

TEST(Bench, AllMeasuresEveryOperationAndSkipsWhatHasNoInPlaceForm) {
  const ToolOutcome outcome = RunTool({"bench", "all", "-b", "96", "-e", "96", "-g", "3", "-n", "1",
                                       "--threads", "--strict", "-d", "bf16"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const auto rows = Rows(outcome.out);
  EXPECT_EQ(rows.size(), 11U) << outcome.out;
  EXPECT_THAT(rows, Contains(ElementsAre("96", "16", "bfloat16", "none", "-1", testing::_,
                                         testing::_, testing::_, "0", "N/A", "N/A", "N/A", "N/A",
                                         testing::_, "direct")));
  EXPECT_EQ(outcome.out.find("WRONG"), std::string::npos) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("ULP (at most 0.51) ok"));  // bf16 is rounded once
}

TEST(Bench, EveryTypeAndReductionSumsExactly) {
  const ToolOutcome outcome = RunTool({"bench", "all_reduce", "-b", "1K", "-e", "1K", "-g", "4",
                                       "-n", "1", "--threads", "-d", "all", "-o", "all"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("  f8e4m3    prod"));
  EXPECT_THAT(outcome.out, HasSubstr("   int64     avg"));
  EXPECT_THAT(outcome.out, HasSubstr("complex64  mulsum"));
}

TEST(Bench, AWrongScheduleIsCountedAndEndsWithOne) {
  // In the second phase each rank tells what it put in instead of what it summed.
  const std::string file = ScheduleWith("f[q]: send out[r]", "f[q]: send in[r]");
  const ToolOutcome outcome = RunTool(
      {"bench", "all_reduce", "--schedule", file, "-b", "4K", "-e", "4K", "-n", "1", "-c", "1"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
  const auto rows = Rows(outcome.out);
  ASSERT_EQ(rows.size(), 1U) << outcome.out;
  // Half of each rank's 1024 elements came from the other; a few are right by chance.
  EXPECT_GT(std::stoi(rows[0][8]), 900);
  EXPECT_THAT(outcome.out, HasSubstr(" FAILED\n"));
}

TEST(Bench, ASchedulesOwnTextRuns) {
  const std::string file = ScheduleWith("tiles 2", "tiles 3");
  const ToolOutcome outcome = RunTool({"bench", "all_reduce", "--schedule", file, "-b", "64", "-e",
                                       "64", "-n", "1", "--strict", "-g", "3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

// Processes and threads alike: one file, a track for each rank.
TEST(Bench, WritesATrace) {
  const std::string file = WriteTemporary("trace.json", "");
  for (const bool threads : {false, true}) {
    std::vector<std::string> words = {"bench", "all_reduce", "-g",      "2", "-b", "64K",
                                      "-e",    "64K",        "-n",      "1", "-w", "1",
                                      "-c",    "1",          "--trace", file};
    if (threads) words.emplace_back("--threads");
    const ToolOutcome outcome = RunTool(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::ifstream stream(file);
    const auto trace = nlohmann::json::parse(stream);
    int calls[2] = {};
    int steps[2] = {};
    for (const auto& event : trace) {
      const int rank = event["tid"];
      if (event["ph"] == "i") ++steps[rank];
      if (event["ph"] != "X") continue;
      EXPECT_GE(event["dur"].get<double>(), 0);
      if (event["name"].get<std::string>().starts_with("all_reduce #")) ++calls[rank];
    }
    EXPECT_GT(calls[0], 3);
    EXPECT_EQ(calls[0], calls[1]);
    EXPECT_GT(steps[0], 10);
    EXPECT_GT(steps[1], 10);
    EXPECT_FALSE(std::filesystem::exists(file + ".0"));
  }
}

TEST(Bench, WritesJsonAndAPicture) {
  const std::string json_file = WriteTemporary("bench.json", "");
  const std::string picture = WriteTemporary("bench.svg", "");
  const ToolOutcome outcome = RunTool({"bench", "all_gather", "-b", "64", "-e", "32K", "-f", "8",
                                       "-n", "1", "-J", json_file, "--plot", picture, "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json, nlohmann::json::parse(ReadAll(json_file)));
  ASSERT_EQ(json["rows"].size(), 4U);
  EXPECT_EQ(json["rows"][1]["size_bytes"], 512);
  EXPECT_EQ(json["rows"][1]["count"], 64);
  EXPECT_EQ(json["rows"][1]["out_of_place"]["wrong"], 0);
  EXPECT_EQ(json["rows"][1]["fraction_of_bound"], nullptr);
  EXPECT_GT(json["rows"][3]["fraction_of_bound"], 0);
  EXPECT_THAT(ReadAll(picture), AllOf(StartsWith("<svg "), HasSubstr("bus bandwidth (GB/s)"),
                                      HasSubstr("out of place"), HasSubstr("<polyline ")));
}

TEST(Bench, ComparesAlgorithmsSizeBySize) {
  const ToolOutcome outcome =
      RunTool({"bench", "all_reduce", "-b", "1K", "-e", "5K", "-f", "2", "-n", "1", "--algorithm",
               "ring,direct", "--bind-to", "none"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("maxBytes 5120 step: 2(factor)"),
                                 HasSubstr("calls: sync algorithms: ring,direct\n")));
  std::vector<std::string> ran;
  for (const auto& row : Rows(outcome.out)) ran.push_back(row[0] + " " + row.back());
  EXPECT_THAT(ran, ElementsAre("1024 ring", "1024 direct", "2048 ring", "2048 direct", "4096 ring",
                               "4096 direct"));
}

TEST(Bench, TellsRanksThatShareACore) {
  const ToolOutcome outcome = RunTool({"bench", "barrier", "-g", "9", "-n", "1", "--threads"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  if (UsableCores() < 9) {
    EXPECT_THAT(outcome.out, HasSubstr("#  9 ranks share "));
  }
}

TEST(Bench, SymmetricMemoryAndAllKindsOfCalls) {
  for (const char* calls : {"sync", "async", "list", "persistent"}) {
    const ToolOutcome outcome =
        RunTool({"bench", "all", "-b", "3K", "-e", "3K", "-g", "3", "-n", "10", "-m", "2", "-u",
                 "3", calls[0] == 'a' ? "--symmetric" : "-R2", "--calls", calls, "--strict"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_EQ(Rows(outcome.out).size(), 11U) << outcome.out;
    EXPECT_THAT(Lines(outcome.out),
                Contains(fmt::format("# memory: symmetric calls: {} algorithms: the built-in rule",
                                     calls)));
  }
  const ToolOutcome json = RunTool({"bench", "all_reduce", "-b", "64", "-e", "64", "-n", "1",
                                    "--calls", "persistent", "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["memory"], "ordinary") << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["calls"], "persistent") << json.err;
  EXPECT_EQ(RunTool({"bench", "all_reduce", "--calls", "loud"}).exit_code, 2);
}

TEST(Bench, RunsWithinAJobOfOthers) {
  const ToolOutcome outcome = RunTool({"run", "-n", "3", "--", CHORUS_TOOL, "bench", "broadcast",
                                       "-b", "16", "-e", "16", "-n", "1", "-r", "all"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Rows(outcome.out).size(), 3U) << outcome.out;  // one a root
}

TEST(Bench, LessBandwidthThanAskedIsAFailure) {
  setenv("NCCL_TESTS_MIN_BW", "1000000", 1);
  const ToolOutcome outcome = RunTool({"bench", "all_reduce", "-b", "8", "-e", "8", "-n", "1"});
  unsetenv("NCCL_TESTS_MIN_BW");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
  EXPECT_THAT(Lines(outcome.out),
              Contains(AllOf(StartsWith("# Avg bus bandwidth"), HasSubstr("FAILED"))));
}

TEST(Bench, RefusesWhatItCannotMeasure) {
  ExpectBadInput({"bench", "all_reduce", "-b", "8", "-e", "4"},
                 "-b 8 is more than -e 4; the first size must not be larger than the last");
  ExpectBadInput({"bench", "all_reduce", "-b", "many"},
                 "'many' is no size; give 8, 32K, 1.5M, 1G or 4KiB, 1MB");
  ExpectBadInput({"bench", "broadcast", "-r", "2"}, "-r 2 is no rank; give 0 to 1, or all");
  ExpectBadInput({"bench", "scan", "-o", "avg"},
                 "-o avg: scan has no average over the ranks up to one; give -o sum");
  ExpectBadInput({"bench", "all_reduce", "-d", "bool", "-o", "avg"},
                 "-o avg -d bool: bools have no average; sum is or, prod is and");
  const ToolOutcome outcome = RunTool({"bench", "all_reduce", "-d", "f33"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("there is no such type to measure; there is f32, f64, f16"));
}

}  // namespace
}  // namespace chorus
