// Runs the built `chorus` tool as a person would, and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace chorus {

struct ToolOutcome {
  int exit_code = -1;  // -1: ended by a signal
  std::string out;     // all of stdout
  std::string err;     // all of stderr
};

// Runs `chorus ARGUMENTS...` with no standard input and waits for its end.
ToolOutcome RunTool(const std::vector<std::string>& arguments);

// Runs `chorus ARGUMENTS...` and expects that it refuses bad input: exit code 2, nothing on stdout,
// and on stderr the line "chorus: MESSAGE", under it at most the input with a mark at the
// character.
void ExpectBadInput(const std::vector<std::string>& arguments, const std::string& message);

// Writes `text` into a new file of the test's temporary folder; its path.
std::string WriteTemporary(const std::string& name, const std::string& text);

// The lines of `text`, without line ends.
std::vector<std::string> Lines(const std::string& text);

}  // namespace chorus
