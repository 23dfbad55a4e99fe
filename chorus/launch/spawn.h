// Spawn: starts the ranks of a job on this host and stays with them to the end.
//
// Each rank is a process in its own process group with RANK, WORLD_SIZE, LOCAL_RANK,
// LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, CHORUS_JOB and, unless set, OMP_NUM_THREADS = cores /
// ranks. When one fails the others are ended: asked (SIGTERM), and after two seconds made to
// (SIGKILL); with `keep_going` they go on, for programs that can do without it (Group::Shrink).
// SIGINT and SIGTERM to this process are passed on in the same way. Nothing outlives it: not even
// if it is killed itself (the ranks ask the kernel to die with it).
#pragma once

#include <string>
#include <vector>

#include "chorus/base/status.h"

namespace chorus {

struct SpawnOptions {
  int ranks = 1;
  std::vector<std::string> command;      // program and arguments; the program is looked for in PATH
  bool tag = false;                      // begin every line of output with "[rank] "
  std::vector<std::string> environment;  // more variables, "NAME=value"
  bool keep_going = false;               // a rank that fails does not end the others
};

struct SpawnOutcome {
  // 0 if all ranks ended with 0; else that of the rank that failed first, 128 + signal if it was
  // killed, or if this process was interrupted.
  int exit_code = 0;
  // Who failed and how: "rank 2 exited with code 3; the others were ended". Empty if nobody did.
  // With `keep_going` all who failed, in that order: "rank 2 exited with code 3; rank 0 was killed
  // by signal 9; 1 of 3 ranks ended with code 0".
  std::string failure;
};

// Runs to the end of all ranks. Errors: kInvalidArgument for options, kNotFound for the program,
// kResourceExhausted if the system starts no more processes. REQUIRES: SIGCHLD, SIGINT and SIGTERM
// of this thread are not waited for elsewhere meanwhile.
Result<SpawnOutcome> SpawnRanks(const SpawnOptions& options);

}  // namespace chorus
