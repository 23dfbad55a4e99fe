#include "chorus/collective/group.h"

#include <utility>

#include "chorus/collective/call.h"
#include "chorus/collective/group_core.h"
#include "chorus/collective/make_call.h"

namespace chorus {

OpTraffic Traffic::Total() const {
  OpTraffic total = split;
  total.bytes_sent += point_to_point.bytes_sent;
  total.messages_sent += point_to_point.messages_sent;
  total.calls += point_to_point.calls;
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

Work Submit(const std::shared_ptr<GroupCore>& core, const Call& call) {
  std::shared_ptr<Operation> operation = core->Submit(call);
  core->endpoint().RunCallbacks();
  return Work::State::WorkOf(core, std::move(operation));
}

}  // namespace

int Group::rank() const { return impl_->core()->rank(); }
int Group::size() const { return impl_->core()->size(); }
const std::string& Group::name() const { return impl_->core()->settings().name; }
std::vector<OperationRecord> Group::Records(int rank, std::size_t most) const {
  return impl_->core()->Records(rank, most);
}

std::string Group::FlightReport(std::size_t rows) const {
  return impl_->core()->FlightReport(rows);
}

Traffic Group::traffic() const { return impl_->core()->traffic(); }
void Group::Abort(const std::string& reason) { impl_->core()->Abort(reason); }

Work Group::AllReduceAsync(ConstBuffer in, MutableBuffer out, const Reduction& op,
                           const CallOptions& options) {
  return Submit(impl_->core(), AllReduceCall(in, out, op, options));
}

Work Group::AllReduceAsync(MutableBuffer inout, const Reduction& op, const CallOptions& options) {
  return Submit(impl_->core(), AllReduceCall(inout, inout, op, options));
}

Status Group::AllReduce(ConstBuffer in, MutableBuffer out, const Reduction& op,
                        const CallOptions& options) {
  return impl_->core()->Run(AllReduceCall(in, out, op, options));
}

Status Group::AllReduce(MutableBuffer inout, const Reduction& op, const CallOptions& options) {
  return impl_->core()->Run(AllReduceCall(inout, inout, op, options));
}

Work Group::AllGatherAsync(ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  return Submit(impl_->core(), MakeCall(OpKind::kAllGather, in, out, options));
}

Status Group::AllGather(ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  return impl_->core()->Run(MakeCall(OpKind::kAllGather, in, out, options));
}

Work Group::AllGatherVAsync(ConstBuffer in, MutableBuffer out,
                            const std::vector<std::int64_t>& counts, const CallOptions& options) {
  return Submit(impl_->core(), AllGatherVCall(in, out, counts, options));
}

Status Group::AllGatherV(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                         const CallOptions& options) {
  return impl_->core()->Run(AllGatherVCall(in, out, counts, options));
}

Work Group::ReduceScatterAsync(ConstBuffer in, MutableBuffer out, const Reduction& op,
                               const CallOptions& options) {
  return Submit(impl_->core(), ReduceScatterCall(in, out, op, options));
}

Status Group::ReduceScatter(ConstBuffer in, MutableBuffer out, const Reduction& op,
                            const CallOptions& options) {
  return impl_->core()->Run(ReduceScatterCall(in, out, op, options));
}

Work Group::ReduceScatterVAsync(ConstBuffer in, MutableBuffer out,
                                const std::vector<std::int64_t>& counts, const Reduction& op,
                                const CallOptions& options) {
  return Submit(impl_->core(), ReduceScatterVCall(in, out, counts, op, options));
}

Status Group::ReduceScatterV(ConstBuffer in, MutableBuffer out,
                             const std::vector<std::int64_t>& counts, const Reduction& op,
                             const CallOptions& options) {
  return impl_->core()->Run(ReduceScatterVCall(in, out, counts, op, options));
}

Work Group::BroadcastAsync(MutableBuffer inout, int root, const CallOptions& options) {
  return Submit(impl_->core(), BroadcastCall(inout, root, options));
}

Status Group::Broadcast(MutableBuffer inout, int root, const CallOptions& options) {
  return impl_->core()->Run(BroadcastCall(inout, root, options));
}

Work Group::ReduceAsync(ConstBuffer in, MutableBuffer out, const Reduction& op, int root,
                        const CallOptions& options) {
  return Submit(impl_->core(), ReduceCall(in, out, op, root, options));
}

Status Group::Reduce(ConstBuffer in, MutableBuffer out, const Reduction& op, int root,
                     const CallOptions& options) {
  return impl_->core()->Run(ReduceCall(in, out, op, root, options));
}

Work Group::GatherAsync(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options) {
  return Submit(impl_->core(), GatherCall(in, out, root, options));
}

Status Group::Gather(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options) {
  return impl_->core()->Run(GatherCall(in, out, root, options));
}

Work Group::GatherVAsync(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                         int root, const CallOptions& options) {
  return Submit(impl_->core(), GatherVCall(rank(), in, out, counts, root, options));
}

Status Group::GatherV(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                      int root, const CallOptions& options) {
  return impl_->core()->Run(GatherVCall(rank(), in, out, counts, root, options));
}

Work Group::ScatterAsync(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options) {
  return Submit(impl_->core(), ScatterCall(rank(), in, out, root, options));
}

Status Group::Scatter(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options) {
  return impl_->core()->Run(ScatterCall(rank(), in, out, root, options));
}

Work Group::ScatterVAsync(ConstBuffer in, MutableBuffer out,
                          const std::vector<std::int64_t>& counts, int root,
                          const CallOptions& options) {
  return Submit(impl_->core(), ScatterVCall(rank(), in, out, counts, root, options));
}

Status Group::ScatterV(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                       int root, const CallOptions& options) {
  return impl_->core()->Run(ScatterVCall(rank(), in, out, counts, root, options));
}

Work Group::AllToAllAsync(ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  return Submit(impl_->core(), MakeCall(OpKind::kAllToAll, in, out, options));
}

Status Group::AllToAll(ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  return impl_->core()->Run(MakeCall(OpKind::kAllToAll, in, out, options));
}

Work Group::AllToAllVAsync(ConstBuffer in, MutableBuffer out,
                           const std::vector<std::int64_t>& send_counts,
                           const std::vector<std::int64_t>& recv_counts,
                           const CallOptions& options) {
  return Submit(impl_->core(), AllToAllVCall(in, out, send_counts, recv_counts, options));
}

Status Group::AllToAllV(ConstBuffer in, MutableBuffer out,
                        const std::vector<std::int64_t>& send_counts,
                        const std::vector<std::int64_t>& recv_counts, const CallOptions& options) {
  return impl_->core()->Run(AllToAllVCall(in, out, send_counts, recv_counts, options));
}

Work Group::ScanAsync(ConstBuffer in, MutableBuffer out, const Reduction& op,
                      const CallOptions& options) {
  return Submit(impl_->core(), ScanCall(in, out, op, options));
}

Status Group::Scan(ConstBuffer in, MutableBuffer out, const Reduction& op,
                   const CallOptions& options) {
  return impl_->core()->Run(ScanCall(in, out, op, options));
}

Work Group::ExScanAsync(ConstBuffer in, MutableBuffer out, const Reduction& op,
                        const CallOptions& options) {
  return Submit(impl_->core(), ExScanCall(in, out, op, options));
}

Status Group::ExScan(ConstBuffer in, MutableBuffer out, const Reduction& op,
                     const CallOptions& options) {
  return impl_->core()->Run(ExScanCall(in, out, op, options));
}

Work Group::BarrierAsync(const CallOptions& options) {
  return Submit(impl_->core(), MakeCall(OpKind::kBarrier, {}, {}, options));
}

Status Group::Barrier(const CallOptions& options) {
  return impl_->core()->Run(MakeCall(OpKind::kBarrier, {}, {}, options));
}

}  // namespace chorus
