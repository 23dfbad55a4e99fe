// Doorbell: one word per rank on which it sleeps and by which its peers wake it.
//
// The classic race (look, find nothing, sleep; meanwhile something came) is closed as Dekker does:
//
//   sleeper                                 ringer
//   sleepers += 1          (seq_cst)        publish, e.g. head = ...   (seq_cst)
//   look for work          (seq_cst)        if sleepers > 0 ...        (seq_cst)
//   futex wait on `rings`                       rings += 1, futex wake
//
// so one of them sees the other's store. Where the sleeper has the kernel order the stores of all
// ranks in between (membarrier, a system call before it sleeps), the ringer needs no fence: it goes
// on while its stores are still on their way, which for a small message is a third of its time.
// Lives in memory shared by processes. Thread safety: all functions from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace chorus {

// The order of a store that Links::PostsAreOut separates from the ringing.
#if defined(__SANITIZE_THREAD__)  // which knows no fences
inline constexpr std::memory_order kPostOrder = std::memory_order_seq_cst;
inline void FenceStores() {}
#else
inline constexpr std::memory_order kPostOrder = std::memory_order_release;
inline void FenceStores() { std::atomic_thread_fence(std::memory_order_seq_cst); }
#endif

// Lets other processes order the stores of this one with OrderAllStores. False: not possible here.
bool LetStoresBeOrdered();
// Between Arm and looking: what any rank for which LetStoresBeOrdered held had stored before it
// looked for sleepers in vain is seen from now on. REQUIRES: it held for this process.
void OrderAllStores();

class alignas(128) Doorbell {
 public:
  using Clock = std::chrono::steady_clock;

  // Called after publishing. No system call unless somebody sleeps.
  void Ring() {
    if (sleepers_.load(std::memory_order_seq_cst) != 0) WakeAll();
  }
  // Wakes sleepers whatever they look for.
  void WakeAll();

  std::uint32_t Arm() {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    return rings_.load(std::memory_order_seq_cst);
  }
  void Disarm() { sleepers_.fetch_sub(1, std::memory_order_seq_cst); }
  // Sleeps until rung since `ticket`, or `deadline`. Disarms.
  void Wait(std::uint32_t ticket, Clock::time_point deadline);

 private:
  std::atomic<std::uint32_t> rings_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace chorus
