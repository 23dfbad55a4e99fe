// What tests that run ranks share: a condition as a status, each rank's error as a text, and what
// is left behind.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "chorus/collective/group.h"
#include "chorus/collective/run_ranks.h"

namespace chorus {

inline constexpr RankKind kKinds[] = {RankKind::kThreads, RankKind::kProcesses};

// Long enough that nothing is late which only waits for its turn.
inline JoinOptions Patient(std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  JoinOptions options;
  options.timeout = timeout;
  options.report = [](const std::string&) {};  // these deadlines are meant to pass
  return options;
}

// Runs `function` and gives back each rank's error, or "ok".
inline std::vector<std::string> Errors(int n, RankKind kind,
                                       const std::function<Status(Group&)>& function,
                                       const JoinOptions& options = Patient()) {
  const auto outcomes = OutcomeOfRanks(
      n, kind,
      [&](Group& group) -> Result<std::string> {
        Status status = function(group);
        if (!status.ok()) return status;
        return std::string();
      },
      options);
  std::vector<std::string> errors;
  for (const auto& outcome : outcomes) errors.push_back(outcome.status().ToString());
  return errors;
}

// For functions that run on ranks, where an expectation of another process would not be heard.
inline Status Expect(bool holds, const std::string& what) {
  return holds ? OkStatus() : Internal("not so: " + what);
}

// Entries of a folder: descriptors of /proc/self/fd, segments of /dev/shm.
inline std::size_t Entries(const char* folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) count += entry.exists();
  return count;
}

}  // namespace chorus
