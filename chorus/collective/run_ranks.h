// RunRanks: a function on n ranks, over threads or over processes. For tests and small programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/group.h"

namespace chorus {

enum class RankKind : std::uint8_t {
  kThreads,    // n threads of this process
  kProcesses,  // n forked processes; REQUIRES: no other thread of this process holds a lock
};

// "threads", "processes".
std::string_view Name(RankKind kind);

// What a rank gives back: any bytes (often the raw elements of a result), or an error.
using RankFunction = std::function<Result<std::string>(Group& group)>;

// Runs `function` on n ranks of a new group and waits for all. An exception that leaves it is the
// error of its rank. REQUIRES: n >= 1, else refused. The error of the rank that failed
// first ("rank 2: ..."), or for a process that ended otherwise, how ("rank 2 was killed by signal
// 9").
Status RunRanks(int n, RankKind kind, const std::function<Status(Group& group)>& function,
                const JoinOptions& options = {});

// As RunRanks; result[r] is what rank r gave back.
Result<std::vector<std::string>> CollectFromRanks(int n, RankKind kind,
                                                  const RankFunction& function,
                                                  const JoinOptions& options = {});

// The outcome of each rank by itself, for tests of failures: result[r] is rank r's.
std::vector<Result<std::string>> OutcomeOfRanks(int n, RankKind kind, const RankFunction& function,
                                                const JoinOptions& options = {});

}  // namespace chorus
