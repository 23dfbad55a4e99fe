// chorus: the command-line tool. Start here, then read the file named after the command.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "chorus/apps/cli/command.h"
#include "chorus/apps/cli/explain.h"
#include "chorus/apps/cli/run.h"
#include "chorus/apps/cli/show.h"
#include "chorus/apps/cli/train.h"
#include "chorus/apps/cli/verify.h"

namespace chorus::cli {
namespace {

int ExitCode(const Outcome& outcome) {
  const Status& status = outcome.status;
  if (status.ok()) return outcome.exit_code;
  fmt::print(stderr, "chorus: {}\n", status.message());
  const bool bad_input = status.code() == StatusCode::kInvalidArgument ||
                         status.code() == StatusCode::kNotFound ||
                         status.code() == StatusCode::kUnsupported;
  return bad_input ? 2 : 1;
}

// What may stand after `chorus`.
std::vector<std::string> Commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// One line for arguments that do not parse: what is wrong and where the right ones are listed.
int ExplainParseError(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (chosen.empty()) {
    fmt::print(stderr, "chorus: {}; the commands are {}\n", error.what(),
               fmt::join(Commands(app), ", "));
  } else {
    const std::string name = chosen.front()->get_name();
    fmt::print(stderr, "chorus {}: {}; see chorus {} --help\n", name, error.what(), name);
  }
  return 2;
}

int Main(int argc, char** argv) {
  CLI::App app{"Collectives, sharding and parallel training, from plans that are values."};
  app.name("chorus");
  app.require_subcommand(1);
  app.set_version_flag("--version", "chorus " CHORUS_VERSION);
  app.footer(
      "Each command has --help with an example. Start with: chorus show ring all_reduce -n 4");

  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::vector<std::string> program = TakeProgram(arguments);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants a list of them

  Outcome outcome;
  // One line a command.
  AddExplain(app, outcome);
  AddRun(app, program, outcome);
  AddShow(app, outcome);
  AddTrain(app, outcome);
  AddVerify(app, outcome);

  const std::vector<std::string> commands = Commands(app);
  if (argc > 1 && argv[1][0] != '-' &&
      std::find(commands.begin(), commands.end(), argv[1]) == commands.end()) {
    fmt::print(stderr, "chorus: unknown command '{}'; the commands are {}\n", argv[1],
               fmt::join(commands, ", "));
    return 2;
  }
  try {
    app.parse(arguments);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return ExplainParseError(app, error);
  }
  return ExitCode(outcome);
}

}  // namespace
}  // namespace chorus::cli

int main(int argc, char** argv) { return chorus::cli::Main(argc, argv); }
