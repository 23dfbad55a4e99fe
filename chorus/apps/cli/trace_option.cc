#include "chorus/apps/cli/trace_option.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "chorus/base/trace.h"
#include "chorus/probe/write_file.h"

namespace chorus::cli {
namespace {

constexpr const char* kVariable = "CHORUS_TRACE";

std::string PartOf(const std::string& file, int rank) { return fmt::format("{}.{}", file, rank); }

}  // namespace

CLI::Option* TraceOption::AddTo(CLI::App& command) {
  return command.add_option(
      "--trace", file_,
      "Write what every rank does to this file, for chrome://tracing or Perfetto");
}

Status TraceOption::CheckInRank() const {
  if (file_.empty() || std::getenv(kVariable) != nullptr) return OkStatus();
  return InvalidArgument(fmt::format(
      "--trace {}: this process is a rank itself; give --trace to the chorus run that started it",
      file_));
}

Status TraceOption::Begin() const {
  if (file_.empty()) return OkStatus();
  CHORUS_RETURN_IF_ERROR(WriteFile(file_, TraceFile({}), "--trace"));
  if (setenv(kVariable, file_.c_str(), 1) != 0) {  // NOLINT: no other thread runs yet
    return ResourceExhausted("--trace: no room in the environment");
  }
  return OkStatus();
}

Status TraceOption::End(int ranks) const {
  if (file_.empty()) return OkStatus();
  std::vector<std::string> lines;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string path = PartOf(file_, rank);
    std::ifstream part(path);
    if (!part) {
      fmt::print(stderr, "chorus: --trace: rank {} has left no trace; it ended early\n", rank);
      continue;
    }
    for (std::string line; std::getline(part, line);) lines.push_back(line);
    unlink(path.c_str());
    // Of ranks that ran programs.
    const std::string program = path + ".program";
    std::ifstream steps(program);
    for (std::string line; std::getline(steps, line);) lines.push_back(line);
    unlink(program.c_str());
  }
  return WriteFile(file_, TraceFile(lines), "--trace");
}

}  // namespace chorus::cli
