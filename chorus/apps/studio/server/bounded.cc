#include "chorus/apps/studio/server/bounded.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

namespace chorus::studio {
namespace {

using Clock = std::chrono::steady_clock;

void WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t some = write(fd, bytes.data(), bytes.size());
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(some));
  }
}

// All that comes until the other side closes; empty if that is not before `deadline`.
std::optional<std::string> ReadUntil(int fd, Clock::time_point deadline) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd wanted{fd, POLLIN, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(left.count()) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t some = read(fd, buffer, sizeof(buffer));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(some));
  }
}

}  // namespace

std::optional<BoundedReply> AnswerWithin(std::chrono::milliseconds most,
                                         const std::function<BoundedReply()>& answer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return std::nullopt;
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(ends[0]);
    const BoundedReply reply = answer();
    WriteAll(ends[1],
             std::string_view(reinterpret_cast<const char*>(&reply.status), sizeof(reply.status)));
    WriteAll(ends[1], reply.body);
    _exit(0);
  }
  close(ends[1]);
  const std::optional<std::string> text = ReadUntil(ends[0], Clock::now() + most);
  close(ends[0]);
  if (!text) kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  BoundedReply reply;
  if (!text || text->size() < sizeof(reply.status)) return std::nullopt;
  std::memcpy(&reply.status, text->data(), sizeof(reply.status));
  reply.body = text->substr(sizeof(reply.status));
  return reply;
}

}  // namespace chorus::studio
