// PersistentCalls: calls with fixed buffers that are made once and started many times, as what
// MPI_Allreduce_init gives.
//
//   CallList calls(group);
//   calls.AllReduce(x);
//   auto sum = calls.Prepare();                   // once; a collective call
//   for (...) { Fill(x); status = sum->Run(); }   // or sum->Start(); ...; sum->Wait();
//
// A start checks, looks up and allocates nothing (receives and sends apart, which allocate a
// little), and where the buffers are need not be asked: cheaper than the call, the more so for
// calls of a few KiB in ordinary memory. Each collective call of it is an operation with a number,
// as any other call; the ranks of a group start the same ones in the same order.
//
// A handle: copies mean the same calls. The buffers must live as long as the last handle, or the
// call that runs. Thread safety: one thread at a time. Public API: compiles as C++17.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "chorus/base/status.h"
#include "chorus/collective/group.h"

namespace chorus {

class PersistentCalls {
 public:
  // Posts the calls. kInvalidArgument, with nothing posted, while they still run from the last
  // time; the group's error if it is over.
  Status Start();
  // The outcome, once they are done, as of Work::Wait; ok if they were never started.
  Status Wait();
  Status Wait(std::chrono::milliseconds timeout);
  // Moves all operations of this rank a little; whether they are done.
  bool Done();
  // Start and Wait.
  Status Run();

  class Impl;  // of chorus/collective, not for users
  explicit PersistentCalls(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace chorus
