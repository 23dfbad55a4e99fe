// GroupCore: what stands behind the handles of one group on one rank.
//
// Operations are carried out one after another in the order of their numbers; the next starts when
// the one before has ended on this rank. That a rank is at #17 while another is at #18 is normal;
// messages carry their number.
//
// How a failure becomes everyone's:
//   a refused call     its record says so; a peer that waits for this rank in that call gives it
//                      up, says so in its own record, and goes on with the next
//   anything else      Fail: the group is poisoned, on every member, with the text of who noticed
//   a lost process     noticed by each member itself, or told by the first that noticed
//
// Thread safety: the mutex of the Endpoint guards everything that is not const; functions say which
// side of it they want to be called on.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/algorithm/choices.h"
#include "chorus/base/status.h"
#include "chorus/collective/coalesce.h"
#include "chorus/collective/endpoint.h"
#include "chorus/collective/group.h"
#include "chorus/collective/kept_memory.h"
#include "chorus/collective/operation.h"
#include "chorus/collective/p2p.h"
#include "chorus/collective/shape_cache.h"
#include "chorus/transport/links.h"

namespace chorus {

struct GroupSettings {
  std::string name;
  std::chrono::milliseconds timeout{0};
  std::int64_t channel_bytes = 0;
  KernelSet kernels = KernelSet::kFast;
  Ways ways;
  std::shared_ptr<const Choices> choices = std::make_shared<const Choices>();
  std::function<void(const std::string&)> report;  // see JoinOptions; empty: nobody is told
};

// One call of a list: a collective call, or what a send, a receive or both in one move.
struct ListedCall {
  // What the call borrows, kept for it.
  struct Kept {
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> recv_counts;
    std::string algorithm;
  };

  Call call;
  std::shared_ptr<const Kept> kept;
  std::vector<Transfer> transfers;  // not empty: `call` is none
  CallOptions options;              // of the transfers
};

// What PersistentCalls holds: operations that are started again and again. Guarded as they are.
struct Prepared {
  std::vector<std::shared_ptr<Operation>> operations;  // collective calls, each with its shape
  std::vector<ListedCall> transfers;
  std::shared_ptr<ListOperation> list;  // null if there is one collective call and nothing else

  Operation& whole() const { return list != nullptr ? *list : *operations[0]; }
};

class GroupCore {
 public:
  using Clock = Operation::Clock;

  GroupCore(std::shared_ptr<Endpoint> endpoint, std::unique_ptr<Links> links,
            GroupSettings settings);
  ~GroupCore();
  GroupCore(const GroupCore&) = delete;
  GroupCore& operator=(const GroupCore&) = delete;

  int rank() const { return links_->rank(); }
  int size() const { return links_->size(); }
  const GroupSettings& settings() const { return settings_; }
  Endpoint& endpoint() const { return *endpoint_; }
  const std::shared_ptr<Endpoint>& shared_endpoint() const { return endpoint_; }
  const std::shared_ptr<KeptMemory>& memory() const { return memory_; }
  Links& links() const { return *links_; }  // to be used locked
  int WorldRank(int member) const { return links_->world_rank(member); }

  // Not locked. A refused call comes back done.
  std::shared_ptr<Operation> Submit(const Call& call);
  // Not locked. Submit and wait: the way of calls that are not asynchronous. Allocates nothing if
  // a call of this shape was made before.
  Status Run(const Call& call);
  // Not locked. One operation of a send, a receive, or both. A refused one comes back done.
  // The transfers are moved from.
  std::shared_ptr<Operation> Submit(std::span<Transfer> transfers, const CallOptions& options);
  // Not locked. The calls of a list, posted together; small all_reduces packed (coalesce.h).
  std::shared_ptr<Operation> Submit(const std::vector<ListedCall>& calls);
  // Not locked. A collective call: the calls of a list, agreed on and lowered.
  Result<std::shared_ptr<Prepared>> Prepare(const std::vector<ListedCall>& calls,
                                            const CallOptions& options);
  // Not locked. Refused while it still runs. Allocate nothing unless there are transfers.
  Status Start(Prepared& prepared);
  Status Run(Prepared& prepared);
  // Not locked. Sends `mine` to each of `peers` and receives one such record, of at most `most`
  // numbers, from each: theirs[i] is that of peers[i]. `tag` is one that no user can give.
  Status ExchangeAmong(const std::vector<int>& peers, int tag,
                       const std::vector<std::int64_t>& mine, std::size_t most,
                       std::vector<std::vector<std::int64_t>>& theirs, const CallOptions& options);
  // Not locked. One number to each of `peers`, without waiting for anything.
  void SendToAll(const std::vector<int>& peers, int tag, std::int64_t number);
  // Not locked. As Transport::Put, unless the group is over.
  Status Put(const void* data, std::int64_t bytes, const RegionKey& to, std::int64_t offset,
             const Signal& signal);
  Traffic traffic();
  void Abort(const std::string& reason);
  // Not locked. As of Group.
  std::vector<OperationRecord> Records(int member, std::size_t most) const;
  std::string FlightReport(std::size_t rows) const;
  // Not ok in the child of a fork. `what`: the call that is refused.
  Status CheckProcess(std::string_view what) const;
  // Locked. Ends the group, if it is not over, because its ranks shrink it. Refused the second
  // time.
  Status EndForShrink();
  // Not locked. The number of the next Split, the same on all ranks.
  int NextSplit();

  // Locked. Moves the head operation; true if anything moved.
  bool Advance();
  // Locked. Looks for what keeps the head operation from ever ending; returns its deadline.
  Clock::time_point Inspect(Clock::time_point now);

 private:
  struct Queued {
    Operation* operation = nullptr;
    std::shared_ptr<Operation> held;  // null if the caller waits and keeps it
    bool refused = false;  // its outcome is known; only its number must be published in turn
  };

  // Locked. `checked`: what CheckCall says. `list`: whose part `part` this is, or null.
  std::shared_ptr<Operation> Enqueue(const Call& call, Status checked,
                                     std::shared_ptr<ListOperation> list = nullptr,
                                     std::size_t part = 0);
  // Locked. Makes `operation` that of `call`. `held`: null if the operation outlives its turn.
  // `has_shape`: that of the call before is that of this one.
  void Enqueue(Operation& operation, std::shared_ptr<Operation> held, const Call& call,
               bool has_shape, Status checked);
  std::shared_ptr<Operation> FreshOperation();
  // Locked. Begins checked transfers of `operation`; they are moved from.
  void StartTransfers(const std::shared_ptr<P2POperation>& operation, std::span<Transfer> transfers,
                      const CallOptions& options);
  // A list in parts: first the collective calls, some of them packed, then the transfers.
  struct ListParts {
    std::vector<Call> calls;
    std::vector<std::size_t> transfers;     // which calls of the list
    std::vector<Status> checked;            // by part: what one rank can know to be wrong
    std::vector<std::vector<int>> members;  // by part: which calls of the list
    int listed = 0;
  };
  ListParts PartsOf(const std::vector<ListedCall>& calls);
  Status CheckTransfers(std::span<const Transfer> transfers, const CallOptions& options) const;
  Status Differing(const ListParts& parts, const CallOptions& options);
  bool IsReachable(const Call& call) const;
  Status StartLocked(Prepared& prepared);
  std::chrono::milliseconds TimeoutOf(std::chrono::milliseconds wanted) const;
  // What one rank can know to be wrong with a list as a whole.
  Status CheckList(const std::vector<ListedCall>& calls) const;
  CoalescingTerms Terms();
  // Into the operation's own memory, and out of it.
  static void* Pack(Operation& operation);
  static void Unpack(Operation& operation);
  // The operation's part of its list has ended so.
  void EndPart(Operation& operation, const Status& status);
  const Queued& front() const { return queue_[first_]; }
  bool idle() const { return first_ == queue_.size(); }
  Queued PopFront(CallRecord::End end);
  // Shows how an operation has ended; puts its result where the caller wants it.
  void Close(const Operation& operation, CallRecord::End end);
  void Deliver(Operation& operation);
  // The whole way of most blocking calls, which are like the one before and done before anything
  // has to be waited for. If not kDone, the operation is now at the head of the queue; it has begun
  // unless the group is poisoned.
  Executor::Progress RunAtOnce(Operation& operation, const Call& call);
  Status Give(Operation& operation, const Call& call, bool has_shape);
  void Begin(Operation& operation);
  // Tells the trace, which there is, of an operation that has ended.
  void Trace(const Operation& operation, CallRecord::End end, std::int64_t now) const;
  void Count(const Operation& operation);
  OpTraffic& TrafficOf(const Operation& operation);
  // Tells of what `status` is about if this rank is the first to notice it. Locked.
  void Report(const Status& status) const;
  std::string MergedRecords(std::size_t rows) const;  // locked
  CallRecord RecordOf(const Operation& operation, CallRecord::State state, int culprit) const;

  // End the head operation: well; for this call alone; for the whole group.
  void Complete();
  void FailCall(const Status& status, CallRecord::State state, int culprit);
  void Fail(const Status& status);
  void Finish(Operation& operation, const Status& status);

  void HandleTrouble();
  // True if it failed the head operation.
  bool InspectPeers(Operation& head);
  bool InspectPeer(Operation& head, const Executor::Wait& wait);
  bool GaveUp(Operation& head, int peer);
  Status MismatchWith(CallRecord mine, int peer, std::uint64_t their_sequence) const;
  // Of two packed calls whose ranks do not agree: in ", call 3", makes the records those of the
  // first that differs.
  std::string FirstThatDiffers(CallRecord& mine, CallRecord& theirs, int peer) const;
  Status Late(const Operation& operation) const;
  // Members that have not begun operation `sequence`.
  std::vector<int> Absent(std::uint64_t sequence) const;

  std::string RankName(int member) const;
  // "rank 1, rank 3 (world rank 5)"; of many "ranks 1-4, 7".
  std::string RankNames(const std::vector<int>& members) const;
  // "all_reduce #17".
  static std::string Title(const Operation& operation);
  // "all_reduce #17 (group world, 4096 B)".
  std::string Place(const Operation& operation) const;

  const std::shared_ptr<Endpoint> endpoint_;
  const GroupSettings settings_;
  const std::shared_ptr<KeptMemory> memory_ = std::make_shared<KeptMemory>();
  std::unique_ptr<Links> links_;  // constant until the end
  ShapeCache shapes_;
  PointToPoint direct_;
  // From first_ on; what is before it is done.
  std::vector<Queued> queue_;
  std::size_t first_ = 0;
  // Operations to use again once nobody else holds them.
  std::vector<std::shared_ptr<Operation>> pool_;
  // Of a call whose caller waits: nobody else ever holds it, so nobody counts.
  Operation blocking_;
  bool blocking_is_used_ = false;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t history_ = 0;  // of the calls begun: see run/agreement.h
  int splits_ = 0;
  Traffic traffic_;
  std::vector<Executor::Wait> inspected_;
  SentCounter counted_;  // of links_->sent(), what traffic_ already holds
  Status over_;          // why the group is over; ok while it is not
  bool is_shrunk_ = false;
};

// What a Work handle holds: the operation, and the group that carries it out.
class Work::State {
 public:
  static Work WorkOf(const std::shared_ptr<GroupCore>& group,
                     std::shared_ptr<Operation> operation) {
    return Work(MakeKept<State>(group->memory(), group, std::move(operation)));
  }
  State(std::shared_ptr<GroupCore> group, std::shared_ptr<Operation> operation)
      : group_(std::move(group)), operation_(std::move(operation)) {}
  GroupCore& group() const { return *group_; }
  Operation& operation() const { return *operation_; }

 private:
  const std::shared_ptr<GroupCore> group_;
  const std::shared_ptr<Operation> operation_;
};

// What a Group handle holds.
class Group::Impl {
 public:
  explicit Impl(std::shared_ptr<GroupCore> core) : core_(std::move(core)) {}
  const std::shared_ptr<GroupCore>& core() const { return core_; }

 private:
  const std::shared_ptr<GroupCore> core_;
};

const std::shared_ptr<GroupCore>& CoreOf(const Group& group);

Group MakeGroup(std::shared_ptr<Endpoint> endpoint, std::unique_ptr<Links> links,
                GroupSettings settings);

}  // namespace chorus
