#include "chorus/tensor/shifts_under_way.h"

#include <utility>

namespace chorus {
namespace {

constexpr std::chrono::microseconds kLookEvery{500};
// How long a message that asks and its answer may take over a link between hosts.
constexpr std::chrono::microseconds kAnswered{300};
// What is shorter has come when the next operation ends; a thread would cost more than it hides.
constexpr std::int64_t kLeastLookedFor = std::int64_t{256} << 10;

}  // namespace

ShiftsUnderWay::~ShiftsUnderWay() {
  static_cast<void>(WaitForAll());
  if (!looker_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  looker_.join();
}

void ShiftsUnderWay::Add(std::size_t i, const ProgramOp& op, std::int64_t bytes, Work work) {
  if (bytes >= kLeastLookedFor) {
    just_begun_ = true;
    const std::lock_guard<std::mutex> lock(mutex_);
    looked_for_ = work;
    if (!looker_.joinable()) looker_ = std::thread([this] { Look(); });
  }
  shifts_.push_back({i, op.operands[0], op.result, std::move(work), Clock::now()});
}

void ShiftsUnderWay::Look() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_over_) {
    Work work = looked_for_;
    lock.unlock();
    static_cast<void>(work.Done());
    lock.lock();
    changed_.wait_for(lock, kLookEvery, [this] { return is_over_; });
  }
}

void ShiftsUnderWay::Advance() {
  for (std::size_t k = 0; k < shifts_.size();) {
    if (shifts_[k].work.Done() && shifts_[k].work.Wait().ok()) {
      End(k);
    } else {
      ++k;  // or failed: who waits for it says so
    }
  }
}

Status ShiftsUnderWay::WaitFor(const ProgramOp& op) {
  for (std::size_t k = 0; k < shifts_.size();) {
    bool needed = op.into == shifts_[k].sends ||
                  (op.kind == ProgramOpKind::kFree && op.operands[0] == shifts_[k].sends);
    for (const ValueId id : op.operands) needed = needed || id == shifts_[k].brings;
    if (!needed) {
      ++k;
      continue;
    }
    CHORUS_RETURN_IF_ERROR(shifts_[k].work.Wait());
    End(k);
  }
  if (just_begun_ && op.kind == ProgramOpKind::kCompute) {
    just_begun_ = false;
    const Clock::time_point end = Clock::now() + kAnswered;
    while (!shifts_.empty() && Clock::now() < end) Advance();
  }
  return OkStatus();
}

Status ShiftsUnderWay::WaitForAll() {
  Status first;
  while (!shifts_.empty()) {
    Status status = shifts_.front().work.Wait();
    if (first.ok()) first = std::move(status);
    End(0);
  }
  return first;
}

void ShiftsUnderWay::End(std::size_t k) {
  const Shift& shift = shifts_[k];
  const Clock::time_point end = Clock::now();
  op_times_[shift.number] = Seconds(std::chrono::duration<double>(end - shift.begin).count());
  if (trace_ != nullptr) {
    trace_->Add("shift " + program_.value(shift.brings).name(), /*is_shift=*/true, shift.begin,
                end);
  }
  shifts_.erase(shifts_.begin() + static_cast<std::ptrdiff_t>(k));
}

}  // namespace chorus
