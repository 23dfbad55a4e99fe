// The tool from outside: its help, its exit codes, and one clear line for bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Bad input: exit code 2, nothing on stdout, one line on stderr that says what, where and what
// would be right; `must_say` are parts of it.
void ExpectOneLine(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& must_say) {
  const ToolOutcome outcome = RunTool(arguments);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(Lines(outcome.err).size(), 1U) << outcome.err;
  EXPECT_THAT(outcome.err, StartsWith("chorus"));
  for (const std::string& part : must_say) EXPECT_THAT(outcome.err, HasSubstr(part));
}

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

TEST(Cli, NoCommandAndAnUnknownOneListWhatThereIs) {
  ExpectOneLine({}, {"the commands are"});
  ExpectOneLine({"sing"}, {"unknown command 'sing'", "the commands are"});
}

}  // namespace
}  // namespace chorus
