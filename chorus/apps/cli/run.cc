#include "chorus/apps/cli/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "chorus/apps/cli/trace_option.h"
#include "chorus/launch/spawn.h"

namespace chorus::cli {
namespace {

struct Options {
  int ranks = 2;
  bool tag = false;
  bool keep_going = false;
  bool json = false;
  TraceOption trace;
};

// CLI11 does not see the program, which TakeProgram takes off before.
class UsageWithProgram : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    while (usage.ends_with('\n')) usage.pop_back();
    return usage + " PROGRAM [ARGUMENTS...]\n";
  }
};

void Run(const Options& o, const std::vector<std::string>& program, Outcome& outcome) {
  if (program.empty()) {
    outcome.status = InvalidArgument("run: no program is given; chorus run -n 2 ./program does");
    return;
  }
  outcome.status = o.trace.Begin().WithContext("run");
  if (!outcome.status.ok()) return;
  const Result<SpawnOutcome> result = SpawnRanks({o.ranks, program, o.tag, {}, o.keep_going});
  if (!result.ok()) {
    outcome.status = result.status().WithContext("run");
    return;
  }
  outcome.status = o.trace.End(o.ranks).WithContext("run");
  outcome.exit_code = result->exit_code;
  if (o.json) {
    const nlohmann::ordered_json json = {{"exit_code", result->exit_code},
                                         {"failure", result->failure}};
    fmt::print(stderr, "{}\n", json.dump());
  } else if (!result->failure.empty()) {
    fmt::print(stderr, "chorus run: {}\n", result->failure);
  }
}

}  // namespace

std::vector<std::string> TakeProgram(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "run") return {};
  std::size_t begin = 1;
  while (begin < arguments.size() && arguments[begin].starts_with('-') &&
         arguments[begin] != "--") {
    const bool has_value =
        arguments[begin] == "-n" || arguments[begin] == "--ranks" || arguments[begin] == "--trace";
    begin += has_value ? 2 : 1;
  }
  begin = std::min(begin, arguments.size());
  const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(begin);
  std::vector<std::string> program(first, arguments.end());
  arguments.erase(first, arguments.end());
  if (!program.empty() && program.front() == "--") program.erase(program.begin());
  return program;
}

void AddRun(CLI::App& app, const std::vector<std::string>& program, Outcome& outcome) {
  CLI::App* command = app.add_subcommand(
      "run", "Start PROGRAM [ARGUMENTS...], given last, as the ranks of a job on this host");
  command->formatter(std::make_shared<UsageWithProgram>());
  auto o = std::make_shared<Options>();
  command->add_option("-n,--ranks", o->ranks, "Ranks to start")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostLocalRanks));
  command->add_flag("--tag", o->tag, "Begin every line of output with the rank");
  command->add_flag("--keep-going", o->keep_going,
                    "A rank that fails does not end the others (see Group::Shrink)");
  command->add_flag("--json", o->json, "At the end print exit code and failure as JSON to stderr");
  o->trace.AddTo(*command);
  command->footer(
      "PROGRAM [ARGUMENTS...] follows the options, after -- if it begins with a dash.\n"
      "Each rank gets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT,\n"
      "CHORUS_JOB and, unless set, OMP_NUM_THREADS = cores / ranks. If a rank fails the others "
      "are\n"
      "ended, or with --keep-going left to finish. The exit code is that of the rank that failed\n"
      "first (128 + signal if it was killed); the last line says which ranks failed and how.\n"
      "Examples:\n"
      "  chorus run -n 4 --tag ./hello-chorus\n"
      "  chorus run -n 4 --keep-going ./program-that-shrinks\n"
      "  chorus run -n 4 --trace trace.json ./hello-chorus");
  command->callback([o, &program, &outcome] { Run(*o, program, outcome); });
}

}  // namespace chorus::cli
