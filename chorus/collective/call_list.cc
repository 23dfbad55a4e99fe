#include "chorus/collective/call_list.h"

#include <utility>

#include "chorus/collective/group_core.h"
#include "chorus/collective/make_call.h"
#include "chorus/collective/persistent_calls.h"

namespace chorus {

class CallList::Impl {
 public:
  explicit Impl(std::shared_ptr<GroupCore> core) : core_(std::move(core)) {}
  const std::shared_ptr<GroupCore>& core() const { return core_; }
  int rank() const { return core_->rank(); }
  int size() const { return static_cast<int>(calls_.size()); }

  void Add(const Call& call) {
    ListedCall& listed = Next();
    listed.call = call;
    listed.call.group_size = core_->size();
    if (call.counts.empty() && call.recv_counts.empty() && call.algorithm.empty()) return;
    auto kept = std::make_shared<ListedCall::Kept>();
    kept->counts.assign(call.counts.begin(), call.counts.end());
    kept->recv_counts.assign(call.recv_counts.begin(), call.recv_counts.end());
    kept->algorithm = call.algorithm;
    listed.call.counts = kept->counts;
    listed.call.recv_counts = kept->recv_counts;
    listed.call.algorithm = kept->algorithm;
    listed.kept = std::move(kept);
  }
  void Add(const Transfer& transfer, const CallOptions& options) {
    ListedCall& listed = Next();
    listed.transfers.push_back(transfer);
    listed.options = options;
  }
  std::vector<ListedCall> Take() { return std::exchange(calls_, {}); }

 private:
  ListedCall& Next() {
    if (calls_.empty()) calls_.reserve(kUsual);
    return calls_.emplace_back();
  }

  static constexpr std::size_t kUsual = 16;  // calls of a list
  const std::shared_ptr<GroupCore> core_;
  std::vector<ListedCall> calls_;
};

class PersistentCalls::Impl {
 public:
  Impl(std::shared_ptr<GroupCore> core, std::shared_ptr<Prepared> prepared)
      : core_(std::move(core)), prepared_(std::move(prepared)) {}
  GroupCore& core() const { return *core_; }
  Prepared& prepared() const { return *prepared_; }

 private:
  const std::shared_ptr<GroupCore> core_;
  const std::shared_ptr<Prepared> prepared_;
};

CallList::CallList(const Group& group) : impl_(std::make_unique<Impl>(CoreOf(group))) {}
CallList::~CallList() = default;
CallList::CallList(CallList&& other) noexcept = default;
CallList& CallList::operator=(CallList&& other) noexcept = default;

CallList& CallList::AllReduce(ConstBuffer in, MutableBuffer out, const Reduction& op,
                              const CallOptions& options) {
  impl_->Add(AllReduceCall(in, out, op, options));
  return *this;
}

CallList& CallList::AllReduce(MutableBuffer inout, const Reduction& op,
                              const CallOptions& options) {
  impl_->Add(AllReduceCall(inout, inout, op, options));
  return *this;
}

CallList& CallList::AllGather(ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  impl_->Add(MakeCall(OpKind::kAllGather, in, out, options));
  return *this;
}

CallList& CallList::AllGatherV(ConstBuffer in, MutableBuffer out, const Counts& counts,
                               const CallOptions& options) {
  impl_->Add(AllGatherVCall(in, out, counts, options));
  return *this;
}

CallList& CallList::ReduceScatter(ConstBuffer in, MutableBuffer out, const Reduction& op,
                                  const CallOptions& options) {
  impl_->Add(ReduceScatterCall(in, out, op, options));
  return *this;
}

CallList& CallList::ReduceScatterV(ConstBuffer in, MutableBuffer out, const Counts& counts,
                                   const Reduction& op, const CallOptions& options) {
  impl_->Add(ReduceScatterVCall(in, out, counts, op, options));
  return *this;
}

CallList& CallList::Broadcast(MutableBuffer inout, int root, const CallOptions& options) {
  impl_->Add(BroadcastCall(inout, root, options));
  return *this;
}

CallList& CallList::Reduce(ConstBuffer in, MutableBuffer out, const Reduction& op, int root,
                           const CallOptions& options) {
  impl_->Add(ReduceCall(in, out, op, root, options));
  return *this;
}

CallList& CallList::Gather(ConstBuffer in, MutableBuffer out, int root,
                           const CallOptions& options) {
  impl_->Add(GatherCall(in, out, root, options));
  return *this;
}

CallList& CallList::GatherV(ConstBuffer in, MutableBuffer out, const Counts& counts, int root,
                            const CallOptions& options) {
  impl_->Add(GatherVCall(impl_->rank(), in, out, counts, root, options));
  return *this;
}

CallList& CallList::Scatter(ConstBuffer in, MutableBuffer out, int root,
                            const CallOptions& options) {
  impl_->Add(ScatterCall(impl_->rank(), in, out, root, options));
  return *this;
}

CallList& CallList::ScatterV(ConstBuffer in, MutableBuffer out, const Counts& counts, int root,
                             const CallOptions& options) {
  impl_->Add(ScatterVCall(impl_->rank(), in, out, counts, root, options));
  return *this;
}

CallList& CallList::AllToAll(ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  impl_->Add(MakeCall(OpKind::kAllToAll, in, out, options));
  return *this;
}

CallList& CallList::AllToAllV(ConstBuffer in, MutableBuffer out, const Counts& send_counts,
                              const Counts& recv_counts, const CallOptions& options) {
  impl_->Add(AllToAllVCall(in, out, send_counts, recv_counts, options));
  return *this;
}

CallList& CallList::Scan(ConstBuffer in, MutableBuffer out, const Reduction& op,
                         const CallOptions& options) {
  impl_->Add(ScanCall(in, out, op, options));
  return *this;
}

CallList& CallList::ExScan(ConstBuffer in, MutableBuffer out, const Reduction& op,
                           const CallOptions& options) {
  impl_->Add(ExScanCall(in, out, op, options));
  return *this;
}

CallList& CallList::Barrier(const CallOptions& options) {
  impl_->Add(MakeCall(OpKind::kBarrier, {}, {}, options));
  return *this;
}

CallList& CallList::Send(ConstBuffer data, int to, int tag, const CallOptions& options) {
  impl_->Add(MakeSend(data, to, tag), options);
  return *this;
}

CallList& CallList::Recv(MutableBuffer data, int from, int tag, Received* received,
                         const CallOptions& options) {
  impl_->Add(MakeRecv(data, from, tag, received), options);
  return *this;
}

int CallList::size() const { return impl_->size(); }

Work CallList::Start() {
  std::shared_ptr<Operation> operation = impl_->core()->Submit(impl_->Take());
  impl_->core()->endpoint().RunCallbacks();
  return Work::State::WorkOf(impl_->core(), std::move(operation));
}

Status CallList::Run() { return Start().Wait(); }

Result<PersistentCalls> CallList::Prepare(const CallOptions& options) {
  const std::vector<ListedCall> calls = impl_->Take();
  if (calls.empty()) return InvalidArgument("prepare: the list has no call");
  CHORUS_ASSIGN_OR_RETURN(std::shared_ptr<Prepared> prepared,
                          impl_->core()->Prepare(calls, options));
  return PersistentCalls(
      std::make_shared<PersistentCalls::Impl>(impl_->core(), std::move(prepared)));
}

Status PersistentCalls::Start() { return impl_->core().Start(impl_->prepared()); }

Status PersistentCalls::Wait() {
  return impl_->core().endpoint().Wait(impl_->prepared().whole(), std::nullopt);
}

Status PersistentCalls::Wait(std::chrono::milliseconds timeout) {
  return impl_->core().endpoint().Wait(impl_->prepared().whole(), timeout);
}

bool PersistentCalls::Done() { return impl_->core().endpoint().Poll(impl_->prepared().whole()); }

Status PersistentCalls::Run() { return impl_->core().Run(impl_->prepared()); }

}  // namespace chorus
