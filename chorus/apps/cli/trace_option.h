// --trace FILE of the commands that start ranks: what every rank did, joined to one file that
// chrome://tracing and Perfetto read.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "chorus/base/status.h"

namespace chorus::cli {

class TraceOption {
 public:
  // Adds the option to a command, and gives it.
  CLI::Option* AddTo(CLI::App& command);
  // In a process that is a rank itself, started with the same options: an error if who started it
  // does not collect the trace.
  Status CheckInRank() const;
  // Before ranks start, in the process that starts them: asks them, by the environment that they
  // inherit, to write down what they do. Errors: FILE cannot be written.
  Status Begin() const;
  // After they have ended: joins what they have written. A rank that was killed has written
  // nothing, which is told.
  Status End(int ranks) const;

 private:
  std::string file_;  // "": no trace
};

}  // namespace chorus::cli
