#include "chorus/apps/studio/server/connections.h"

#include <sys/socket.h>

namespace chorus::studio {

void Connections::Add(int fd) {
  const std::lock_guard lock(mutex_);
  Connection& connection = open_[fd];
  connection.since = ++now_;
  if (all_end_) {
    connection.ended = true;
    shutdown(fd, SHUT_RDWR);
    return;
  }
  EndTheLongest();
}

void Connections::Waits(int fd) {
  const std::lock_guard lock(mutex_);
  Connection& connection = open_[fd];
  connection.waits = true;
  connection.since = ++now_;
  EndTheLongest();
}

void Connections::IsAnswered(int fd) {
  const std::lock_guard lock(mutex_);
  open_[fd].waits = false;
}

void Connections::Remove(int fd) {
  const std::lock_guard lock(mutex_);
  open_.erase(fd);
}

void Connections::EndAll() {
  const std::lock_guard lock(mutex_);
  all_end_ = true;
  for (auto& [fd, connection] : open_) {
    connection.ended = true;
    shutdown(fd, SHUT_RDWR);
  }
}

void Connections::EndTheLongest() {
  int waiting = 0;
  auto longest = open_.end();
  for (auto it = open_.begin(); it != open_.end(); ++it) {
    if (!it->second.waits || it->second.ended) continue;
    ++waiting;
    if (longest == open_.end() || it->second.since < longest->second.since) longest = it;
  }
  if (waiting <= most_waiting_) return;
  longest->second.ended = true;
  shutdown(longest->first, SHUT_RDWR);
}

}  // namespace chorus::studio
