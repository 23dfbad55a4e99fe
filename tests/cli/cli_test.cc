// The tool from outside: its help, its exit codes, and one clear line for bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

// The commands that `chorus --help` lists, in its order.
std::vector<std::string> Commands() {
  std::vector<std::string> commands;
  bool listed = false;
  for (const std::string& line : Lines(RunTool({"--help"}).out)) {
    if (listed && line.rfind("  ", 0) != 0) break;
    if (listed) commands.push_back(line.substr(2, line.find(' ', 2) - 2));
    listed = listed || line == "Subcommands:";
  }
  return commands;
}

TEST(Cli, HelpAndVersionAreRight) {
  EXPECT_EQ(RunTool({"--help"}).exit_code, 0);
  const ToolOutcome version = RunTool({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, StartsWith("chorus "));
}

TEST(Cli, EveryCommandHasHelpWithAnExample) {
  for (const std::string& command : Commands()) {
    SCOPED_TRACE(command);
    const ToolOutcome help = RunTool({command, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_THAT(help.out, HasSubstr("chorus " + command + " "));
  }
}

TEST(Cli, CommandsAreThese) {
  EXPECT_THAT(Commands(),
              UnorderedElementsAre("bench", "calibrate", "estimate", "explain", "hardware", "run",
                                   "show", "simulate", "studio", "train", "tune", "verify"));
}

TEST(Cli, NoCommandAndAnUnknownOneListWhatThereIs) {
  std::string all;
  for (const std::string& command : Commands()) all += (all.empty() ? "" : ", ") + command;
  ExpectBadInput({}, "A subcommand is required; the commands are " + all);
  ExpectBadInput({"sing"}, "unknown command 'sing'; the commands are " + all);
}

TEST(Cli, AnUnknownOptionIsRefusedByEveryCommand) {
  for (const std::string& command : Commands()) {
    SCOPED_TRACE(command);
    const ToolOutcome outcome = RunTool({command, "--no-such-option"});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    const std::vector<std::string> lines = Lines(outcome.err);
    ASSERT_EQ(lines.size(), 1U) << outcome.err;
    EXPECT_THAT(lines[0], StartsWith("chorus " + command + ": "));
    EXPECT_THAT(lines[0], HasSubstr("; see chorus " + command + " --help"));
  }
}

TEST(Cli, OutputThatCannotBeWrittenIsAFailure) {
  // Little output fails when it is flushed, much when the buffer is full.
  for (const char* command : {" show ring all_reduce -n 2 --text", " verify all -n 1..3 --json",
                              " show ring all_reduce -n 64 --json", " --help"}) {
    const ToolOutcome outcome = RunTool(
        {"run", "-n", "1", "--", "sh", "-c", std::string(CHORUS_TOOL) + command + " >/dev/full"});
    EXPECT_EQ(outcome.exit_code, 1) << command;
    EXPECT_THAT(outcome.err, ::testing::HasSubstr("chorus: ")) << command;
  }
}

}  // namespace
}  // namespace chorus
