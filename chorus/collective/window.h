// Window: memory of every rank of a group that the other ranks write into, and signals that they
// have.
//
//   auto x = group.Allocate<float>(n);             // on every rank
//   auto window = group.OpenWindow(*x);            // a collective call
//   window->Put(y, /*to=*/1, /*at=*/100);          // rank 0: x[100...] of rank 1 becomes y
//   window->WaitSignals(/*from=*/0, 1);            // rank 1: the first put of rank 0 is there
//
// A put is one copy, done when the call returns; its receiver takes no part. Each put signals: who
// sees a signal sees the bytes of that put and of all earlier ones of that rank. Puts of several
// ranks to the same elements, and reads of elements that may be written now, are the caller's to
// order.
//
// A handle: copies mean the same window. The last one on a rank may go only when no rank puts to it
// any more (after a Barrier, for example), and the memory of the window must live as long. Thread
// safety: any thread may call at any time. Public API: compiles as C++17.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "chorus/base/status.h"
#include "chorus/collective/group.h"

namespace chorus {

class Window {
 public:
  // Elements of the memory of `rank`.
  std::int64_t size(int rank) const;

  // Elements [at, at + data.count) of the memory of rank `to` become `data`; then signals it once.
  // `to` may be this rank; `data` may be empty, and then only signals. Errors, with nothing
  // written: kInvalidArgument if `to` is no rank, the dtype is another than the window's, or its
  // memory is too short; the group's error if the group is over.
  Status Put(ConstBuffer data, int to, std::int64_t at);

  // Signals that have come from rank `from` since the window was opened.
  std::uint64_t signals(int from) const;
  // Returns when there are at least `count`. Outcomes otherwise as of Group::Recv.
  Status WaitSignals(int from, std::uint64_t count, const CallOptions& options = {});
  Work WaitSignalsAsync(int from, std::uint64_t count, const CallOptions& options = {});

  class Impl;  // of chorus/collective, not for users
  explicit Window(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace chorus
