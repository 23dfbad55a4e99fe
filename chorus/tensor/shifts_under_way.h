// ShiftsUnderWay: the shifts of a run that have been begun and not been waited for.
//
// What moves bytes between ranks is a rank that calls its groups, so while one computes for long
// nothing would: a thread of its own looks every half millisecond, on the same core, and moves what
// has come meanwhile. Before a rank computes it also sees to it that its peers have what they need
// to begin.
// Thread safety: none; lives within one run, and within the memory of what it sends and receives.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/collective/group.h"
#include "chorus/program/program.h"
#include "chorus/tensor/program_trace.h"

namespace chorus {

class ShiftsUnderWay {
 public:
  // `op_times`: where the time of each is put, by number of the operation. `trace` may be null.
  ShiftsUnderWay(const StepProgram& program, std::vector<Seconds>& op_times, ProgramTrace* trace)
      : program_(program), op_times_(op_times), trace_(trace) {}
  ShiftsUnderWay(const ShiftsUnderWay&) = delete;
  ShiftsUnderWay& operator=(const ShiftsUnderWay&) = delete;
  // After an error: what still moves uses the memory of values, so it is waited for.
  ~ShiftsUnderWay();

  // Operation number `i`, a shift of so many bytes, has been begun as `work`.
  void Add(std::size_t i, const ProgramOp& op, std::int64_t bytes, Work work);
  // Moves them all a little.
  void Advance();
  // Before `op`: waits for those that bring what it uses, and for those that send what it gives
  // back or overwrites; before it computes, for a moment, for answers to those just begun. Errors:
  // those of Group.
  Status WaitFor(const ProgramOp& op);
  Status WaitForAll();

 private:
  using Clock = std::chrono::steady_clock;
  struct Shift {
    std::size_t number = 0;
    ValueId sends = kNoValue;
    ValueId brings = kNoValue;
    Work work;
    Clock::time_point begin;
  };

  void Look();
  void End(std::size_t k);

  const StepProgram& program_;
  std::vector<Seconds>& op_times_;
  ProgramTrace* const trace_;
  std::vector<Shift> shifts_;  // in the order they began
  bool just_begun_ = false;    // since this rank last computed, one that is looked for
  std::thread looker_;         // not before there is something to look for
  std::mutex mutex_;           // guards what follows
  std::condition_variable changed_;
  Work looked_for_;  // any that is under way: to look for one is to move all
  bool is_over_ = false;
};

}  // namespace chorus
