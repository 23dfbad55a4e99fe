#include "chorus/collective/group.h"

#include <utility>

#include "chorus/collective/call.h"
#include "chorus/collective/group_core.h"

namespace chorus {

OpTraffic Traffic::Total() const {
  OpTraffic total = split;
  for (const OpTraffic& each : by_kind) {
    total.bytes_sent += each.bytes_sent;
    total.messages_sent += each.messages_sent;
    total.calls += each.calls;
  }
  return total;
}

Status Work::Wait() {
  if (state_ == nullptr) return OkStatus();
  return state_->group().endpoint().Wait(state_->operation(), std::nullopt);
}

Status Work::Wait(std::chrono::milliseconds timeout) {
  if (state_ == nullptr) return OkStatus();
  return state_->group().endpoint().Wait(state_->operation(), timeout);
}

bool Work::Done() {
  if (state_ == nullptr) return true;
  return state_->group().endpoint().Poll(state_->operation());
}

void Work::OnDone(std::function<void(const Status&)> callback) {
  if (state_ == nullptr) return callback(OkStatus());
  Operation& operation = state_->operation();
  Endpoint& endpoint = state_->group().endpoint();
  if (endpoint.InForkedChild()) return callback(endpoint.Wait(operation, std::nullopt));
  {
    const std::lock_guard<std::mutex> lock(endpoint.mutex());
    if (!operation.done) {
      operation.callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback(operation.status);
}

namespace {

Work Submit(const std::shared_ptr<GroupCore>& core, Call call) {
  std::shared_ptr<Operation> operation = core->Submit(std::move(call));
  core->endpoint().RunCallbacks();
  return Work(std::make_shared<Work::State>(core, std::move(operation)));
}

Call Make(OpKind op, ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  Call call;
  call.op = op;
  call.in = in;
  call.out = out;
  call.options = options;
  return call;
}

}  // namespace

int Group::rank() const { return impl_->core()->rank(); }
int Group::size() const { return impl_->core()->size(); }
const std::string& Group::name() const { return impl_->core()->settings().name; }
Traffic Group::traffic() const { return impl_->core()->traffic(); }
void Group::Abort(const std::string& reason) { impl_->core()->Abort(reason); }

Work Group::AllReduceAsync(ConstBuffer in, MutableBuffer out, const Reduction& op,
                           const CallOptions& options) {
  Call call = Make(OpKind::kAllReduce, in, out, options);
  call.reduce = op;
  return Submit(impl_->core(), std::move(call));
}

Work Group::AllReduceAsync(MutableBuffer inout, const Reduction& op, const CallOptions& options) {
  return AllReduceAsync(inout, inout, op, options);
}

Status Group::AllReduce(ConstBuffer in, MutableBuffer out, const Reduction& op,
                        const CallOptions& options) {
  Call call = Make(OpKind::kAllReduce, in, out, options);
  call.reduce = op;
  return impl_->core()->Run(std::move(call));
}

Status Group::AllReduce(MutableBuffer inout, const Reduction& op, const CallOptions& options) {
  return AllReduceAsync(inout, op, options).Wait();
}

Work Group::AllGatherAsync(ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  return Submit(impl_->core(), Make(OpKind::kAllGather, in, out, options));
}

Status Group::AllGather(ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  return AllGatherAsync(in, out, options).Wait();
}

Work Group::AllGatherVAsync(ConstBuffer in, MutableBuffer out,
                            const std::vector<std::int64_t>& counts, const CallOptions& options) {
  Call call = Make(OpKind::kAllGather, in, out, options);
  call.has_counts = true;
  call.counts = counts;
  return Submit(impl_->core(), std::move(call));
}

Status Group::AllGatherV(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                         const CallOptions& options) {
  return AllGatherVAsync(in, out, counts, options).Wait();
}

Work Group::ReduceScatterAsync(ConstBuffer in, MutableBuffer out, const Reduction& op,
                               const CallOptions& options) {
  Call call = Make(OpKind::kReduceScatter, in, out, options);
  call.reduce = op;
  return Submit(impl_->core(), std::move(call));
}

Status Group::ReduceScatter(ConstBuffer in, MutableBuffer out, const Reduction& op,
                            const CallOptions& options) {
  return ReduceScatterAsync(in, out, op, options).Wait();
}

Work Group::ReduceScatterVAsync(ConstBuffer in, MutableBuffer out,
                                const std::vector<std::int64_t>& counts, const Reduction& op,
                                const CallOptions& options) {
  Call call = Make(OpKind::kReduceScatter, in, out, options);
  call.reduce = op;
  call.has_counts = true;
  call.counts = counts;
  return Submit(impl_->core(), std::move(call));
}

Status Group::ReduceScatterV(ConstBuffer in, MutableBuffer out,
                             const std::vector<std::int64_t>& counts, const Reduction& op,
                             const CallOptions& options) {
  return ReduceScatterVAsync(in, out, counts, op, options).Wait();
}

Work Group::BroadcastAsync(MutableBuffer inout, int root, const CallOptions& options) {
  Call call = Make(OpKind::kBroadcast, inout, inout, options);
  call.root = root;
  return Submit(impl_->core(), std::move(call));
}

Status Group::Broadcast(MutableBuffer inout, int root, const CallOptions& options) {
  return BroadcastAsync(inout, root, options).Wait();
}

Work Group::ReduceAsync(ConstBuffer in, MutableBuffer out, const Reduction& op, int root,
                        const CallOptions& options) {
  Call call = Make(OpKind::kReduce, in, out, options);
  call.reduce = op;
  call.root = root;
  return Submit(impl_->core(), std::move(call));
}

Status Group::Reduce(ConstBuffer in, MutableBuffer out, const Reduction& op, int root,
                     const CallOptions& options) {
  return ReduceAsync(in, out, op, root, options).Wait();
}

Work Group::GatherAsync(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options) {
  Call call = Make(OpKind::kGather, in, out, options);
  call.root = root;
  return Submit(impl_->core(), std::move(call));
}

Status Group::Gather(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options) {
  return GatherAsync(in, out, root, options).Wait();
}

Work Group::GatherVAsync(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                         int root, const CallOptions& options) {
  Call call = Make(OpKind::kGather, in, out, options);
  call.root = root;
  call.has_counts = true;
  if (rank() == root) call.counts = counts;
  return Submit(impl_->core(), std::move(call));
}

Status Group::GatherV(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                      int root, const CallOptions& options) {
  return GatherVAsync(in, out, counts, root, options).Wait();
}

Work Group::ScatterAsync(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options) {
  Call call = Make(OpKind::kScatter, in, out, options);
  call.root = root;
  if (rank() != root) call.in = ConstBuffer(nullptr, 0, out.dtype);
  return Submit(impl_->core(), std::move(call));
}

Status Group::Scatter(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options) {
  return ScatterAsync(in, out, root, options).Wait();
}

Work Group::ScatterVAsync(ConstBuffer in, MutableBuffer out,
                          const std::vector<std::int64_t>& counts, int root,
                          const CallOptions& options) {
  Call call = Make(OpKind::kScatter, in, out, options);
  call.root = root;
  call.has_counts = true;
  if (rank() == root) {
    call.counts = counts;
  } else {
    call.in = ConstBuffer(nullptr, 0, out.dtype);
  }
  return Submit(impl_->core(), std::move(call));
}

Status Group::ScatterV(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                       int root, const CallOptions& options) {
  return ScatterVAsync(in, out, counts, root, options).Wait();
}

Work Group::AllToAllAsync(ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  return Submit(impl_->core(), Make(OpKind::kAllToAll, in, out, options));
}

Status Group::AllToAll(ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  return AllToAllAsync(in, out, options).Wait();
}

Work Group::AllToAllVAsync(ConstBuffer in, MutableBuffer out,
                           const std::vector<std::int64_t>& send_counts,
                           const std::vector<std::int64_t>& recv_counts,
                           const CallOptions& options) {
  Call call = Make(OpKind::kAllToAll, in, out, options);
  call.has_counts = true;
  call.counts = send_counts;
  call.recv_counts = recv_counts;
  return Submit(impl_->core(), std::move(call));
}

Status Group::AllToAllV(ConstBuffer in, MutableBuffer out,
                        const std::vector<std::int64_t>& send_counts,
                        const std::vector<std::int64_t>& recv_counts, const CallOptions& options) {
  return AllToAllVAsync(in, out, send_counts, recv_counts, options).Wait();
}

Work Group::ScanAsync(ConstBuffer in, MutableBuffer out, const Reduction& op,
                      const CallOptions& options) {
  Call call = Make(OpKind::kScan, in, out, options);
  call.reduce = op;
  return Submit(impl_->core(), std::move(call));
}

Status Group::Scan(ConstBuffer in, MutableBuffer out, const Reduction& op,
                   const CallOptions& options) {
  return ScanAsync(in, out, op, options).Wait();
}

Work Group::ExScanAsync(ConstBuffer in, MutableBuffer out, const Reduction& op,
                        const CallOptions& options) {
  Call call = Make(OpKind::kExScan, in, out, options);
  call.reduce = op;
  return Submit(impl_->core(), std::move(call));
}

Status Group::ExScan(ConstBuffer in, MutableBuffer out, const Reduction& op,
                     const CallOptions& options) {
  return ExScanAsync(in, out, op, options).Wait();
}

Work Group::BarrierAsync(const CallOptions& options) {
  return Submit(impl_->core(), Make(OpKind::kBarrier, {}, {}, options));
}

Status Group::Barrier(const CallOptions& options) { return BarrierAsync(options).Wait(); }

}  // namespace chorus
