#include "chorus/collective/make_call.h"

namespace chorus {

Call MakeCall(OpKind op, const ConstBuffer& in, const MutableBuffer& out,
              const CallOptions& options) {
  Call call;
  call.op = op;
  // Member by member: a processor that reads a whole buffer just after its dtype was written waits
  // until that has gone to the cache.
  call.in = ConstBuffer(in.data, in.count, in.dtype);
  call.out = MutableBuffer(out.data, out.count, out.dtype);
  call.timeout = options.timeout;
  call.algorithm = options.algorithm;
  call.schedule = options.schedule;
  return call;
}

Call AllReduceCall(const ConstBuffer& in, const MutableBuffer& out, const Reduction& op,
                   const CallOptions& options) {
  Call call = MakeCall(OpKind::kAllReduce, in, out, options);
  call.reduce = op;
  return call;
}

Call AllGatherVCall(const ConstBuffer& in, const MutableBuffer& out,
                    const std::vector<std::int64_t>& counts, const CallOptions& options) {
  Call call = MakeCall(OpKind::kAllGather, in, out, options);
  call.has_counts = true;
  call.counts = counts;
  return call;
}

Call ReduceScatterCall(const ConstBuffer& in, const MutableBuffer& out, const Reduction& op,
                       const CallOptions& options) {
  Call call = MakeCall(OpKind::kReduceScatter, in, out, options);
  call.reduce = op;
  return call;
}

Call ReduceScatterVCall(const ConstBuffer& in, const MutableBuffer& out,
                        const std::vector<std::int64_t>& counts, const Reduction& op,
                        const CallOptions& options) {
  Call call = MakeCall(OpKind::kReduceScatter, in, out, options);
  call.reduce = op;
  call.has_counts = true;
  call.counts = counts;
  return call;
}

Call BroadcastCall(const MutableBuffer& inout, int root, const CallOptions& options) {
  Call call = MakeCall(OpKind::kBroadcast, inout, inout, options);
  call.root = root;
  return call;
}

Call ReduceCall(const ConstBuffer& in, const MutableBuffer& out, const Reduction& op, int root,
                const CallOptions& options) {
  Call call = MakeCall(OpKind::kReduce, in, out, options);
  call.reduce = op;
  call.root = root;
  return call;
}

Call GatherCall(const ConstBuffer& in, const MutableBuffer& out, int root,
                const CallOptions& options) {
  Call call = MakeCall(OpKind::kGather, in, out, options);
  call.root = root;
  return call;
}

Call GatherVCall(int rank, const ConstBuffer& in, const MutableBuffer& out,
                 const std::vector<std::int64_t>& counts, int root, const CallOptions& options) {
  Call call = MakeCall(OpKind::kGather, in, out, options);
  call.root = root;
  call.has_counts = true;
  if (rank == root) call.counts = counts;
  return call;
}

Call ScatterCall(int rank, const ConstBuffer& in, const MutableBuffer& out, int root,
                 const CallOptions& options) {
  Call call = MakeCall(OpKind::kScatter, in, out, options);
  call.root = root;
  if (rank != root) call.in = ConstBuffer(nullptr, 0, out.dtype);
  return call;
}

Call ScatterVCall(int rank, const ConstBuffer& in, const MutableBuffer& out,
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

Call AllToAllVCall(const ConstBuffer& in, const MutableBuffer& out,
                   const std::vector<std::int64_t>& send_counts,
                   const std::vector<std::int64_t>& recv_counts, const CallOptions& options) {
  Call call = MakeCall(OpKind::kAllToAll, in, out, options);
  call.has_counts = true;
  call.counts = send_counts;
  call.recv_counts = recv_counts;
  return call;
}

Call ScanCall(const ConstBuffer& in, const MutableBuffer& out, const Reduction& op,
              const CallOptions& options) {
  Call call = MakeCall(OpKind::kScan, in, out, options);
  call.reduce = op;
  return call;
}

Call ExScanCall(const ConstBuffer& in, const MutableBuffer& out, const Reduction& op,
                const CallOptions& options) {
  Call call = MakeCall(OpKind::kExScan, in, out, options);
  call.reduce = op;
  return call;
}

Transfer MakeSend(const ConstBuffer& data, int to, int tag) {
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

Transfer MakeRecv(const MutableBuffer& data, int from, int tag, Received* received) {
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
