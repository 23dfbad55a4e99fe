#include "chorus/apps/studio/server/slots.h"

#include <chrono>

namespace chorus::studio {
namespace {

constexpr std::chrono::milliseconds kAskAgain(100);

}  // namespace

Slots::Slots(int count, int most_waiting) : free_(count), may_wait_(most_waiting) {}

Slots::Turn Slots::Take(const std::function<bool()>& gives_up) {
  std::unique_lock lock(mutex_);
  if (free_ == 0 && may_wait_ == 0 && !closed_) return Turn::kTooMany;
  --may_wait_;
  bool leaves = closed_ || gives_up();
  while (!leaves && free_ == 0) {
    changed_.wait_for(lock, kAskAgain);
    leaves = closed_ || gives_up();
  }
  ++may_wait_;
  if (leaves) {
    changed_.notify_one();  // for whom this thread was woken, if it was
    return Turn::kGivenUp;
  }
  --free_;
  return Turn::kTaken;
}

void Slots::Give() {
  const std::lock_guard lock(mutex_);
  ++free_;
  changed_.notify_one();
}

void Slots::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace chorus::studio
