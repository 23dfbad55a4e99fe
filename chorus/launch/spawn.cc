#include "chorus/launch/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "chorus/launch/free_port.h"
#include "chorus/launch/program.h"
#include "chorus/probe/cores.h"
#include "chorus/transport/shm/arena.h"

extern char** environ;

namespace chorus {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGrace{2};
constexpr int kSignalBase = 128;  // a shell's exit code for a program killed by signal s is 128 + s

// A name that no other job on this host has or has had.
std::string NewJobName() {
  return fmt::format("{}-{:x}", getpid(), Clock::now().time_since_epoch().count());
}

// This process's variables with those of one rank in place of what they had.
std::vector<std::string> EnvironmentOf(int rank, int port, const std::string& job,
                                       const SpawnOptions& options) {
  const int n = options.ranks;
  std::vector<std::string> mine = {fmt::format("RANK={}", rank),
                                   fmt::format("WORLD_SIZE={}", n),
                                   fmt::format("LOCAL_RANK={}", rank),
                                   fmt::format("LOCAL_WORLD_SIZE={}", n),
                                   "MASTER_ADDR=127.0.0.1",
                                   fmt::format("MASTER_PORT={}", port),
                                   "CHORUS_JOB=" + job};
  mine.insert(mine.end(), options.environment.begin(), options.environment.end());
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {  // NOLINT(concurrency-mt-unsafe)
    mine.push_back(fmt::format("OMP_NUM_THREADS={}", std::max(1, UsableCores() / n)));
  }
  std::vector<std::string> all = mine;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::any_of(mine.begin(), mine.end(), [&](const std::string& other) {
      return other.compare(0, name.size(), name) == 0;
    });
    if (!replaced) all.push_back(text);
  }
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Puts a tag before each line of what a rank writes; a line is passed on when it is whole.
class TaggedOutput {
 public:
  TaggedOutput(Descriptor source, int target, int rank)
      : source_(std::move(source)), target_(target), tag_(fmt::format("[{}] ", rank)) {}

  int fd() const { return source_.get(); }
  bool open() const { return source_.valid(); }

  void Read() {
    char buffer[4096];
    const ssize_t size = read(source_.get(), buffer, sizeof(buffer));
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (size <= 0) {
      if (!line_.empty()) Write(tag_ + line_ + "\n");
      line_.clear();
      source_.Reset();
      return;
    }
    line_.append(buffer, static_cast<std::size_t>(size));
    std::string lines;
    for (std::size_t end = 0; (end = line_.find('\n')) != std::string::npos;) {
      lines += tag_ + line_.substr(0, end + 1);
      line_.erase(0, end + 1);
    }
    Write(lines);
  }

 private:
  void Write(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t size = write(target_, text.data() + done, text.size() - done);
      if (size < 0 && errno != EINTR) return;
      if (size > 0) done += static_cast<std::size_t>(size);
    }
  }

  Descriptor source_;
  int target_;
  std::string tag_;
  std::string line_;
};

// Blocks the signals that are read from a descriptor instead, and unblocks them at the end.
class SignalGuard {
 public:
  SignalGuard() {
    sigset_t mine;
    sigemptyset(&mine);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&mine, signal);
    sigprocmask(SIG_BLOCK, &mine, &before_);
    fd_ = Descriptor(signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~SignalGuard() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  int fd() const { return fd_.get(); }
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
  Descriptor fd_;
};

class Job {
 public:
  Job(const SpawnOptions& options, std::string program)
      : options_(options), program_(std::move(program)) {}
  ~Job() {
    KillAll(SIGKILL);
    // Only now: until then a rank that has ended keeps its number from being given to a stranger.
    for (const Rank& rank : ranks_) {
      while (waitpid(rank.pid, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Status Start() {
    CHORUS_ASSIGN_OR_RETURN(const int port, FreePort());
    for (int rank = 0; rank < options_.ranks; ++rank) {
      CHORUS_RETURN_IF_ERROR(StartRank(rank, port));
    }
    return OkStatus();
  }

  SpawnOutcome Run() {
    while (running_ > 0) {
      WaitForEvents();
      ReadSignals();
      Reap();
      if (kill_at_.has_value() && Clock::now() >= *kill_at_) {
        KillAll(SIGKILL);
        kill_at_.reset();
      }
    }
    // Whatever the ranks have started and left behind holds pipes open, so it goes first.
    KillAll(SIGKILL);
    for (TaggedOutput& output : outputs_) {
      while (output.open()) output.Read();
    }
    if (options_.keep_going && !outcome_.failure.empty() && !ending_) {
      outcome_.failure += fmt::format("; {} of {} ranks ended with code 0",
                                      options_.ranks - failed_, options_.ranks);
    }
    return outcome_;
  }

 private:
  struct Rank {
    pid_t pid = -1;
    bool running = false;
  };
  struct Failure {
    int rank;
    bool killed;
    int code;  // the exit code, or the signal
  };

  Status StartRank(int rank, int port) {
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    if (options_.tag && (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0)) {
      return ResourceExhausted(
          fmt::format("rank {}: pipe: {}", rank, std::strerror(errno)));  // NOLINT
    }
    std::vector<std::string> environment = EnvironmentOf(rank, port, job_, options_);
    std::vector<std::string> command = options_.command;
    const std::vector<char*> environment_pointers = Pointers(environment);
    const std::vector<char*> command_pointers = Pointers(command);
    int trouble[2] = {-1, -1};  // closed by exec, or written to by the child if that fails
    if (pipe2(trouble, O_CLOEXEC) != 0) {
      return ResourceExhausted(
          fmt::format("rank {}: pipe: {}", rank, std::strerror(errno)));  // NOLINT
    }
    const Descriptor trouble_in(trouble[0]);
    Descriptor trouble_out(trouble[1]);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
      return ResourceExhausted(fmt::format("rank {} could not be started: {}", rank,
                                           std::strerror(errno)));  // NOLINT
    }
    if (pid == 0) {
      // Only calls that are safe between fork and exec.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      setpgid(0, 0);
      sigprocmask(SIG_SETMASK, &signals_.before(), nullptr);
      const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
      dup2(nothing, STDIN_FILENO);
      if (options_.tag) {
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
      }
      execve(program_.c_str(), command_pointers.data(), environment_pointers.data());
      const int error = errno;
      const ssize_t written = write(trouble[1], &error, sizeof(error));
      _exit(written == sizeof(error) ? 127 : 126);
    }
    setpgid(pid, pid);  // here too: whoever comes first
    if (options_.tag) {
      close(out[1]);
      close(err[1]);
      outputs_.emplace_back(Descriptor(out[0]), STDOUT_FILENO, rank);
      outputs_.emplace_back(Descriptor(err[0]), STDERR_FILENO, rank);
    }
    ranks_.push_back({pid, true});
    ++running_;
    trouble_out.Reset();
    int error = 0;
    if (read(trouble_in.get(), &error, sizeof(error)) != sizeof(error)) return OkStatus();
    return InvalidArgument(fmt::format("'{}' cannot be run: {}", program_,
                                       std::strerror(error)));  // NOLINT(concurrency-mt-unsafe)
  }

  void WaitForEvents() {
    std::vector<pollfd> list = {{signals_.fd(), POLLIN, 0}};
    for (const TaggedOutput& output : outputs_) list.push_back({output.fd(), POLLIN, 0});
    int timeout = -1;
    if (kill_at_.has_value()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - Clock::now());
      timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    if (poll(list.data(), list.size(), timeout) <= 0) return;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (list[i + 1].revents != 0) outputs_[i].Read();
    }
  }

  void ReadSignals() {
    signalfd_siginfo info{};
    while (read(signals_.fd(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal == SIGCHLD) continue;
      if (!ending_) {
        ending_ = true;
        const std::string before = outcome_.failure.empty() ? "" : outcome_.failure + "; ";
        outcome_ = {
            kSignalBase + signal,
            fmt::format("{}interrupted by signal {}; all ranks were ended", before, signal)};
      }
      KillAll(signal);
      if (!kill_at_.has_value()) kill_at_ = Clock::now() + kGrace;
    }
  }

  // Of ranks that ended since the last look, one that a signal killed is the cause: an exit code is
  // what the others make of its loss.
  void Reap() {
    std::vector<Failure> failures;
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
      Rank& each = ranks_[static_cast<std::size_t>(rank)];
      siginfo_t info{};
      const auto id = static_cast<id_t>(each.pid);
      if (!each.running || waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0) continue;
      if (info.si_pid == 0) continue;
      each.running = false;
      --running_;
      if (info.si_status != 0) {
        failures.push_back({rank, info.si_code != CLD_EXITED, info.si_status});
      }
    }
    std::stable_partition(failures.begin(), failures.end(),
                          [](const Failure& failure) { return failure.killed; });
    for (const Failure& failure : failures) {
      if (!ending_) Failed(failure);
    }
  }

  void Failed(const Failure& failure) {
    const auto [rank, killed, code] = failure;
    // Before the others, so that what it said comes before what they say to its end.
    for (TaggedOutput& output : outputs_) {
      if (output.open()) Drain(output);
    }
    ++failed_;
    if (failed_ == 1) outcome_.exit_code = killed ? kSignalBase + code : code;
    if (failed_ > 1) outcome_.failure += "; ";
    outcome_.failure += killed ? fmt::format("rank {} was killed by signal {}", rank, code)
                               : fmt::format("rank {} exited with code {}", rank, code);
    if (options_.keep_going) return;
    ending_ = true;
    if (running_ > 0) {
      outcome_.failure += "; the others were ended";
      KillAll(SIGTERM);
      kill_at_ = Clock::now() + kGrace;
    }
  }

  static void Drain(TaggedOutput& output) {
    pollfd entry{output.fd(), POLLIN, 0};
    while (output.open() && poll(&entry, 1, 0) > 0) output.Read();
  }

  // The group of a rank outlives it while anything it started runs.
  void KillAll(int signal) const {
    for (const Rank& rank : ranks_) kill(-rank.pid, signal);
  }

  const SpawnOptions& options_;
  const std::string program_;
  const std::string job_ = NewJobName();
  const SignalGuard signals_;
  std::vector<Rank> ranks_;
  std::vector<TaggedOutput> outputs_;
  int running_ = 0;
  int failed_ = 0;       // ranks that failed by themselves
  bool ending_ = false;  // what ranks end with from now on is our doing
  std::optional<Clock::time_point> kill_at_;
  SpawnOutcome outcome_;
};

}  // namespace

Result<SpawnOutcome> SpawnRanks(const SpawnOptions& options) {
  if (options.ranks < 1) {
    return InvalidArgument(fmt::format("{} ranks: at least 1 is needed", options.ranks));
  }
  if (options.command.empty()) return InvalidArgument("no program is given");
  CHORUS_ASSIGN_OR_RETURN(std::string program, FindProgram(options.command[0]));
  Job job(options, std::move(program));
  CHORUS_RETURN_IF_ERROR(job.Start());
  return job.Run();
}

}  // namespace chorus
