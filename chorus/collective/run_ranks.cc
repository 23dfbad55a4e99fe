#include "chorus/collective/run_ranks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "chorus/launch/free_port.h"

namespace chorus {
namespace {

// What the ranks gave back, and which of them ended first with an error.
struct Outcomes {
  std::vector<Result<std::string>> by_rank;
  int first_failure = -1;
};

// An exception that left the function of a rank is that rank's error, so that the others get
// theirs.
Result<std::string> CallRank(const RankFunction& function, Group& group) {
  try {
    return function(group);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("there is not enough memory");
  } catch (const std::exception& error) {
    return Internal(fmt::format("an exception was thrown: {}", error.what()));
  } catch (...) {
    return Internal("something that is no std::exception was thrown");
  }
}

Outcomes OnThreads(int n, const RankFunction& function, const JoinOptions& options) {
  Outcomes outcomes;
  Result<std::vector<Group>> joined = JoinThreads(n, options);
  if (!joined.ok()) {
    outcomes.by_rank.assign(static_cast<std::size_t>(n), joined.status());
    outcomes.first_failure = 0;
    return outcomes;
  }
  outcomes.by_rank.assign(static_cast<std::size_t>(n), Result<std::string>(std::string()));
  std::atomic<int> first_failure{-1};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) {
    // The thread alone holds its group, so that a rank that returns leaves at once.
    threads.emplace_back([&, rank, group = std::move((*joined)[static_cast<std::size_t>(rank)])] {
      std::optional<Group> mine(group);
      Result<std::string>& result = outcomes.by_rank[static_cast<std::size_t>(rank)];
      result = CallRank(function, *mine);
      int none = -1;
      if (!result.ok()) first_failure.compare_exchange_strong(none, rank);
    });
  }
  joined->clear();
  for (std::thread& thread : threads) thread.join();
  outcomes.first_failure = first_failure.load();
  return outcomes;
}

// What a child writes into its pipe: a code, then the bytes or the message.
void WriteAll(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

[[noreturn]] void RunChild(int rank, int n, int port, int fd, const RankFunction& function,
                           JoinOptions options) {
  options.rank = rank;
  options.size = n;
  options.port = port;
  Result<std::string> result = std::string();
  {
    Result<Group> group = Join(options);
    result = group.ok() ? CallRank(function, *group) : group.status();
  }
  const auto code = static_cast<char>(result.status().code());
  WriteAll(fd, &code, 1);
  const std::string& text = result.ok() ? *result : result.status().message();
  WriteAll(fd, text.data(), text.size());
  _exit(0);
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t size = read(fd, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(size));
  }
}

struct Child {
  pid_t pid = -1;
  int fd = -1;
};

Result<std::string> Reap(const Child& child, int rank) {
  std::string text = ReadAll(child.fd);
  close(child.fd);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return Status(StatusCode::kPeerLost,
                  fmt::format("rank {} was killed by signal {}", rank, WTERMSIG(status)));
  }
  if (text.empty()) {
    return Status(StatusCode::kPeerLost,
                  fmt::format("rank {} ended with exit code {}", rank, WEXITSTATUS(status)));
  }
  const auto code = static_cast<StatusCode>(text[0]);
  text.erase(0, 1);
  if (code == StatusCode::kOk) return text;
  return Status(code, std::move(text));
}

Outcomes OnProcesses(int n, const RankFunction& function, const JoinOptions& options) {
  Outcomes outcomes;
  const Result<int> port = FreePort();
  std::vector<Child> children;
  for (int rank = 0; port.ok() && rank < n; ++rank) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) break;
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
      // Ranks end with whoever waits for them, however that ends.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      RunChild(rank, n, *port, ends[1], function, options);
    }
    close(ends[1]);
    if (pid < 0) {
      close(ends[0]);
      break;
    }
    children.push_back({pid, ends[0]});
  }
  for (int rank = 0; rank < static_cast<int>(children.size()); ++rank) {
    outcomes.by_rank.push_back(Reap(children[static_cast<std::size_t>(rank)], rank));
  }
  while (static_cast<int>(outcomes.by_rank.size()) < n) {
    outcomes.by_rank.emplace_back(
        ResourceExhausted(fmt::format("rank {} could not be started", outcomes.by_rank.size())));
  }
  // Others fail because of the first; it is the one whose error is not about a peer.
  for (int pass = 0; pass < 2; ++pass) {
    for (int rank = 0; outcomes.first_failure < 0 && rank < n; ++rank) {
      const Status& status = outcomes.by_rank[static_cast<std::size_t>(rank)].status();
      const bool by_itself = status.scope() != ErrorScope::kGroup ||
                             status.message().find(fmt::format("rank {} was killed", rank)) == 0 ||
                             status.message().find(fmt::format("rank {} ended", rank)) == 0;
      if (!status.ok() && (by_itself || pass == 1)) outcomes.first_failure = rank;
    }
  }
  return outcomes;
}

Outcomes Run(int n, RankKind kind, const RankFunction& function, const JoinOptions& options) {
  if (n < 1) {
    return {{InvalidArgument(fmt::format("{} ranks; at least 1 is needed", n))}, 0};
  }
  return kind == RankKind::kThreads ? OnThreads(n, function, options)
                                    : OnProcesses(n, function, options);
}

Status FirstFailure(const Outcomes& outcomes) {
  if (outcomes.first_failure < 0) return OkStatus();
  const Status& status =
      outcomes.by_rank[static_cast<std::size_t>(outcomes.first_failure)].status();
  return status.WithContext(fmt::format("rank {}", outcomes.first_failure));
}

}  // namespace

std::string_view Name(RankKind kind) {
  return kind == RankKind::kThreads ? "threads" : "processes";
}

Status RunRanks(int n, RankKind kind, const std::function<Status(Group& group)>& function,
                const JoinOptions& options) {
  const RankFunction wrapped = [&](Group& group) -> Result<std::string> {
    Status status = function(group);
    if (!status.ok()) return status;
    return std::string();
  };
  return FirstFailure(Run(n, kind, wrapped, options));
}

Result<std::vector<std::string>> CollectFromRanks(int n, RankKind kind,
                                                  const RankFunction& function,
                                                  const JoinOptions& options) {
  Outcomes outcomes = Run(n, kind, function, options);
  CHORUS_RETURN_IF_ERROR(FirstFailure(outcomes));
  std::vector<std::string> results;
  for (Result<std::string>& result : outcomes.by_rank) results.push_back(std::move(*result));
  return results;
}

std::vector<Result<std::string>> OutcomeOfRanks(int n, RankKind kind, const RankFunction& function,
                                                const JoinOptions& options) {
  return Run(n, kind, function, options).by_rank;
}

}  // namespace chorus
