// chorus: the command-line tool. Start here, then read the file named after the command.
#include <fmt/format.h>

#include <cstdio>

#include "chorus/apps/cli/command.h"

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

int Main(int argc, char** argv) {
  CLI::App app{"Collectives, sharding and parallel training, from plans that are values."};
  app.name("chorus");
  app.require_subcommand(1);
  app.set_version_flag("--version", "chorus " CHORUS_VERSION);
  app.footer(
      "Each command has --help with an example. Start with: chorus show ring all_reduce -n 4");

  Outcome outcome;
  // One line a command: AddRun(app, outcome);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return ExitCode(outcome);
}

}  // namespace
}  // namespace chorus::cli

int main(int argc, char** argv) { return chorus::cli::Main(argc, argv); }
