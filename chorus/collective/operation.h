// Operation: one call on its way through a group, from Submit to its outcome.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/call.h"
#include "chorus/collective/shape_cache.h"

namespace chorus {

// "Forever", where the largest number of milliseconds would wrap around when it is added to now.
inline constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::hours(24 * 365 * 50);

struct ListOperation;

// All members are guarded by the mutex of the Endpoint.
struct Operation {
  using Clock = std::chrono::steady_clock;

  Call call;
  std::uint64_t sequence = 0;
  std::chrono::milliseconds timeout{0};
  // Set by the first look at the clock that the operation needs; most end before that.
  std::optional<Clock::time_point> deadline;

  bool started = false;
  bool is_timed = false;             // its record says when it began and ended
  std::int64_t began = 0;            // if it is timed; steady_clock in ns
  std::shared_ptr<CallShape> shape;  // none if the call was refused; kept by Reset
  // Of a refused call, whose outcome comes before the operations in front of it are done.
  std::vector<std::int64_t> counts;
  // reduce_scatter into the beginning of `in`: the result is made here and copied at the end.
  std::vector<std::byte> detour;

  bool done = false;
  Status status;  // once done
  std::vector<std::function<void(const Status&)>> callbacks;

  // Of a call of a list, while it is not done: the list, and which part of it this is.
  std::shared_ptr<ListOperation> list;
  std::size_t part = 0;
  // Of a list itself, by part. One that has ended may belong to another call by now: then its
  // `list` is not this.
  std::vector<std::weak_ptr<Operation>> parts;

  // Whether the shape it has, of the call before, is that of `next` too.
  bool HasShapeOf(const Call& next) const { return shape != nullptr && shape->IsOf(next); }
  // From now on it is late `patience` after now, and so is each part of a list.
  void GiveDeadline(std::chrono::milliseconds patience);
  // As new, but with its call, its shape and the memory it has.
  void Restart() {
    deadline.reset();
    started = is_timed = done = false;
    if (!status.ok()) status = OkStatus();
    callbacks.clear();
  }
  // The same without its list and what was left in memory.
  void Reset() {
    Restart();
    detour.clear();
    list.reset();
  }
  // Of a call that is refused and may outlive the caller's counts.
  void KeepCounts();
};

// Several operations that were posted together and are done together: what the Work of a list
// holds. It has no number and is in no queue; the last of its parts to end ends it.
struct ListOperation : Operation {
  std::vector<std::vector<int>> calls;  // by part: which calls of the list, from 0, ascending
  int size = 0;                         // calls of the list
  std::size_t parts_left = 0;
  Status first_error;

  // "call 3 of 5", "calls 1 to 4 of 5".
  std::string Describe(std::size_t of_part) const;
};

}  // namespace chorus
