// The commands of the tool, one file each: run.cc, show.cc, verify.cc, ...
//
// A command adds its options to the CLI11 app it is given and, when chosen, returns a Status
// through `outcome`. The exit code follows from it: 0 all right, 2 bad input, 1 anything else.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "chorus/base/status.h"

namespace chorus::cli {

// Ranks that run and train start on this host at most; more would drown it in processes.
inline constexpr int kMostLocalRanks = 1024;

// Ranks that are only thought of: what is done for each of them still ends in seconds.
inline constexpr std::int64_t kMostRanks = 100'000;

struct Outcome {
  Status status;      // printed on stderr as one line when it is an error
  int exit_code = 0;  // used when status is ok: the exit code of a program that was run
};

}  // namespace chorus::cli
