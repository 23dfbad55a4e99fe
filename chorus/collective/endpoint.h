// Endpoint: one rank of one job: its transport, its groups, and the waiting for all of them.
//
// Any wait moves every group of the rank, so calls on crossed groups cannot block each other:
//
//   Wait(op):  1. advance the head operation of every group
//              2. done?      return
//              3. moved?     again;  else spin a little, by ranks against usable cores
//              4. look for what failed or is late, then sleep on the doorbell until a peer rings
//
// Thread safety: everything that is not const is guarded by `mutex`; see each function.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/operation.h"
#include "chorus/collective/trace_recorder.h"
#include "chorus/transport/fork_guard.h"
#include "chorus/transport/transport.h"

namespace chorus {

class GroupCore;

class Endpoint {
 public:
  using Clock = Operation::Clock;

  // `trace`: what writes down what this rank does, or none; the transport may tell it things too.
  explicit Endpoint(std::unique_ptr<Transport> transport,
                    std::shared_ptr<TraceRecorder> trace = nullptr);

  Transport& transport() { return *transport_; }
  std::mutex& mutex() { return mutex_; }
  // Null if nothing is traced. To be used locked.
  TraceRecorder* trace() const { return trace_.get(); }
  bool InForkedChild() const { return fork_guard_.InChild(); }

  // REQUIRES of the following: the mutex is held by `lock` or the caller.
  void Add(GroupCore* group) { groups_.push_back(group); }
  void Remove(GroupCore* group);
  // Peers may still write to memory that an operation was using when its group failed: from now on
  // nothing that Release is given is used again.
  void PutMemoryAside() { puts_aside_ = true; }
  // Gives back memory from the transport. REQUIRES: not locked.
  void Release(const Region& region);
  // Advances every group; true if anything moved.
  bool Advance();
  // For callbacks that are due; they run when the lock is given up, while a thread waits too.
  void Finished(std::vector<std::function<void(const Status&)>> callbacks, const Status& status);

  // Advances until `operation` is done, failing it if `patience` passes first. REQUIRES: not
  // locked.
  Status Wait(Operation& operation, std::optional<std::chrono::milliseconds> patience);
  // The same with the mutex held by `lock`, which is given up. REQUIRES: not in a forked child.
  Status Wait(Operation& operation, std::unique_lock<std::mutex>& lock);
  // Its two halves: the mutex is held when the first returns, but is given up in between, for
  // callbacks too; the second gives it up and runs callbacks that are due.
  void AdvanceUntilDone(const Operation& operation, std::unique_lock<std::mutex>& lock);
  void Unlock(std::unique_lock<std::mutex>& lock);
  // Advances, and sleeps until a peer rings, while `ready`, called with the mutex held, says no and
  // `deadline` has not passed. REQUIRES: locked by `lock`, and again when it returns.
  void WaitUntil(const std::function<bool()>& ready, Clock::time_point deadline,
                 std::unique_lock<std::mutex>& lock);
  // Advances once. REQUIRES: not locked.
  bool Poll(const Operation& operation);
  // Runs callbacks that are due. REQUIRES: not locked.
  void RunCallbacks();

 private:
  // Fails what cannot go on or is late; returns when the next operation will be late.
  Clock::time_point Inspect();
  bool SpinsOn(int spun, Clock::time_point& end) const;

  const std::shared_ptr<TraceRecorder> trace_;
  const std::unique_ptr<Transport> transport_;
  const ForkGuard fork_guard_;
  const bool crowded_;  // more ranks than cores: spinning would only take them from each other
  std::mutex mutex_;
  std::vector<GroupCore*> groups_;
  bool puts_aside_ = false;
  int idle_polls_ = 0;  // since anything moved
  std::vector<std::pair<std::function<void(const Status&)>, Status>> due_;
};

}  // namespace chorus
