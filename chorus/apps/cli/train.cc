#include "chorus/apps/cli/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "chorus/apps/cli/rank_table.h"
#include "chorus/apps/cli/trace_option.h"
#include "chorus/apps/cli/train_metrics.h"
#include "chorus/apps/cli/train_view.h"
#include "chorus/collective/group.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/launch/spawn.h"
#include "chorus/train/run.h"
#include "chorus/train/text.h"
#include "chorus/train/trainer.h"

namespace chorus::cli {
namespace {

struct TrainOptions {
  std::string file;
  int ranks = 0;  // 0: as many as the mesh has
  bool threads = false;
  std::string dtype;
  std::int64_t steps = -1;  // -1: as the file says
  std::vector<std::string> settings;
  bool json = false;
  std::string metrics;  // a file; "": none
  TraceOption trace;
};

std::vector<std::string> Overrides(const TrainOptions& o) {
  std::vector<std::string> settings = o.settings;
  if (o.steps >= 0) settings.push_back(fmt::format("train.steps={}", o.steps));
  if (!o.dtype.empty()) settings.push_back(fmt::format("train.dtype='{}'", o.dtype));
  return settings;
}

void PrintHead(const TrainOptions& o, const TrainConfig& config, const Trainer& trainer) {
  const StepProgram& program = trainer.programs().step;
  std::int64_t learned = 0;
  for (ValueId id = 0; id < program.bound(); ++id) {
    if (program.value(id).storage != StorageClass::kParameter) continue;
    learned += GlobalShape(program.value(id).spec, trainer.programs().sizes).elements();
  }
  const Text& text = trainer.text();
  const std::string ranks =
      config.mesh.size() == 1
          ? "one rank"
          : fmt::format("{} ranks ({}), mesh {}", config.mesh.size(),
                        o.threads ? "threads" : "processes", config.mesh.ToString());
  fmt::print("{}: {}, strategy {}, {}\n", o.file, ranks, config.strategy.name,
             Name(config.loop.dtype));
  fmt::print("text: {} characters, {} of them held out, {} different (a guess costs {:.2f} nats)\n",
             Grouped(text.size()), Grouped(text.size() - text.training_size()),
             text.vocabulary_size(), std::log(static_cast<double>(text.vocabulary_size())));
  fmt::print("model: {} learned numbers, {} operations in a step\n", Grouped(learned),
             program.ops().size());
  std::fflush(stdout);
}

// Something that differs from this run in one way, to see what it does.
std::string WhatToTry(const TrainOptions& o, const TrainConfig& config) {
  const std::string tensor = config.mesh.axes().size() == 2 ? "+tensor" : "";
  const std::string other = (config.strategy.name == "fsdp" + tensor ? "data" : "fsdp") + tensor;
  std::string out = "what to try next:\n";
  if (config.mesh.axes().size() == 1 || config.mesh.axes().size() == 2) {
    out += fmt::format(
        "  chorus train {} --set strategy.name={}\n"
        "      the same losses; compare bytes sent and peak memory\n",
        o.file, other);
  }
  out += fmt::format(
      "  chorus train {} --set train.temperature=0.3 --set 'train.prompt=The king '\n"
      "      another sample of the same model\n",
      o.file);
  return out;
}

void PrintReport(const TrainOptions& o, const TrainConfig& config, const TrainReport& report) {
  fmt::print(
      "\ntrained {} steps in {} ({} characters a second): held-out loss {:.3f} nats a "
      "character\n\n",
      Grouped(report.steps), Clock(report.elapsed),
      Grouped(static_cast<std::int64_t>(report.tokens_per_second)), report.held_out);
  fmt::print("{}\n", ReportTables(report));
  if (!report.sample.empty()) {
    fmt::print("sample at temperature {}:\n\n{}{}\n\n", config.loop.temperature, config.loop.prompt,
               report.sample);
  }
  fmt::print("{}", WhatToTry(o, config));
}

// What each rank does; rank 0 speaks for all. Gives whether every count was what was predicted.
Result<bool> TrainRank(const TrainOptions& o, const TrainConfig& config, Group& world) {
  ShareCores(world.size());
  CHORUS_ASSIGN_OR_RETURN(const std::string raw, ReadTextForAll(config.data.source, world));
  CHORUS_ASSIGN_OR_RETURN(Text text, Text::Create(raw, config.data.held_out, config.model.window));
  CHORUS_ASSIGN_OR_RETURN(const auto trainer,
                          Trainer::Create(config, std::move(text), world, RuntimeOptions()));
  const bool speaks = world.rank() == 0;
  const bool draws = speaks && !o.json;
  if (draws) PrintHead(o, config, *trainer);
  std::optional<MetricsFile> metrics;
  if (speaks && !o.metrics.empty()) {
    CHORUS_ASSIGN_OR_RETURN(metrics, MetricsFile::Open(o.metrics));
  }
  ProgressView view(TerminalWidth());
  const Result<TrainReport> outcome =
      RunTraining(*trainer, config, [&](const TrainProgress& progress) {
        if (metrics) metrics->Write(progress);
        if (!draws) return;
        view.Show(progress);
        if (progress.fraction >= 1.0) view.Say("measuring the held-out loss, writing a sample ...");
      });
  view.Finish();
  CHORUS_RETURN_IF_ERROR(outcome.status());
  const TrainReport& report = *outcome;
  if (metrics) CHORUS_RETURN_IF_ERROR(metrics->Close(report));
  if (draws) PrintReport(o, config, report);
  if (speaks && o.json) fmt::print("{}\n", ReportJson(report));
  std::fflush(stdout);
  return report.equal();
}

Status CheckRanks(const TrainOptions& o, const TrainConfig& config) {
  if (config.mesh.size() > kMostLocalRanks) {
    return InvalidArgument(fmt::format("the mesh {} of {} has {} ranks; at most {} run on one host",
                                       config.mesh.ToString(), o.file, config.mesh.size(),
                                       kMostLocalRanks));
  }
  if (o.ranks == 0 || o.ranks == config.mesh.size()) return OkStatus();
  return InvalidArgument(
      fmt::format("-n {}, but the mesh {} of {} has {} ranks; give -n {}, or change it with --set "
                  "mesh.AXIS=SIZE",
                  o.ranks, config.mesh.size() == 1 ? "(none)" : config.mesh.ToString(), o.file,
                  config.mesh.size(), config.mesh.size()));
}

// All that can be wrong with the input, before any rank starts.
Status CheckInput(const TrainOptions& o, const TrainConfig& config) {
  CHORUS_RETURN_IF_ERROR(CheckRanks(o, config));
  CHORUS_ASSIGN_OR_RETURN(const std::string raw, ReadTextSource(config.data.source));
  CHORUS_ASSIGN_OR_RETURN(const Text text,
                          Text::Create(raw, config.data.held_out, config.model.window));
  CHORUS_RETURN_IF_ERROR(text.Encode(config.loop.prompt).status().WithContext("[train] prompt"));
  return MakePrograms(config, text.vocabulary_size()).status();
}

// This very program, once for each rank, with the arguments that this process was given.
std::vector<std::string> OwnCommand(const TrainOptions& o) {
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  std::vector<std::string> command = {unknown ? "chorus" : self.string(), "train", o.file};
  for (const std::string& setting : Overrides(o)) {
    command.insert(command.end(), {"--set", setting});
  }
  if (o.json) command.emplace_back("--json");
  if (!o.metrics.empty()) command.insert(command.end(), {"--metrics", o.metrics});
  return command;
}

Status RunProcesses(const TrainOptions& o, int ranks, int& exit_code) {
  SpawnOptions options;
  options.ranks = ranks;
  options.command = OwnCommand(o);
  CHORUS_ASSIGN_OR_RETURN(const SpawnOutcome outcome, SpawnRanks(options));
  exit_code = outcome.exit_code;
  if (!outcome.failure.empty()) fmt::print(stderr, "chorus train: {}\n", outcome.failure);
  return OkStatus();
}

Status RunThreads(const TrainOptions& o, const TrainConfig& config, int ranks, int& exit_code) {
  CHORUS_ASSIGN_OR_RETURN(
      const std::vector<std::string> equal,
      CollectFromRanks(ranks, RankKind::kThreads, [&](Group& world) -> Result<std::string> {
        CHORUS_ASSIGN_OR_RETURN(const bool as_predicted, TrainRank(o, config, world));
        return std::string(as_predicted ? "equal" : "");
      }));
  exit_code = equal[0].empty() ? 1 : 0;
  return OkStatus();
}

Status RunTrain(const TrainOptions& o, int& exit_code) {
  CHORUS_ASSIGN_OR_RETURN(const TrainConfig config, LoadTrainConfig(o.file, Overrides(o)));
  if (std::getenv("RANK") != nullptr) {  // one of the ranks that this command, or run, started
    CHORUS_RETURN_IF_ERROR(o.trace.CheckInRank());
    CHORUS_ASSIGN_OR_RETURN(Group world, Join());
    const Result<bool> equal = TrainRank(o, config, world);
    if (!equal.ok()) return equal.status().WithContext(fmt::format("rank {}", world.rank()));
    exit_code = *equal ? 0 : 1;
    return OkStatus();
  }
  CHORUS_RETURN_IF_ERROR(CheckInput(o, config));
  if (!o.metrics.empty()) CHORUS_RETURN_IF_ERROR(MetricsFile::Open(o.metrics).status());
  const auto ranks = static_cast<int>(config.mesh.size());
  CHORUS_RETURN_IF_ERROR(o.trace.Begin());
  const Status status = o.threads || ranks == 1 ? RunThreads(o, config, ranks, exit_code)
                                                : RunProcesses(o, ranks, exit_code);
  const Status traced = o.trace.End(ranks);
  return status.ok() ? traced : status;
}

}  // namespace

void AddTrain(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<TrainOptions>();
  CLI::App* train = app.add_subcommand("train", "Train a model as a TOML file says");
  train->add_option("FILE", o->file, "What to train: text, model, mesh, strategy")->required();
  train->add_option("-n,--ranks", o->ranks, "Ranks on this host (default: as many as the mesh has)")
      ->check(CLI::Range(1, kMostLocalRanks));
  train->add_flag("--threads", o->threads, "Ranks are threads of one process, not processes");
  train->add_option("--dtype", o->dtype, "f32 or f64, instead of the file's");
  train->add_option("--steps", o->steps, "Steps, instead of the file's")
      ->check(CLI::Range(0, std::numeric_limits<int>::max()));
  train->add_option("--set", o->settings, "section.key=value, instead of the file's; repeat it")
      ->allow_extra_args(false);
  o->trace.AddTo(*train);
  train->add_option("--metrics", o->metrics,
                    "Write a JSON line a step to this file: loss, time; the last is the report");
  train->add_flag("--json", o->json, "The report as JSON, and nothing else");
  train->footer(
      "Exit code 0 only if every rank trained and counted what was predicted.\n"
      "Examples:\n"
      "  chorus train examples/kjv-mlp.toml -n 4\n"
      "  chorus train examples/kjv-mlp.toml --set strategy.name=fsdp+tensor --steps 200\n"
      "  chorus train examples/kjv-mlp.toml -n 2 --set mesh.X=1\n"
      "  chorus train examples/kjv-mlp.toml --steps 5 --trace trace.json\n"
      "  chorus train examples/kjv-mlp.toml --steps 200 --metrics results/kjv.jsonl");
  train->callback([o, &outcome] { outcome.status = RunTrain(*o, outcome.exit_code); });
}

}  // namespace chorus::cli
