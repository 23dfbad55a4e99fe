#include "chorus/apps/studio/server/bounded.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace chorus::studio {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNoMemoryLeft = 77;  // the exit code of a child that wanted too much

// The address space of this process in bytes, 0 if it cannot be read.
std::int64_t AddressSpace() {
  const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[32] = {};  // begins with it, in pages
  const ssize_t some = read(fd, text, sizeof(text) - 1);
  close(fd);
  return some > 0 ? std::strtoll(text, nullptr, 10) * sysconf(_SC_PAGESIZE) : 0;
}

// From now on this process gets `most` bytes more and ends with kNoMemoryLeft when it wants others,
// wherever that is: nothing between here and there can take it for another defect.
void LimitMemory(std::int64_t most) {
  const std::int64_t now = AddressSpace();
  rlimit limit{};
  if (now == 0 || getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, static_cast<rlim_t>(now + most));
  setrlimit(RLIMIT_AS, &limit);
  std::set_new_handler([] { _exit(kNoMemoryLeft); });
}

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t some = write(fd, bytes.data(), bytes.size());
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(some));
  }
}

// The descriptors of `watch` as poll wants them; it leaves out those below 0.
void Watch(const BoundedWatch& watch, pollfd* two) {
  two[0] = {watch.stop, POLLIN, 0};
  two[1] = {watch.connection, POLLRDHUP, 0};
}

// All that comes until the other side closes, into `text`.
BoundedEnd ReadUntil(int fd, Clock::time_point deadline, const BoundedWatch& watch,
                     std::string& text) {
  char buffer[65536];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return BoundedEnd::kTooLong;
    pollfd wanted[3] = {{fd, POLLIN, 0}};
    Watch(watch, wanted + 1);
    const int ready = poll(wanted, 3, static_cast<int>(left.count()) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return BoundedEnd::kFailed;
    if (wanted[1].revents != 0 || wanted[2].revents != 0) return BoundedEnd::kGivenUp;
    if (wanted[0].revents == 0) continue;
    const ssize_t some = read(fd, buffer, sizeof(buffer));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return BoundedEnd::kAnswered;
    text.append(buffer, static_cast<std::size_t>(some));
  }
}

}  // namespace

bool GivesUp(const BoundedWatch& watch) {
  pollfd two[2];
  Watch(watch, two);
  return poll(two, 2, 0) > 0;
}

BoundedResult AnswerWithin(const BoundedLimits& limits, const BoundedWatch& watch,
                           const std::function<BoundedReply()>& answer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return {};
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it was gone before that held
    // Not the connections of others, which would stay open as long as this works.
    constexpr int kBack = 3;
    if (dup2(ends[1], kBack) < 0) _exit(1);
    close_range(kBack + 1, ~0U, 0);
    if (limits.memory > 0) LimitMemory(limits.memory);
    const BoundedReply reply = answer();
    WriteAll(kBack,
             std::string_view(reinterpret_cast<const char*>(&reply.status), sizeof(reply.status)));
    WriteAll(kBack, reply.body);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  BoundedEnd end = ReadUntil(ends[0], Clock::now() + limits.time, watch, text);
  close(ends[0]);
  if (end != BoundedEnd::kAnswered) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (end != BoundedEnd::kAnswered) return {end};
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMemoryLeft) return {BoundedEnd::kTooLarge};
  BoundedReply reply;
  if (status != 0 || text.size() < sizeof(reply.status)) {
    return {BoundedEnd::kLost, {}, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
  }
  std::memcpy(&reply.status, text.data(), sizeof(reply.status));
  text.erase(0, sizeof(reply.status));
  reply.body = std::move(text);
  return {BoundedEnd::kAnswered, std::move(reply)};
}

}  // namespace chorus::studio
