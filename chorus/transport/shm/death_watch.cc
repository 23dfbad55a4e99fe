#include "chorus/transport/shm/death_watch.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace chorus {

DeathWatch::DeathWatch(std::vector<Descriptor> pidfds, std::function<void(int)> on_end)
    : pidfds_(std::move(pidfds)),
      on_end_(std::move(on_end)),
      ended_(pidfds_.size()),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

DeathWatch::~DeathWatch() {
  if (fork_guard_.InChild()) {
    thread_.detach();  // it does not exist here
    return;
  }
  const std::uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0) {
  }
  thread_.join();
}

void DeathWatch::Watch() {
  std::vector<pollfd> list;
  for (const Descriptor& pidfd : pidfds_) list.push_back({pidfd.get(), POLLIN, 0});
  list.push_back({stop_.get(), POLLIN, 0});
  for (;;) {
    if (poll(list.data(), list.size(), -1) < 0) continue;
    if (list.back().revents != 0) return;
    for (std::size_t i = 0; i < pidfds_.size(); ++i) {
      if (list[i].revents == 0) continue;
      list[i].fd = -1;  // poll skips it from now on
      list[i].revents = 0;
      ended_[i].store(true, std::memory_order_release);
      on_end_(static_cast<int>(i));
    }
  }
}

}  // namespace chorus
