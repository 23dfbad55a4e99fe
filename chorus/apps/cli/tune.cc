#include "chorus/apps/cli/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "chorus/apps/cli/tune_choices.h"
#include "chorus/apps/cli/tune_measure.h"
#include "chorus/collective/tuning.h"
#include "chorus/launch/environment.h"
#include "chorus/launch/spawn.h"
#include "chorus/probe/cores.h"
#include "chorus/probe/read_file.h"
#include "chorus/probe/write_file.h"

namespace chorus::cli {
namespace {

// Ranks that hand their times over write them into the file that this names.
constexpr const char* kHandover = "CHORUS_TUNE_HANDOVER";

struct TuneOptions {
  std::vector<int> ranks = {2, 4, 8};
  double seconds = 15;
  std::string folder;
  bool json = false;
};

struct Measured {
  double crossing_ns = 0;
  std::vector<TunedTime> times;
};

// What each rank of a measurement does.
Status MeasureAsRank(const TuneOptions& o, const std::string& handover) {
  CHORUS_ASSIGN_OR_RETURN(const std::optional<int> rank,
                          NumberFromEnvironment("RANK", 0, kMostLocalRanks));
  PinToCore(rank.value_or(0));  // the machine is measured, not where a rank happened to start
  double crossing_ns = 0;
  CHORUS_ASSIGN_OR_RETURN(Group world, JoinMeasured(crossing_ns));
  CHORUS_ASSIGN_OR_RETURN(const std::vector<TunedTime> times,
                          MeasureAlgorithms(world, std::chrono::duration<double>(o.seconds)));
  if (world.rank() != 0) return OkStatus();
  std::string text = fmt::format("{:.1f}\n", crossing_ns);
  for (const TunedTime& time : times) text += ToLine(time) + "\n";
  return WriteFile(handover, text, "measured times");
}

Result<Measured> ReadHandover(const std::string& path) {
  CHORUS_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, "measured times", "run it again"));
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  Measured measured;
  measured.crossing_ns = std::strtod(line.c_str(), nullptr);
  while (std::getline(lines, line)) {
    CHORUS_ASSIGN_OR_RETURN(const TunedTime time, ParseLine(line));
    measured.times.push_back(time);
  }
  return measured;
}

// Starts n ranks of this very program and gives what they measured.
Result<Measured> MeasureWith(int n, double seconds) {
  const std::filesystem::path handover =
      std::filesystem::temp_directory_path() / fmt::format("chorus-tune-{}-{}", getpid(), n);
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  SpawnOptions spawn;
  spawn.ranks = n;
  spawn.command = {unknown ? "chorus" : self.string(), "tune", "--seconds",
                   fmt::format("{:.3f}", seconds)};
  spawn.environment = {fmt::format("{}={}", kHandover, handover.string())};
  const Result<SpawnOutcome> outcome = SpawnRanks(spawn);
  Result<Measured> measured = outcome.ok() ? ReadHandover(handover.string()) : outcome.status();
  std::filesystem::remove(handover, unknown);
  if (outcome.ok() && outcome->exit_code != 0) {
    return Internal(fmt::format("the measurement of {} ranks failed: {}", n, outcome->failure));
  }
  return measured;
}

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

Status Tune(const TuneOptions& o) {
  if (o.folder.empty()) {
    return InvalidArgument("there is no folder to store in; give one with --out, or set HOME");
  }
  std::error_code error;
  std::filesystem::create_directories(o.folder, error);
  if (error) {
    return InvalidArgument(fmt::format("'{}' cannot be made ({}); give another folder with --out",
                                       o.folder, error.message()));
  }
  Measured all;
  for (const int n : o.ranks) {
    if (!o.json) {
      fmt::print("measuring {} ranks ...\n", n);
      std::fflush(stdout);
    }
    CHORUS_ASSIGN_OR_RETURN(Measured one,
                            MeasureWith(n, o.seconds / static_cast<double>(o.ranks.size())));
    // Of the first, which has the fewest ranks: with more ranks than cores a line waits for a core.
    if (all.times.empty()) all.crossing_ns = one.crossing_ns;
    all.times.insert(all.times.end(), one.times.begin(), one.times.end());
  }
  const Placement placement = PlacementOf(all.crossing_ns);
  CHORUS_ASSIGN_OR_RETURN(const Choices choices, ChooseFastest(all.times, Bytes(kLargestTuned)));
  const std::string head = fmt::format(
      "# Written by chorus tune; the fastest algorithms on {}, {} cores,\n"
      "# {} placement: a line crosses between the cores in {:.0f} ns.\n",
      ProcessorName(), UsableCores(), Name(placement), all.crossing_ns);
  const std::string path = TuningFile(o.folder, placement);
  CHORUS_RETURN_IF_ERROR(WriteFile(path, TuningText(head, choices, all.times), "--out"));
  const std::vector<std::string> unmeasured = Unmeasured(all.times, o.ranks, Bytes(kLargestTuned));
  if (o.json) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Choices::Row& row : choices.rows()) {
      rows.push_back({{"operation", Name(row.op)},
                      {"ranks", row.ranks},
                      {"from_bytes", row.from.value()},
                      {"algorithm", row.algorithm->name}});
    }
    const nlohmann::ordered_json json = {{"file", path},
                                         {"placement", Name(placement)},
                                         {"one_way_ns", all.crossing_ns},
                                         {"unmeasured", unmeasured},
                                         {"choices", rows}};
    fmt::print("{}\n", json.dump(2));
    return OkStatus();
  }
  fmt::print("\n{}\n{}\n", head, choices.ToString());
  if (!unmeasured.empty()) {
    fmt::print(
        "measured in part, for the time was up; the built-in rule stands for the rest. A machine "
        "that is less busy, or more --seconds, gives all:\n  {}\n\n",
        fmt::join(unmeasured, "\n  "));
  }
  fmt::print(
      "stored in {}; groups of processes use it {} (CHORUS_TUNING=off: not)\n", path,
      o.folder == TuningFolder() ? "from now on" : fmt::format("where CHORUS_TUNING={}", o.folder));
  return OkStatus();
}

}  // namespace

void AddTune(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<TuneOptions>();
  o->folder = TuningFolder();
  CLI::App* tune =
      app.add_subcommand("tune", "Measure which algorithms are fastest here, and store that");
  tune->add_option("-n,--ranks", o->ranks, "Numbers of ranks, comma separated")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::Range(2, kMostLocalRanks));
  tune->add_option("--seconds", o->seconds, "How long to measure in all, about")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  tune->add_option("--out", o->folder, "Folder for near.toml or far.toml")->capture_default_str();
  tune->add_flag("--json", o->json, "JSON instead of lines");
  tune->footer(
      "Cores lie near to or far from each other from one start of a virtual machine to the next; "
      "a\n"
      "file is stored for the placement found now. Processes that join read the file of theirs. It "
      "is\n"
      "text to read and to edit. CHORUS_TUNING names another folder, or is off.\n"
      "Examples:\n"
      "  chorus tune\n"
      "  chorus tune -n 2,4 --seconds 30 --out ./tuning; CHORUS_TUNING=./tuning chorus bench "
      "all_reduce");
  tune->callback([o, &outcome] {
    const char* handover = std::getenv(kHandover);  // NOLINT(concurrency-mt-unsafe)
    outcome.status = handover == nullptr ? Tune(*o) : MeasureAsRank(*o, handover);
  });
}

}  // namespace chorus::cli
