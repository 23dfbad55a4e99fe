// FaultInjector: ends or stops this process at a chosen moment of its collective calls.
//
//   kPoint  before the k-th point at which it and its peers could tell (WatchTransport); looking
//           again for what has not come is no new point
//   kPage   as it touches a page of a buffer: in the middle of a copy or a sum
//   kTime   after so many microseconds, wherever it is
//
// One per process, because a signal handler needs it. Thread safety: the thread of the rank only.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <ctime>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "chorus/transport/shm/pages_test.h"
#include "chorus/transport/watched/watched_transport.h"

namespace chorus {

struct ProcessFault {
  enum class Where : std::uint8_t { kNone, kPoint, kPage, kTime };
  Where where = Where::kNone;
  std::int64_t at = 0;  // point; page of the buffer; microseconds
  bool stops = false;   // SIGSTOP, else SIGKILL
};

class FaultInjector {
 public:
  static FaultInjector& Get() {
    static FaultInjector injector;
    return injector;
  }

  // For JoinOptions::wrap.
  std::unique_ptr<Transport> Wrap(std::unique_ptr<Transport> inner) {
    return WatchTransport(std::move(inner), [this](const TransportPoint& point) { Pass(point); });
  }

  // From now on points are counted, and the fault comes when it is its turn. `memory` begins on a
  // page; it is what kPage means.
  void Arm(const ProcessFault& fault, std::span<std::byte> memory) {
    fault_ = fault;
    points_ = 0;
    seen_.clear();
    is_armed_ = true;
    if (fault.where == ProcessFault::Where::kPage) Protect(memory);
    if (fault.where == ProcessFault::Where::kTime) SetTimer();
  }
  // The fault comes now, if it has not come. Returns how many points there were.
  std::int64_t End() {
    const bool is_due = is_armed_ && fault_.where != ProcessFault::Where::kNone && !TimerHasFired();
    if (is_due) Strike();
    is_armed_ = false;
    return points_;
  }

 private:
  FaultInjector() = default;

  void Pass(const TransportPoint& point) {
    using Kind = TransportPoint::Kind;
    // These tell of what has been: nothing can happen between them and the point before.
    const bool is_told_late = point.kind == Kind::kLaneSent || point.kind == Kind::kMoved;
    if (!is_armed_ || is_told_late) return;
    const bool is_look =
        point.kind == Kind::kLaneFrom || point.kind == Kind::kLaneTo || point.kind == Kind::kBegin;
    if (!is_look) seen_.clear();
    if (is_look && !seen_.emplace(point.kind, point.peer).second) return;
    if (fault_.where == ProcessFault::Where::kPoint && points_ == fault_.at) Strike();
    ++points_;
  }

  void Strike() {
    is_armed_ = false;
    if (page_ != nullptr) AllowTestPages(page_, page_bytes_, true);
    page_ = nullptr;
    kill(getpid(), fault_.stops ? SIGSTOP : SIGKILL);
  }

  void Protect(std::span<std::byte> memory) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t pages = memory.size() / page;
    if (pages == 0) return;
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      if (Get().page_ == nullptr) std::signal(signal, SIG_DFL);  // a fault that nobody meant
      Get().Strike();
    };
    sigaction(SIGSEGV, &action, nullptr);
    page_bytes_ = page;
    page_ = memory.data() + static_cast<std::size_t>(fault_.at) % pages * page;
    AllowTestPages(page_, page_bytes_, false);
  }

  // The signal itself comes from the timer, also while the process sleeps in the kernel.
  void SetTimer() {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = fault_.stops ? SIGSTOP : SIGKILL;
    itimerspec when{};
    when.it_value.tv_nsec = 1000 * (fault_.at + 1);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0) {
      timer_settime(timer_, 0, &when, nullptr);
    }
  }

  // Ends the timer, if there is one; whether it had fired: what it did must not be done twice.
  bool TimerHasFired() {
    if (fault_.where != ProcessFault::Where::kTime) return false;
    itimerspec left{};
    const itimerspec never{};
    timer_settime(timer_, 0, &never, &left);
    return left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0;
  }

  ProcessFault fault_;
  bool is_armed_ = false;
  std::int64_t points_ = 0;
  // Looks since something else happened.
  std::set<std::pair<TransportPoint::Kind, int>> seen_;
  timer_t timer_{};
  std::byte* page_ = nullptr;
  std::size_t page_bytes_ = 0;
};

}  // namespace chorus
