// DeathWatch: a thread that notices within milliseconds when a process of the job has ended.
//
// It sleeps in poll() on the pidfds of all peers and costs nothing meanwhile. Thread safety: all
// functions from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "chorus/transport/fork_guard.h"
#include "chorus/transport/shm/arena.h"

namespace chorus {

class DeathWatch {
 public:
  // pidfds[i]: the process of rank i; invalid for this rank. `on_end(i)` is called on the watching
  // thread after ended(i) has become true.
  DeathWatch(std::vector<Descriptor> pidfds, std::function<void(int)> on_end);
  ~DeathWatch();
  DeathWatch(const DeathWatch&) = delete;
  DeathWatch& operator=(const DeathWatch&) = delete;

  bool ended(int rank) const {
    return ended_[static_cast<std::size_t>(rank)].load(std::memory_order_acquire);
  }

 private:
  void Watch();

  const std::vector<Descriptor> pidfds_;
  const std::function<void(int)> on_end_;
  const ForkGuard fork_guard_;
  std::vector<std::atomic<bool>> ended_;
  Descriptor stop_;  // an eventfd
  std::thread thread_;
};

}  // namespace chorus
