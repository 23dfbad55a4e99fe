// CallList: several calls on one group that are posted together and are done together, as between
// ncclGroupStart and ncclGroupEnd.
//
//   CallList calls(group);
//   for (auto& gradient : small_ones) calls.AllReduce(gradient);
//   calls.Send(x, right).Recv(y, left);          // in whatever order: neither waits for the other
//   Status status = calls.Run();                  // or Work work = calls.Start();
//
// Small all_reduces of one dtype and reduction really go as one: they are packed, and cost one call
// and two copies of their bytes; their results have the bits that calls by themselves would give
// them (collective/coalesce.h says when it is done). Such a packed call is one operation with one
// number, and one call in Group::traffic. All else goes one after another in the order of the list.
//
// Calls of a list have no order among each other: what one writes no other may read or write, and a
// list that asks for it is refused. All ranks give the same collective calls in the same order;
// sends and receives match as ever. Errors name the call: "all_reduce #17, call 3 of 5: ...".
//
// Arguments and errors of each call are those of the function of Group with its name. Nothing is
// checked before Start, Run or Prepare. The buffers must live until the list is done. Thread
// safety: one thread at a time. Public API: compiles as C++17.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/group.h"

namespace chorus {

class PersistentCalls;

class CallList {
 public:
  explicit CallList(const Group& group);
  ~CallList();
  CallList(CallList&& other) noexcept;
  CallList& operator=(CallList&& other) noexcept;

  using Counts = std::vector<std::int64_t>;

  CallList& AllReduce(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
                      const CallOptions& options = {});
  CallList& AllReduce(MutableBuffer inout, const Reduction& op = ReduceOp::kSum,
                      const CallOptions& options = {});
  CallList& AllGather(ConstBuffer in, MutableBuffer out, const CallOptions& options = {});
  CallList& AllGatherV(ConstBuffer in, MutableBuffer out, const Counts& counts,
                       const CallOptions& options = {});
  CallList& ReduceScatter(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
                          const CallOptions& options = {});
  CallList& ReduceScatterV(ConstBuffer in, MutableBuffer out, const Counts& counts,
                           const Reduction& op = ReduceOp::kSum, const CallOptions& options = {});
  CallList& Broadcast(MutableBuffer inout, int root, const CallOptions& options = {});
  CallList& Reduce(ConstBuffer in, MutableBuffer out, const Reduction& op, int root,
                   const CallOptions& options = {});
  CallList& Gather(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options = {});
  CallList& GatherV(ConstBuffer in, MutableBuffer out, const Counts& counts, int root,
                    const CallOptions& options = {});
  CallList& Scatter(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options = {});
  CallList& ScatterV(ConstBuffer in, MutableBuffer out, const Counts& counts, int root,
                     const CallOptions& options = {});
  CallList& AllToAll(ConstBuffer in, MutableBuffer out, const CallOptions& options = {});
  CallList& AllToAllV(ConstBuffer in, MutableBuffer out, const Counts& send_counts,
                      const Counts& recv_counts, const CallOptions& options = {});
  CallList& Scan(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
                 const CallOptions& options = {});
  CallList& ExScan(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
                   const CallOptions& options = {});
  CallList& Barrier(const CallOptions& options = {});
  CallList& Send(ConstBuffer data, int to, int tag = 0, const CallOptions& options = {});
  // `received`, if not null, is written before the list is done and must live until then.
  CallList& Recv(MutableBuffer data, int from, int tag = 0, Received* received = nullptr,
                 const CallOptions& options = {});

  // Calls in the list.
  int size() const;

  // Posts all calls; the list is then empty. The Work is done when all of them are, with the error
  // of the call that failed first. An empty list is done at once.
  Work Start();
  // The same, and waits.
  Status Run();

  // A collective call, unless the list has sends and receives alone: has these calls checked,
  // agreed on by the ranks and lowered, to be started many times; see PersistentCalls. The list is
  // then empty. Errors: a refused call, on the rank itself with its reason; kMismatch showing both
  // sides if ranks give different collective calls. After either the group stays usable.
  Result<PersistentCalls> Prepare(const CallOptions& options = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace chorus
