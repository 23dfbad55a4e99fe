// chorus: the command-line tool. Start here, then read the file named after the command.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "chorus/apps/cli/bench.h"
#include "chorus/apps/cli/calibrate.h"
#include "chorus/apps/cli/command.h"
#include "chorus/apps/cli/estimate.h"
#include "chorus/apps/cli/explain.h"
#include "chorus/apps/cli/hardware.h"
#include "chorus/apps/cli/option_rules.h"
#include "chorus/apps/cli/run.h"
#include "chorus/apps/cli/show.h"
#include "chorus/apps/cli/simulate.h"
#include "chorus/apps/cli/studio.h"
#include "chorus/apps/cli/train.h"
#include "chorus/apps/cli/tune.h"
#include "chorus/apps/cli/verify.h"

namespace chorus::cli {
namespace {

// "--op: there is no operation 'x'" where the operation is no option but a word of the command: the
// message alone.
std::string SaidOn(const CLI::App& app, const std::string& message) {
  const std::size_t colon = message.find(": ");
  if (message.compare(0, 2, "--") != 0 || colon == std::string::npos) return message;
  const std::string option = message.substr(0, colon);
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const bool is_word = option.find(' ') == std::string::npos && !chosen.empty() &&
                       chosen.front()->get_option_no_throw(option) == nullptr;
  return is_word ? message.substr(colon + 2) : message;
}

int ExitCode(const CLI::App& app, const Outcome& outcome) {
  const Status& status = outcome.status;
  if (status.ok()) return outcome.exit_code;
  fmt::print(stderr, "chorus: {}\n", SaidOn(app, status.message()));
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

// CLI11 says "Could not convert: --port = abc", of numbers alone.
std::string SayParseError(const CLI::ParseError& error) {
  std::string said = error.what();
  constexpr std::string_view kNoNumber = "Could not convert: ";
  const std::size_t equals = said.find(" = ");
  if (said.rfind(kNoNumber, 0) != 0 || equals == std::string::npos) return said;
  return fmt::format("{} {} is no number that it takes",
                     said.substr(kNoNumber.size(), equals - kNoNumber.size()),
                     said.substr(equals + 3));
}

// CLI11 takes a whole number that is too large for the largest that there is.
void RefuseLargeNumbers(CLI::App& app) {
  const auto why = [](const std::string& text) -> std::string {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc::result_out_of_range) return "";
    return fmt::format("{} is no number from {} to {}", text,
                       std::numeric_limits<std::int64_t>::min(),
                       std::numeric_limits<std::int64_t>::max());
  };
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      if (option->get_type_name() == "INT") option->check(CLI::Validator(why, ""));
    }
  }
}

// One line for arguments that do not parse: what is wrong and where the right ones are listed.
int ExplainParseError(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (chosen.empty()) {
    fmt::print(stderr, "chorus: {}; the commands are {}\n", error.what(),
               fmt::join(Commands(app), ", "));
  } else {
    const std::string name = chosen.front()->get_name();
    fmt::print(stderr, "chorus {}: {}; see chorus {} --help\n", name, SayParseError(error), name);
  }
  return 2;
}

// Gives 0, 1 and 2 to /dev/null where the caller closed them. Otherwise the next socket or file
// gets the number, and what is printed goes into it.
void OpenStandardFiles() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);  // takes the lowest number that is free
  }
}

// `exit_code`, or 1 if not all of the output could be written: to a full disk, for instance.
int CloseOutput(int exit_code) {
  const bool failed_before = std::ferror(stdout) != 0;
  if (std::fflush(stdout) == 0 && !failed_before) return exit_code;
  fmt::print(stderr, "chorus: standard output cannot be written\n");
  return exit_code == 0 ? 1 : exit_code;
}

int Run(int argc, char** argv) {
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
  AddBench(app, outcome);
  AddCalibrate(app, outcome);
  AddEstimate(app, outcome);
  AddExplain(app, outcome);
  AddHardware(app, outcome);
  AddRun(app, program, outcome);
  AddShow(app, outcome);
  AddSimulate(app, outcome);
  AddStudio(app, outcome);
  AddTrain(app, outcome);
  AddTune(app, outcome);
  AddVerify(app, outcome);
  RefuseLargeNumbers(app);
  RefuseEmptyValues(app);

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
  } catch (const EmptyValue& error) {
    fmt::print(stderr, "chorus: {}\n", error.what());
    return 2;
  } catch (const CLI::ParseError& error) {
    return ExplainParseError(app, error);
  }
  return ExitCode(app, outcome);
}

int Main(int argc, char** argv) {
  OpenStandardFiles();
  try {
    return CloseOutput(Run(argc, argv));
  } catch (const std::system_error& error) {  // fmt's, when the output cannot be written
    fmt::print(stderr, "chorus: {}\n", error.what());
    return 1;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr,
               "chorus: there is not enough memory; make the model or the problem smaller\n");
    return 1;
  }
}

}  // namespace
}  // namespace chorus::cli

int main(int argc, char** argv) { return chorus::cli::Main(argc, argv); }
