#include "chorus/transport/doorbell.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace chorus {
namespace {

// The shared form of the call works for words of one process and of several.
void Futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value,
           const timespec* timeout) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), operation, value, timeout, nullptr, 0);
}

}  // namespace

bool LetStoresBeOrdered() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void OrderAllStores() { syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); }

void Doorbell::WakeAll() {
  rings_.fetch_add(1, std::memory_order_seq_cst);
  Futex(&rings_, FUTEX_WAKE, INT_MAX, nullptr);
}

void Doorbell::Wait(std::uint32_t ticket, Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now());
  if (left.count() > 0) {
    timespec timeout{};
    timeout.tv_sec = left.count() / 1'000'000'000;
    timeout.tv_nsec = left.count() % 1'000'000'000;
    // If the word has moved on since Arm, this returns at once.
    Futex(&rings_, FUTEX_WAIT, ticket, &timeout);
  }
  Disarm();
}

}  // namespace chorus
