#include "chorus/train/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "chorus/collective/run_ranks.h"
#include "chorus/train/trainer.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

// "ab ab ab ..." with a rare "c": 600 characters, 4 different.
std::string Pattern() {
  std::string text;
  while (text.size() < 600) text += text.size() % 100 < 3 ? "ac " : "ab ";
  return text;
}

TrainConfig Config(const std::string& strategy, const std::string& mesh,
                   const std::vector<std::string>& more = {}) {
  const std::string toml =
      "[data]\nsource = 'unused'\nheld_out = 0.2\n"
      "[model]\nwindow = 3\nwidth = 8\nhidden = 12\nblocks = 1\n"
      "[mesh]\n" +
      mesh + "\n[strategy]\nname = '" + strategy +
      "'\n"
      "[optimizer]\nlearning_rate = 0.02\nwarmup_steps = 3\n"
      "[train]\nbatch = 9\nsteps = 25\ndtype = 'f64'\nevaluate_every = 10\n"
      "evaluate_samples = 30\nsample_characters = 40\nprompt = 'ab'\n";
  const Result<TrainConfig> config = ParseTrainConfig(toml, "test.toml", more);
  EXPECT_TRUE(config.ok()) << config.status().message();
  return *config;
}

struct Run {
  TrainReport report;
  std::vector<TrainProgress> progress;
};

// Trains on threads; what rank 0 saw. Empty if a rank failed.
std::optional<Run> RunOn(const TrainConfig& config) {
  Run run;
  const Status status = RunRanks(
      static_cast<int>(config.mesh.size()), RankKind::kThreads, [&](Group& group) -> Status {
        CHORUS_ASSIGN_OR_RETURN(Text text,
                                Text::Create(Pattern(), config.data.held_out, config.model.window));
        CHORUS_ASSIGN_OR_RETURN(const auto trainer, Trainer::Create(config, std::move(text), group,
                                                                    {.kernels = KernelSet::kPlain,
                                                                     .poison_memory = true}));
        std::vector<TrainProgress> seen;
        CHORUS_ASSIGN_OR_RETURN(
            TrainReport report,
            RunTraining(*trainer, config, [&](const TrainProgress& now) { seen.push_back(now); }));
        if (group.rank() == 0) run = {std::move(report), std::move(seen)};
        return OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return std::nullopt;
  return run;
}

TEST(RunTrainingTest, LearnsReportsAndCountsWhatWasPredicted) {
  const auto run = RunOn(Config("data", "X=2"));
  ASSERT_TRUE(run.has_value());
  const TrainReport& report = run->report;
  EXPECT_EQ(report.steps, 25);
  EXPECT_LT(report.held_out, 0.7 * std::log(4.0));
  EXPECT_EQ(report.sample.size(), 40U);
  EXPECT_EQ(report.sample.find_first_not_of("abc "), std::string::npos);
  ASSERT_EQ(report.ranks.size(), 2U);
  EXPECT_TRUE(report.equal());
  EXPECT_GT(report.ranks[1].sent.at({ProgramOpKind::kAllReduce, "X"}).counted, Bytes(0));
  EXPECT_GT(report.ranks[0].products.counted, report.ranks[1].products.counted);  // 5 and 4 samples

  ASSERT_EQ(run->progress.size(), 25U);
  EXPECT_FALSE(run->progress[8].held_out.has_value());
  EXPECT_TRUE(run->progress[9].held_out.has_value());
  EXPECT_TRUE(run->progress[19].held_out.has_value());
  EXPECT_EQ(run->progress[24].fraction, 1.0);
  EXPECT_EQ(run->progress[24].remaining.value(), 0.0);
  EXPECT_GT(run->progress[24].tokens_per_second, 0.0);
}

TEST(RunTrainingTest, ALayoutChangesNeitherHeldOutLossNorSample) {
  const auto one = RunOn(Config("data", "X=1"));
  ASSERT_TRUE(one.has_value());
  for (const auto& [strategy, mesh] :
       {std::pair("fsdp", "X=3"), {"tensor", "Y=2"}, {"data+tensor", "X=2\nY=2"}}) {
    const auto other = RunOn(Config(strategy, mesh));
    ASSERT_TRUE(other.has_value());
    EXPECT_NEAR(other->report.held_out, one->report.held_out, 1e-9) << strategy;
    EXPECT_EQ(other->report.sample, one->report.sample) << strategy;
    EXPECT_TRUE(other->report.equal()) << strategy;
  }
}

TEST(RunTrainingTest, AUnequalCountIsSeen) {
  RankReport report;
  EXPECT_TRUE(report.equal());
  report.sent[{ProgramOpKind::kAllReduce, "X"}] = {Bytes(16), Bytes(32)};  // a doubled send
  EXPECT_FALSE(report.equal());
  TrainReport all;
  all.ranks = {RankReport(), report};
  EXPECT_FALSE(all.equal());
}

TEST(RunTrainingTest, ATimeEndsAllRanksAtTheSameStep) {
  const auto run = RunOn(Config("fsdp", "X=2", {"train.seconds=0.3"}));
  ASSERT_TRUE(run.has_value());
  EXPECT_GE(run->report.elapsed.value(), 0.3);
  EXPECT_GT(run->report.steps, 1);
  EXPECT_TRUE(run->report.equal());
  EXPECT_EQ(run->progress.back().steps, 0);
  EXPECT_EQ(run->progress.back().fraction, 1.0);
}

TEST(RunTrainingTest, NoStepsEvaluateTheStart) {
  const auto run = RunOn(Config("data", "X=2", {"train.steps=0", "train.sample_characters=0"}));
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->report.steps, 0);
  EXPECT_TRUE(run->report.ranks.empty());
  EXPECT_NEAR(run->report.held_out, std::log(4.0), 1.0);  // about a guess
}

TEST(RunTrainingTest, ARunThatDivergesEndsOnAllRanks) {
  const TrainConfig config =
      Config("data", "X=2",
             {"optimizer.learning_rate=10", "optimizer.weight_decay=10", "train.steps=400"});
  const Status status = RunRanks(2, RankKind::kThreads, [&](Group& group) -> Status {
    CHORUS_ASSIGN_OR_RETURN(Text text, Text::Create(Pattern(), 0.2, 3));
    CHORUS_ASSIGN_OR_RETURN(const auto trainer,
                            Trainer::Create(config, std::move(text), group, {}));
    return RunTraining(*trainer, config, [](const TrainProgress&) {}).status();
  });
  EXPECT_THAT(status.message(), HasSubstr("the run has diverged; try a smaller [optimizer] "
                                          "learning_rate than 10"));
}

TEST(TrainerTest, GeneratesTheLikeliestAtTemperatureZero) {
  const auto run = RunOn(Config("data", "X=1", {"train.temperature=0", "train.steps=60"}));
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->report.sample.substr(0, 9), " ab ab ab");
}

TEST(TrainerTest, RefusalsComeBeforeTraining) {
  const auto error = [](const TrainConfig& config) {
    return RunRanks(1, RankKind::kThreads,
                    [&](Group& group) -> Status {
                      CHORUS_ASSIGN_OR_RETURN(Text text, Text::Create(Pattern(), 0.2, 3));
                      return Trainer::Create(config, std::move(text), group, {}).status();
                    })
        .message();
  };
  EXPECT_THAT(error(Config("data", "X=1", {"train.prompt=zz"})),
              HasSubstr("[train] prompt: \"zz\" has the byte 122"));
  EXPECT_THAT(error(Config("data", "X=2")), HasSubstr("the mesh X=2 has 2 ranks, but 1 were"));
  EXPECT_THAT(error(Config("data+tensor", "X=1")), HasSubstr("[strategy]"));
}

}  // namespace
}  // namespace chorus
