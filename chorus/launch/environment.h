// What the environment says about this process's place in its job: the variables that `chorus run`,
// torchrun and others set.
#pragma once

#include <optional>
#include <string>

#include "chorus/base/status.h"

namespace chorus {

struct JobPlace {
  int rank = 0;
  int size = 1;
  int port = 0;       // where the job meets on this host
  std::string job{};  // tells jobs at one port apart; empty: fits any

  friend bool operator==(const JobPlace&, const JobPlace&) = default;
};

// RANK, WORLD_SIZE, MASTER_PORT, each unless given, and CHORUS_JOB, if it is set. A job of one rank
// needs no port.
// Errors: kInvalidArgument naming the variable, its value and what would be right.
Result<JobPlace> PlaceInJob(std::optional<int> rank, std::optional<int> size,
                            std::optional<int> port);

// A variable that holds a number in [least, most]; empty if it is not set.
Result<std::optional<int>> NumberFromEnvironment(const char* name, int least, int most);

}  // namespace chorus
