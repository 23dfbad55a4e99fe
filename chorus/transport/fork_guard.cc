#include "chorus/transport/fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace chorus {
namespace {

std::atomic<std::uint32_t> generation{0};

}  // namespace

std::uint32_t ForkGuard::Generation() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++generation; });
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace chorus
