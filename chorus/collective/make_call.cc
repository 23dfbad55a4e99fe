#include "chorus/collective/make_call.h"

namespace chorus {

Call MakeCall(OpKind op, ConstBuffer in, MutableBuffer out, const CallOptions& options) {
  Call call;
  call.op = op;
  call.in = in;
  call.out = out;
  call.timeout = options.timeout;
  call.algorithm = options.algorithm;
  call.schedule = options.schedule;
  return call;
}

Call AllReduceCall(ConstBuffer in, MutableBuffer out, const Reduction& op,
                   const CallOptions& options) {
  Call call = MakeCall(OpKind::kAllReduce, in, out, options);
  call.reduce = op;
  return call;
}

Call AllGatherVCall(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                    const CallOptions& options) {
  Call call = MakeCall(OpKind::kAllGather, in, out, options);
  call.has_counts = true;
  call.counts = counts;
  return call;
}

Call ReduceScatterCall(ConstBuffer in, MutableBuffer out, const Reduction& op,
                       const CallOptions& options) {
  Call call = MakeCall(OpKind::kReduceScatter, in, out, options);
  call.reduce = op;
  return call;
}

Call ReduceScatterVCall(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                        const Reduction& op, const CallOptions& options) {
  Call call = MakeCall(OpKind::kReduceScatter, in, out, options);
  call.reduce = op;
  call.has_counts = true;
  call.counts = counts;
  return call;
}

Call BroadcastCall(MutableBuffer inout, int root, const CallOptions& options) {
  Call call = MakeCall(OpKind::kBroadcast, inout, inout, options);
  call.root = root;
  return call;
}

Call ReduceCall(ConstBuffer in, MutableBuffer out, const Reduction& op, int root,
                const CallOptions& options) {
  Call call = MakeCall(OpKind::kReduce, in, out, options);
  call.reduce = op;
  call.root = root;
  return call;
}

Call GatherCall(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options) {
  Call call = MakeCall(OpKind::kGather, in, out, options);
  call.root = root;
  return call;
}

Call GatherVCall(int rank, ConstBuffer in, MutableBuffer out,
                 const std::vector<std::int64_t>& counts, int root, const CallOptions& options) {
  Call call = MakeCall(OpKind::kGather, in, out, options);
  call.root = root;
  call.has_counts = true;
  if (rank == root) call.counts = counts;
  return call;
}

Call ScatterCall(int rank, ConstBuffer in, MutableBuffer out, int root,
                 const CallOptions& options) {
  Call call = MakeCall(OpKind::kScatter, in, out, options);
  call.root = root;
  if (rank != root) call.in = ConstBuffer(nullptr, 0, out.dtype);
  return call;
}

Call ScatterVCall(int rank, ConstBuffer in, MutableBuffer out,
                  const std::vector<std::int64_t>& counts, int root, const CallOptions& options) {
  Call call = MakeCall(OpKind::kScatter, in, out, options);
  call.root = root;
  call.has_counts = true;
  if (rank == root) {
    call.counts = counts;
  } else {
    call.in = ConstBuffer(nullptr, 0, out.dtype);
  }
  return call;
}

Call AllToAllVCall(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& send_counts,
                   const std::vector<std::int64_t>& recv_counts, const CallOptions& options) {
  Call call = MakeCall(OpKind::kAllToAll, in, out, options);
  call.has_counts = true;
  call.counts = send_counts;
  call.recv_counts = recv_counts;
  return call;
}

Call ScanCall(ConstBuffer in, MutableBuffer out, const Reduction& op, const CallOptions& options) {
  Call call = MakeCall(OpKind::kScan, in, out, options);
  call.reduce = op;
  return call;
}

Call ExScanCall(ConstBuffer in, MutableBuffer out, const Reduction& op,
                const CallOptions& options) {
  Call call = MakeCall(OpKind::kExScan, in, out, options);
  call.reduce = op;
  return call;
}

Transfer MakeSend(ConstBuffer data, int to, int tag) {
  Transfer transfer;
  transfer.kind = Transfer::Kind::kSend;
  transfer.peer = to;
  transfer.tag = tag;
  // Of a send it is only read.
  transfer.data = static_cast<std::byte*>(const_cast<void*>(data.data));
  transfer.count = data.count;
  transfer.dtype = data.dtype;
  return transfer;
}

Transfer MakeRecv(MutableBuffer data, int from, int tag, Received* received) {
  Transfer transfer;
  transfer.peer = from;
  transfer.tag = tag;
  transfer.data = static_cast<std::byte*>(data.data);
  transfer.count = data.count;
  transfer.dtype = data.dtype;
  transfer.received = received;
  return transfer;
}

}  // namespace chorus
