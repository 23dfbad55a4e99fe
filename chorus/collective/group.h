// Group: ranks that call collectives together. Start here.
//
//   auto group = chorus::Join();                       // from RANK, WORLD_SIZE, ... (see Join)
//   if (!group.ok()) { ...group.status().message()... }
//   std::vector<float> x(1000, 1.0f);
//   chorus::Status status = group->AllReduce(x, chorus::ReduceOp::kSum);
//
// All ranks of a group make the same calls on it in the same order, each with its own buffers. The
// k-th call on a group, whatever it is, is operation #k on every rank; ranks that disagree get an
// error showing both sides.
//
// Thread safety: Group and Work are handles; copies mean the same group. Any thread may call at any
// time. Threads that share one group must themselves make sure that its calls have the same order
// on every rank; calls on different groups need no order and cannot deadlock each other.
//
// Public API: compiles as C++17, includes nothing but base and what is public here.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/base/op_kind.h"
#include "chorus/base/reduction.h"
#include "chorus/base/status.h"
#include "chorus/collective/operation_record.h"
#include "chorus/collective/symmetric_array.h"

namespace chorus {

class Schedule;   // chorus/schedule/schedule.h
class Window;     // chorus/collective/window.h
class Choices;    // chorus/algorithm/choices.h
class Transport;  // chorus/transport/transport.h
class GroupCore;
struct JoinOptions;

// Elements that a call reads: `count` elements of `dtype` at `data`, contiguous (containers without
// data() and size(), and views with strides, do not convert). Not owned; must live until the call
// is done. `data` may be null only if count is 0.
struct ConstBuffer {
  const void* data = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::kF32;

  ConstBuffer() = default;
  ConstBuffer(const void* data_in, std::int64_t count_in, DType dtype_in)
      : data(data_in), count(count_in), dtype(dtype_in) {}
  // From std::vector<float>, std::array<int, 3>, std::span<double>, ...
  template <typename C, typename T = std::remove_pointer_t<decltype(std::declval<C&>().data())>,
            typename = decltype(std::declval<C&>().size())>
  ConstBuffer(const C& c)  // NOLINT: implicit by design
      : data(c.data()),
        count(static_cast<std::int64_t>(c.size())),
        dtype(DTypeOf<std::remove_cv_t<T>>()) {}
};

// Elements that a call writes (and, in place, reads first). Otherwise as ConstBuffer.
struct MutableBuffer {
  void* data = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::kF32;

  MutableBuffer() = default;
  MutableBuffer(void* data_in, std::int64_t count_in, DType dtype_in)
      : data(data_in), count(count_in), dtype(dtype_in) {}
  template <typename C, typename T = std::remove_pointer_t<decltype(std::declval<C&>().data())>,
            typename = decltype(std::declval<C&>().size()),
            typename = std::enable_if_t<!std::is_const_v<T>>>
  MutableBuffer(C&& c)  // NOLINT: implicit by design
      : data(c.data()), count(static_cast<std::int64_t>(c.size())), dtype(DTypeOf<T>()) {}

  operator ConstBuffer() const { return {data, count, dtype}; }  // NOLINT: implicit by design
};

// What one rank sent to other ranks in operations of one kind, counted where the bytes are copied
// (payload only). The v-variants count with their even kind.
struct OpTraffic {
  std::int64_t bytes_sent = 0;
  std::int64_t messages_sent = 0;  // a message without payload (a signal) counts too
  std::int64_t calls = 0;          // operations that were started

  friend bool operator==(const OpTraffic& a, const OpTraffic& b) {
    return a.bytes_sent == b.bytes_sent && a.messages_sent == b.messages_sent && a.calls == b.calls;
  }
};

struct Traffic {
  std::array<OpTraffic, kOpKinds> by_kind{};
  OpTraffic split;           // what Split, Allocate and other agreements exchange
  OpTraffic point_to_point;  // calls: sends and receives; messages: those of the sends

  const OpTraffic& operator[](OpKind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
  OpTraffic& operator[](OpKind kind) { return by_kind[static_cast<std::size_t>(kind)]; }
  // Everything, agreements included.
  OpTraffic Total() const;
};

// Of a receive: a message of any rank, with any tag.
inline constexpr int kAnySource = -1;
inline constexpr int kAnyTag = -1;

// Which message a receive got.
struct Received {
  int source = -1;
  int tag = -1;
  std::int64_t count = 0;  // elements
};

// How one call is to be done. The default is right for nearly everyone.
struct CallOptions {
  // The operation fails when this rank has waited for it this long. 0: the group's default. The
  // clock of an asynchronous call starts when the rank first has nothing to move for it: no clock
  // is read on the way of a call that goes through at once.
  std::chrono::milliseconds timeout{0};
  // "ring", "direct", "binomial", "dissemination"; empty: chosen by size and ranks. All ranks must
  // name the same one. A name that does not exist for the operation is refused.
  std::string algorithm;
  // Not null: this schedule instead of a built-in one, the same on all ranks. It must be a schedule
  // of the operation called, for any group size that includes this one. What a call checks is that
  // this rank's part can be carried out; that the schedule is right, `chorus verify --file` proves.
  // Must live as long as the group. Its header needs C++20.
  const Schedule* schedule = nullptr;
};

// One operation in flight. An empty Work (default constructed) is done and ok.
// The buffers of the call must live until it is done; dropping the handle does not end it.
class Work {
 public:
  Work() = default;

  // Moves all operations of this rank until this one is done; its outcome.
  Status Wait();
  // As Wait, but gives the operation (and with it the group) up after `timeout` if it is not done.
  Status Wait(std::chrono::milliseconds timeout);
  // Moves all operations of this rank a little, without blocking; whether this one is done.
  bool Done();
  // Calls `callback` with the outcome once it is done, from whichever thread notices it: a thread
  // in any call on any group of this rank, also while it waits there, or this one now. The callback
  // may start operations but must neither wait for one nor throw.
  void OnDone(std::function<void(const Status&)> callback);

  class State;  // of chorus/collective, not for users
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// Ranks 0 .. size()-1 that call collectives together. A handle: copies mean the same group. When
// the last handle of a rank is gone the rank leaves the group; that never waits for others.
//
// Outcomes, the same for every operation:
//   ok                 the result is there, and the same bits on every rank that gets it
//   kInvalidArgument, kUnsupported, kNotFound
//                      refused before anything was sent. The call has used up its number; the call
//                      of that number on each rank that needs something of this one fails with
//                      kInvalidArgument. The group stays usable for all of them.
//   kMismatch          the ranks called different things; the message shows both sides
//   kDeadlineExceeded  a rank did not come in time; the message says who waited for whom
//   kPeerLost          a rank's process ended, or the rank left the group
//   kAborted           a rank called Abort, or this rank is the child of a fork
// After the last four the group is over on every rank: each further call returns the same error.
// Output buffers of a failed call are undefined.
//
// Shapes: n = size(). Counts are elements. `in` and `out` must have the same dtype and must not
// overlap, except exactly in place as stated.
class Group {
 public:
  int rank() const;
  int size() const;
  const std::string& name() const;  // "world", after Split "world/1:0", ...; for messages

  // out[i] = op over all ranks r of in_r[i], on every rank. in, out: (V). In place: in == out.
  Status AllReduce(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
                   const CallOptions& options = {});
  Status AllReduce(MutableBuffer inout, const Reduction& op = ReduceOp::kSum,
                   const CallOptions& options = {});
  Work AllReduceAsync(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
                      const CallOptions& options = {});
  Work AllReduceAsync(MutableBuffer inout, const Reduction& op = ReduceOp::kSum,
                      const CallOptions& options = {});

  // out = in_0, in_1, ..., in_{n-1}, on every rank. in: (V), out: (n V). In place: `in` is block
  // rank() of `out`.
  Status AllGather(ConstBuffer in, MutableBuffer out, const CallOptions& options = {});
  Work AllGatherAsync(ConstBuffer in, MutableBuffer out, const CallOptions& options = {});

  // As AllGather with blocks of different sizes: in: (counts[rank()]), out: (sum of counts). All
  // ranks give the same n counts; each may be 0.
  Status AllGatherV(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                    const CallOptions& options = {});
  Work AllGatherVAsync(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                       const CallOptions& options = {});

  // out = block rank() of (op over all ranks r of in_r). in: (n V), out: (V). In place: `out` is
  // block rank() of `in`, or the beginning of `in`; the rest of `in` is then undefined afterwards.
  Status ReduceScatter(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
                       const CallOptions& options = {});
  Work ReduceScatterAsync(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
                          const CallOptions& options = {});

  // As ReduceScatter with blocks of different sizes: in: (sum of counts), out: (counts[rank()]).
  Status ReduceScatterV(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                        const Reduction& op = ReduceOp::kSum, const CallOptions& options = {});
  Work ReduceScatterVAsync(ConstBuffer in, MutableBuffer out,
                           const std::vector<std::int64_t>& counts,
                           const Reduction& op = ReduceOp::kSum, const CallOptions& options = {});

  // inout on every rank = inout of rank `root`. inout: (V).
  Status Broadcast(MutableBuffer inout, int root, const CallOptions& options = {});
  Work BroadcastAsync(MutableBuffer inout, int root, const CallOptions& options = {});

  // On rank `root`: out[i] = op over all ranks r of in_r[i]. in, out: (V). Elsewhere `out` is not
  // touched and may be empty. In place (on root): in == out.
  Status Reduce(ConstBuffer in, MutableBuffer out, const Reduction& op, int root,
                const CallOptions& options = {});
  Work ReduceAsync(ConstBuffer in, MutableBuffer out, const Reduction& op, int root,
                   const CallOptions& options = {});

  // On rank `root`: out = in_0, in_1, ..., in_{n-1}. in: (V), out: (n V). Elsewhere `out` is not
  // touched and may be empty. In place (on root): `in` is block root of `out`.
  Status Gather(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options = {});
  Work GatherAsync(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options = {});

  // As Gather with blocks of different sizes: in: (counts[rank()]), out: (sum of counts). `counts`
  // is read on the root only; elsewhere it may be empty. A rank whose `in` has another size than
  // the root expects is a kMismatch that names both; as with every rooted operation a rank that
  // only sends may hear of it in its next call.
  Status GatherV(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                 int root, const CallOptions& options = {});
  Work GatherVAsync(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                    int root, const CallOptions& options = {});

  // out = block rank() of in of rank `root`. in: (n V), out: (V). Elsewhere than on root `in` is
  // not read and may be empty. In place (on root): `out` is block root of `in`.
  Status Scatter(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options = {});
  Work ScatterAsync(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options = {});

  // As Scatter with blocks of different sizes: in: (sum of counts), out: (counts[rank()]). `counts`
  // is read on the root only, and disagreement is as with GatherV.
  Status ScatterV(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                  int root, const CallOptions& options = {});
  Work ScatterVAsync(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                     int root, const CallOptions& options = {});

  // out = block rank() of in_0, block rank() of in_1, ..., of in_{n-1}. in, out: (n V). In place:
  // in == out, at the price of memory as long as `out` and a copy.
  Status AllToAll(ConstBuffer in, MutableBuffer out, const CallOptions& options = {});
  Work AllToAllAsync(ConstBuffer in, MutableBuffer out, const CallOptions& options = {});

  // As AllToAll with blocks of different sizes: block j of `in` has send_counts[j] elements and
  // goes to rank j, block j of `out` has recv_counts[j] and comes from rank j; blocks lie one after
  // the other. in: (sum of send_counts), out: (sum of recv_counts). In place as AllToAll, if both
  // begin at the same address. Rank s's send_counts[t] must be rank t's recv_counts[s]: if not,
  // every rank gets a kMismatch that names s, t and both numbers.
  Status AllToAllV(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& send_counts,
                   const std::vector<std::int64_t>& recv_counts, const CallOptions& options = {});
  Work AllToAllVAsync(ConstBuffer in, MutableBuffer out,
                      const std::vector<std::int64_t>& send_counts,
                      const std::vector<std::int64_t>& recv_counts,
                      const CallOptions& options = {});

  // out[i] = op over the ranks r <= rank() of in_r[i]. in, out: (V). In place: in == out. kAvg is
  // refused.
  Status Scan(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
              const CallOptions& options = {});
  Work ScanAsync(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
                 const CallOptions& options = {});

  // As Scan over the ranks r < rank(). On rank 0 there is none: `out` is not touched, in place
  // neither, and may be empty.
  Status ExScan(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
                const CallOptions& options = {});
  Work ExScanAsync(ConstBuffer in, MutableBuffer out, const Reduction& op = ReduceOp::kSum,
                   const CallOptions& options = {});

  // Done on a rank only after every rank has called it.
  Status Barrier(const CallOptions& options = {});
  Work BarrierAsync(const CallOptions& options = {});

  // A message to rank `to`, this one included, and the message that a receive takes. They match by
  // rank and tag: a receive takes the oldest message that fits it, a message goes to the oldest
  // receive that it fits, and messages of one rank to another do not overtake each other. They wait
  // for no collective, nor do collectives for them, and they have no number; only their order
  // counts.
  //
  // A send is done when `data` may be written again: a small one soon, a large one when its receive
  // takes it. So ranks that send large messages to each other first and receive then wait for ever,
  // that is until the deadline; SendRecv is for them.
  // A receive is done when the message is in `data`. A message that has another dtype or more
  // elements than `data` has room for is dropped: the receive fails with kInvalidArgument, the send
  // does not hear of it, the group stays usable. Fewer elements are fine. Outcomes otherwise as
  // above. A refused call is this rank's alone: no number is used up.
  Status Send(ConstBuffer data, int to, int tag = 0, const CallOptions& options = {});
  Work SendAsync(ConstBuffer data, int to, int tag = 0, const CallOptions& options = {});
  Result<Received> Recv(MutableBuffer data, int from, int tag = 0, const CallOptions& options = {});
  // `received`, if not null, is written before the operation is done and must live until then.
  Work RecvAsync(MutableBuffer data, int from, int tag = 0, Received* received = nullptr,
                 const CallOptions& options = {});
  // Both at once, as one operation; the buffers must not overlap.
  Result<Received> SendRecv(ConstBuffer send, int to, int send_tag, MutableBuffer recv, int from,
                            int recv_tag, const CallOptions& options = {});
  Work SendRecvAsync(ConstBuffer send, int to, int send_tag, MutableBuffer recv, int from,
                     int recv_tag, Received* received = nullptr, const CallOptions& options = {});

  // A collective call: each rank gets `n` elements that the other ranks can reach, set to zero
  // bytes; see SymmetricArray. kResourceExhausted on every rank if one cannot get them; what is
  // then there is freed again. T is trivially copyable.
  template <typename T>
  Result<SymmetricArray<T>> Allocate(std::int64_t n, const CallOptions& options = {}) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (n > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(T))) n = -1;
    Result<std::shared_ptr<void>> memory =
        AllocateTogether(n < 0 ? -1 : n * static_cast<std::int64_t>(sizeof(T)), options);
    if (!memory.ok()) return memory.status();
    return SymmetricArray<T>(std::move(*memory), n);
  }
  // The same for the allocator of another library: bytes on a page boundary. Not a collective call:
  // ranks need not allocate together, nor alike. May outlive the group; any thread may free it.
  Result<std::shared_ptr<void>> AllocateReachable(std::int64_t bytes);

  // A collective call: each rank lets the others write into `memory`, which is (a part of) an array
  // from Allocate; sizes may differ, the dtype may not. See Window. kUnsupported on every rank if
  // one brings memory that cannot be reached.
  Result<Window> OpenWindow(MutableBuffer memory, const CallOptions& options = {});

  // A collective call: ranks that give the same `color` form a new group, ordered by (key, rank
  // here). REQUIRES: color >= 0 on each rank, else refused.
  Result<Group> Split(int color, int key, const CallOptions& options = {});

  // The ranks in `ranks`, ranks of this group, form a new group in which ranks[i] is rank i. Only
  // they call it, as with MPI_Comm_create_group; a rank may be in many such groups. All of them
  // give the same list and the same `tag` >= 0: threads that make groups of the same ranks at one
  // time give each its own. Refused if a rank is not one, occurs twice, or is not in its own list;
  // the others then hear "refused". kMismatch, showing both lists, if they differ: the group stays
  // usable. Members that another rank's list leaves out hear of it at their deadline, and this
  // group is then over. Counts as point_to_point.
  Result<Group> NewGroup(const std::vector<int>& ranks, int tag = 0,
                         const CallOptions& options = {});

  // A collective call: the group with new processes, `size` ranks in all. Ranks of this group keep
  // their ranks; each new process is one of those from size() on and calls
  // Join({.rank = ..., .size = size, .port = ...}), with the same port. Of `options`, port (else
  // MASTER_PORT) and join_timeout are used. Errors: kMismatch showing both sides if size or port
  // differ; those of Join, naming who did not come. This group stays usable in any case.
  //
  // The new group is one of processes on this host even if this one is of threads. It has a
  // transport of its own: memory that this group allocated is ordinary memory to it, and a wait in
  // the one does not move the calls of the other.
  Result<Group> Grow(int size, const JoinOptions& options);

  // What this rank has sent on this group so far (not on groups split from it).
  Traffic traffic() const;

  // The flight recorder: the last operations of `rank`, oldest first, at most `most` (and about
  // 1,000: that many are kept). Any rank's can be read at any time, that of a rank which has died
  // or stopped too. Sends and receives have no number and are not recorded. REQUIRES: 0 <= rank <
  // size(), else empty.
  std::vector<OperationRecord> Records(int rank, std::size_t most = 1000) const;
  // The same of all ranks, merged, with the first number pointed at where ranks differ; at most
  // `rows` numbers. What is also reported (JoinOptions::report) when a deadline passes or ranks
  // turn out to differ.
  std::string FlightReport(std::size_t rows = 12) const;

  // Gives the group up on every rank: operations in flight and all later ones fail with kAborted
  // and `reason`. Returns at once; not a collective call.
  void Abort(const std::string& reason);

  // A collective call of the ranks that are left: once a rank has died or the group is over, those
  // that still run agree on who they are and form a new group, in the order of their ranks here. A
  // rank that neither comes nor ends within `timeout` (0: the group's default) after another has
  // come is left out, so it must be longer than the time within which all notice the failure. All
  // who get a group get the same; `survivors`, if not null, is set to its ranks' ranks here.
  //
  // Ends this group if it is not over yet: operations in flight fail with kAborted. Works whichever
  // ranks die or stop meanwhile, this one's death included for the others; takes at most `timeout`
  // for each rank that stops meanwhile without ending. Nothing of the old group's memory is used.
  // A rank that was left out gets kDeadlineExceeded. May be called once.
  //
  // Arrays from Allocate remain as they are. A rank that was left out because it was stopped may
  // still write to those of its last operation when it runs again; ranks that ended do not.
  Result<Group> Shrink(std::chrono::milliseconds timeout = std::chrono::milliseconds(0),
                       std::vector<int>* survivors = nullptr);

  class Impl;  // of chorus/collective, not for users
  explicit Group(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  friend const std::shared_ptr<GroupCore>& CoreOf(const Group& group);
  Result<std::shared_ptr<void>> AllocateTogether(std::int64_t bytes, const CallOptions& options);

  std::shared_ptr<Impl> impl_;
};

// How a process becomes a rank. A negative number or an empty text means "from the environment".
struct JoinOptions {
  int rank = -1;        // RANK
  int size = -1;        // WORLD_SIZE
  std::string address;  // MASTER_ADDR; ranks of one host only, so its value is not looked up
  int port = -1;  // MASTER_PORT: where this job (CHORUS_JOB, if that is set) meets on this host
  // Longest time for all ranks to come; 0: as `timeout`.
  std::chrono::milliseconds join_timeout{0};
  // Default deadline of each operation; 0: CHORUS_TIMEOUT in seconds, else 300 s.
  std::chrono::milliseconds timeout{0};
  // Bytes each pair of ranks can have under way in one direction; a multiple of 64, at least 256.
  std::int64_t channel_bytes = std::int64_t{256} << 10;
  // Plain loops instead of vector kernels: the reference, for tests and sanitizers.
  bool plain_kernels = false;
  // Whether small messages go by lanes, mapped buffers are used as they are, large messages between
  // others pass through stages, and the kernel may read buffers of other processes where that is
  // faster and allowed; without the first two everything streams through channels. The same on all
  // ranks. For tests, and to find out what is slow.
  bool use_lanes = true;
  bool use_mapped = true;
  bool use_stages = true;
  bool use_reads = true;
  // Called with Group::FlightReport on the rank that first notices that a deadline has passed or
  // that ranks called different things; must not call into Chorus. Empty: it is printed on stderr,
  // unless the variable CHORUS_FLIGHT_RECORDER is "off".
  std::function<void(const std::string&)> report;
  // Not empty: given what carries this rank's bytes, returns what is to be used in its place. For
  // tests, which watch or disturb it; Transport's header needs C++20.
  std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)> wrap;
};

// Joins the ranks that were started together (by `chorus run`, torchrun, ...) to one group,
// "world". A collective call: returns when all have come. Errors: kInvalidArgument if the
// environment lacks a variable or contradicts itself; kDeadlineExceeded naming the ranks that did
// not come.
Result<Group> Join(const JoinOptions& options = {});

// n ranks within this process, each to be used by its own thread: result[r] is rank r of one group.
// REQUIRES: n >= 1. Of `options` all but rank, size, address and port is used.
Result<std::vector<Group>> JoinThreads(int n, const JoinOptions& options = {});

}  // namespace chorus
