// CallWatch: what a stretch of code does besides computing: memory it allocates, system calls it
// makes. For tests.
//
//   if (Status status = CallWatch::Install(); !status.ok()) ...   once, on the thread that will
//   watch CallWatch watch; group.AllReduce(x); const CallWatch::Seen seen = watch.Stop();        //
//   seen.allocations, seen.sleeps, seen.other
//
// Every system call of the thread is trapped by seccomp, and carried out by the handler of the
// trap: from the only place in memory that the filter lets through. Allocations are counted in
// malloc and its kin, which this program's own stand in front of.
//
// Works on x86-64 without sanitizers, which allocate and call themselves. After Install the thread
// starts no thread and forks no process. Not installed, nothing changes.
#pragma once

#include <cstdint>
#include <string>

#include "chorus/base/status.h"

namespace chorus {

class CallWatch {
 public:
  struct Seen {
    std::int64_t allocations = 0;
    std::int64_t sleeps = 0;  // waits on a futex
    std::int64_t wakes = 0;   // of others, who sleep on one
    std::int64_t yields = 0;  // of the core to whoever else has work
    std::int64_t fences = 0;  // on all cores, before the thread sleeps
    std::int64_t reads = 0;   // of the memory of other processes
    std::int64_t others = 0;  // system calls of any other kind
    std::int64_t other = -1;  // the number of the last of them

    std::string ToString() const;
  };

  // Whether this build can watch at all.
  static bool IsPossible();
  // From now on every system call of this thread takes the way through the trap. kUnsupported where
  // the kernel does not let a process filter its own calls.
  static Status Install();

  // Begins to count, on this thread.
  CallWatch();
  // Ends it.
  Seen Stop();
};

}  // namespace chorus
