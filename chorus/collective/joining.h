// Joining: Join without waiting for the others.
//
//   Joining joining = JoinAsync();
//   while (!joining.Done()) { ...load the data... }
//   Result<Group> group = joining.Wait();
//
// A handle: copies mean the same joining. When the last one goes before all have met, the joining
// is cancelled. Thread safety: any thread may call at any time. Public API: compiles as C++17.
#pragma once

#include <chrono>
#include <memory>

#include "chorus/base/status.h"
#include "chorus/collective/group.h"

namespace chorus {

class Joining {
 public:
  // Whether Wait would return at once.
  bool Done() const;
  // The group, or why there is none, as of Join: kDeadlineExceeded, after join_timeout, naming the
  // ranks that did not come; kAborted if this rank, or rank 0, gave up. The same each time.
  Result<Group> Wait() const;
  // The same; but kDeadlineExceeded after `timeout`, naming the ranks that this one waits for (on
  // rank 0 all who have not come; elsewhere rank 0, which knows). Joining goes on.
  Result<Group> Wait(std::chrono::milliseconds timeout) const;
  // Gives joining up, if not all have met yet: Wait then returns kAborted soon. Returns at once.
  // The others go on waiting for this rank, until their join_timeout; it may come again.
  void Cancel() const;

  class Impl;  // of chorus/collective, not for users
  explicit Joining(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

// Begins what Join does, on a thread of its own, and returns at once.
Joining JoinAsync(const JoinOptions& options = {});

}  // namespace chorus
