// Operation: one call on its way through a group, from Submit to its outcome.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/call.h"
#include "chorus/collective/shape_cache.h"

namespace chorus {

// "Forever", where the largest number of milliseconds would wrap around when it is added to now.
inline constexpr std::chrono::milliseconds kLongestTimeout = std::chrono::hours(24 * 365 * 50);

// All members are guarded by the mutex of the Endpoint.
struct Operation {
  using Clock = std::chrono::steady_clock;

  Call call;
  std::uint64_t sequence = 0;
  std::chrono::milliseconds timeout{0};
  // Set by the first look at the clock that the operation needs; most end before that.
  std::optional<Clock::time_point> deadline;

  bool started = false;
  std::shared_ptr<CallShape> shape;  // none if the call was refused
  // Of a refused call, whose outcome comes before the operations in front of it are done.
  std::vector<std::int64_t> counts;
  // reduce_scatter into the beginning of `in`: the result is made here and copied at the end.
  std::vector<std::byte> detour;

  bool done = false;
  Status status;  // once done
  std::vector<std::function<void(const Status&)>> callbacks;

  // As new, but with the memory it has.
  void Reset();
  // Of a call that is refused and may outlive the caller's counts.
  void KeepCounts();
};

}  // namespace chorus
