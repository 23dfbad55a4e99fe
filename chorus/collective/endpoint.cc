#include "chorus/collective/endpoint.h"

#include <sched.h>

#include <algorithm>

#include "chorus/collective/group_core.h"
#include "chorus/probe/cores.h"

namespace chorus {
namespace {

// Rounds of looking in vain before the clock is read for the first time, some 30 us: longer than a
// small message of a rank that runs takes to come.
constexpr int kSpins = 1000;
// How long a rank with a core to itself then goes on looking before it sleeps. A peer that works on
// its tile of a large message takes tens of microseconds, and waking up costs as much; a rank that
// waits for long has slept nearly all of it.
constexpr std::chrono::microseconds kSpinTime{1000};
constexpr int kSpinsPerClock = 64;
// With more ranks than cores the peer needs this core. It gets it at once from a rank that yields,
// for a tenth of what sleeping and being woken cost. A rank must go on so for longer than it takes
// to wake one up: else ranks that sleep make ranks that wait for them sleep too, and never stop.
constexpr int kCrowdedSpins = 16;
constexpr std::chrono::microseconds kCrowdedSpinTime{200};
constexpr int kCrowdedSpinsPerClock = 4;

constexpr int kPollsPerInspection = 64;

// Ranks that are bound to one core each see only that: what counts is what all of them have.
double CoresFor(const Transport& transport) {
  return std::min<double>(transport.cores(), CpuQuota().value_or(transport.cores()));
}

}  // namespace

Endpoint::Endpoint(std::unique_ptr<Transport> transport, std::shared_ptr<TraceRecorder> trace)
    : trace_(std::move(trace)),
      transport_(std::move(transport)),
      crowded_(transport_->size() > CoresFor(*transport_)) {}

void Endpoint::Remove(GroupCore* group) {
  groups_.erase(std::remove(groups_.begin(), groups_.end(), group), groups_.end());
}

void Endpoint::Release(const Region& region) {
  if (InForkedChild()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!puts_aside_) transport_->Release(region);
}

bool Endpoint::Advance() {
  bool moved = transport_->Poll();
  for (GroupCore* group : groups_) moved = group->Advance() || moved;
  return moved;
}

void Endpoint::Finished(std::vector<std::function<void(const Status&)>> callbacks,
                        const Status& status) {
  for (auto& callback : callbacks) due_.emplace_back(std::move(callback), status);
}

Endpoint::Clock::time_point Endpoint::Inspect() {
  const Clock::time_point now = Clock::now();
  Clock::time_point next = now + std::chrono::hours(1);
  for (GroupCore* group : groups_) next = std::min(next, group->Inspect(now));
  return next;
}

Status Endpoint::Wait(Operation& operation, std::optional<std::chrono::milliseconds> patience) {
  if (InForkedChild()) {
    // No lock: a thread that does not exist here may hold it.
    if (operation.done) return operation.status;
    return Status(StatusCode::kAborted,
                  "this process was forked from a rank and is no rank itself");
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (patience.has_value() && !operation.done) {
    operation.GiveDeadline(std::min(*patience, kLongestTimeout));
  }
  return Wait(operation, lock);
}

// Whether to look again at once after looking `spun` times in vain.
bool Endpoint::SpinsOn(int spun, Clock::time_point& end) const {
  const int spins = crowded_ ? kCrowdedSpins : kSpins;
  const int per_clock = crowded_ ? kCrowdedSpinsPerClock : kSpinsPerClock;
  if (spun <= spins || spun % per_clock != 0) return true;
  const Clock::time_point now = Clock::now();
  if (spun <= spins + per_clock) end = now + (crowded_ ? kCrowdedSpinTime : kSpinTime);
  return now < end;
}

Status Endpoint::Wait(Operation& operation, std::unique_lock<std::mutex>& lock) {
  AdvanceUntilDone(operation, lock);
  Status status = operation.status;
  Unlock(lock);
  return status;
}

void Endpoint::Unlock(std::unique_lock<std::mutex>& lock) {
  const bool calls_back = !due_.empty();
  lock.unlock();
  if (calls_back) RunCallbacks();
}

void Endpoint::AdvanceUntilDone(const Operation& operation, std::unique_lock<std::mutex>& lock) {
  int spun = 0;
  Clock::time_point spin_end;
  while (!operation.done) {
    const bool moved = Advance();
    if (!due_.empty() && !operation.done) {
      // What is waited for may come of what they start, here or on a peer.
      Unlock(lock);
      lock.lock();
      continue;
    }
    if (moved) {
      spun = 0;
      continue;
    }
    if (SpinsOn(++spun, spin_end)) {
      // Another thread of this rank may want to call too.
      lock.unlock();
      if (crowded_) sched_yield();
      lock.lock();
      continue;
    }
    // Armed before the last look, so that whatever comes after it wakes us.
    const Transport::Ticket ticket = transport_->Arm();
    const bool moves = Advance();
    const Clock::time_point next = Inspect();
    if (moves || operation.done || !due_.empty()) {
      transport_->Disarm();
      continue;
    }
    lock.unlock();
    transport_->Wait(ticket, next);
    lock.lock();
  }
}

void Endpoint::WaitUntil(const std::function<bool()>& ready, Clock::time_point deadline,
                         std::unique_lock<std::mutex>& lock) {
  while (!ready() && Clock::now() < deadline) {
    if (Advance()) continue;
    const Transport::Ticket ticket = transport_->Arm();
    const bool moved = Advance();
    const Clock::time_point next = Inspect();
    if (moved || ready()) {
      transport_->Disarm();
      continue;
    }
    lock.unlock();
    transport_->Wait(ticket, std::min(next, deadline));
    lock.lock();
  }
}

bool Endpoint::Poll(const Operation& operation) {
  if (InForkedChild()) return true;  // Wait says why
  bool done = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool moved = Advance();
    if (!moved && !operation.done) {
      // Looking for failures costs more than a look for progress, and may come a little later.
      if (++idle_polls_ % kPollsPerInspection == 0) Inspect();
    } else {
      idle_polls_ = 0;
    }
    done = operation.done;
  }
  RunCallbacks();
  return done;
}

void Endpoint::RunCallbacks() {
  if (InForkedChild()) return;
  for (;;) {
    std::vector<std::pair<std::function<void(const Status&)>, Status>> due;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      due.swap(due_);
    }
    if (due.empty()) return;
    for (const auto& [callback, status] : due) callback(status);
  }
}

}  // namespace chorus
