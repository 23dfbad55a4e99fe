#include "tests/cli/tool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "chorus/base/test_path_test.h"

namespace chorus {
namespace {

std::string ReadAndRemove(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  unlink(path.c_str());
  return text;
}

}  // namespace

ToolOutcome RunTool(const std::vector<std::string>& arguments) {
  // Output goes to files, so that no pipe can fill up and no order of reading matters.
  const std::string base = TestPath("tool");
  const std::string out = base + ".out";
  const std::string err = base + ".err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), kFlags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), kFlags, 0600);

  std::vector<std::string> words = {CHORUS_TOOL};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  ToolOutcome outcome;
  pid_t child = 0;
  const int error = posix_spawn(&child, CHORUS_TOOL, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << "cannot start " << CHORUS_TOOL;
  if (error != 0) return outcome;

  int state = 0;
  EXPECT_EQ(waitpid(child, &state, 0), child);
  if (WIFEXITED(state)) outcome.exit_code = WEXITSTATUS(state);
  outcome.out = ReadAndRemove(out);
  outcome.err = ReadAndRemove(err);
  return outcome;
}

void ExpectBadInput(const std::vector<std::string>& arguments, const std::string& message) {
  const ToolOutcome outcome = RunTool(arguments);
  EXPECT_EQ(outcome.exit_code, 2) << message;
  EXPECT_EQ(outcome.out, "");
  const std::vector<std::string> lines = Lines(outcome.err);
  ASSERT_FALSE(lines.empty()) << "nothing on stderr; expected: " << message;
  EXPECT_EQ(lines[0], "chorus: " + message);
  if (lines.size() == 1) return;
  ASSERT_EQ(lines.size(), 3U) << outcome.err;
  EXPECT_EQ(lines[1].substr(0, 2), "  ");
  EXPECT_EQ(lines[2].find_first_not_of(' '), lines[2].size() - 1) << "no mark under: " << lines[1];
  EXPECT_EQ(lines[2].back(), '^');
}

std::string WriteTemporary(const std::string& name, const std::string& text) {
  std::string path = TestPath(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace chorus
