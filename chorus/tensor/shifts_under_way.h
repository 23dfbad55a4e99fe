// ShiftsUnderWay: the shifts of a run that have been begun and not been waited for.
//
// Thread safety: none; lives within one run, and within the memory of what it sends and receives.
#pragma once

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/collective/group.h"
#include "chorus/program/program.h"

namespace chorus {

class ShiftsUnderWay {
 public:
  // `op_times`: where the time of each is put, by number of the operation.
  explicit ShiftsUnderWay(std::vector<Seconds>& op_times) : op_times_(op_times) {}
  ShiftsUnderWay(const ShiftsUnderWay&) = delete;
  ShiftsUnderWay& operator=(const ShiftsUnderWay&) = delete;
  // After an error: what still moves uses the memory of values, so it is waited for.
  ~ShiftsUnderWay() { static_cast<void>(WaitForAll()); }

  // Operation number `i`, a shift, has been begun as `work`.
  void Add(std::size_t i, const ProgramOp& op, Work work) {
    shifts_.push_back({i, op.operands[0], op.result, std::move(work), Clock::now()});
  }
  // Moves them all a little.
  void Advance() {
    for (std::size_t k = 0; k < shifts_.size();) {
      if (shifts_[k].work.Done() && shifts_[k].work.Wait().ok()) {
        End(k);
      } else {
        ++k;
      }
    }
  }
  // Before `op`: waits for those that bring what it uses, and for those that send what it gives
  // back or overwrites. Errors: those of Group.
  Status WaitFor(const ProgramOp& op) {
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
    return OkStatus();
  }
  Status WaitForAll() {
    Status first;
    while (!shifts_.empty()) {
      Status status = shifts_.front().work.Wait();
      if (first.ok()) first = std::move(status);
      End(0);
    }
    return first;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Shift {
    std::size_t number = 0;
    ValueId sends = kNoValue;
    ValueId brings = kNoValue;
    Work work;
    Clock::time_point begin;
  };

  void End(std::size_t k) {
    op_times_[shifts_[k].number] =
        Seconds(std::chrono::duration<double>(Clock::now() - shifts_[k].begin).count());
    shifts_.erase(shifts_.begin() + static_cast<std::ptrdiff_t>(k));
  }

  std::vector<Seconds>& op_times_;
  std::vector<Shift> shifts_;  // in the order they began
};

}  // namespace chorus
