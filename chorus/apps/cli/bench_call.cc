#include "chorus/apps/cli/bench_call.h"

namespace chorus::cli {
namespace {

struct Buffers {
  ConstBuffer in;
  MutableBuffer out;
  MutableBuffer both;  // of a broadcast: what the root gives or another rank gets
};

Buffers BuffersOf(int rank, const BenchCase& c, const void* in, void* out) {
  const BenchCounts counts = CountsOf(c, rank);
  Buffers buffers;
  buffers.in = {in, counts.in, c.dtype};
  buffers.out = {out, counts.out, c.dtype};
  const bool root = rank == c.root;
  // The root's is only read.
  buffers.both = {root ? const_cast<void*>(in) : out, root ? counts.in : counts.out, c.dtype};
  return buffers;
}

}  // namespace

Reduction ReductionOf(const BenchCase& c) {
  return c.reduce == ReduceOp::kPremulSum ? Reduction::PremulSum(kBenchFactor)
                                          : Reduction(c.reduce);
}

Status MakeCall(Group& group, const BenchCase& c, const void* in, void* out,
                const CallOptions& options) {
  const Buffers b = BuffersOf(group.rank(), c, in, out);
  switch (c.op) {
    case OpKind::kAllReduce:
      return group.AllReduce(b.in, b.out, ReductionOf(c), options);
    case OpKind::kAllGather:
      return group.AllGather(b.in, b.out, options);
    case OpKind::kReduceScatter:
      return group.ReduceScatter(b.in, b.out, ReductionOf(c), options);
    case OpKind::kBroadcast:
      return group.Broadcast(b.both, c.root, options);
    case OpKind::kReduce:
      return group.Reduce(b.in, b.out, ReductionOf(c), c.root, options);
    case OpKind::kGather:
      return group.Gather(b.in, b.out, c.root, options);
    case OpKind::kScatter:
      return group.Scatter(b.in, b.out, c.root, options);
    case OpKind::kAllToAll:
      return group.AllToAll(b.in, b.out, options);
    case OpKind::kScan:
      return group.Scan(b.in, b.out, ReductionOf(c), options);
    case OpKind::kExScan:
      return group.ExScan(b.in, {out, c.elements(), c.dtype}, ReductionOf(c), options);
    case OpKind::kBarrier:
      return group.Barrier(options);
  }
  return Internal("no such operation");
}

Work StartCall(Group& group, const BenchCase& c, const void* in, void* out,
               const CallOptions& options) {
  const Buffers b = BuffersOf(group.rank(), c, in, out);
  switch (c.op) {
    case OpKind::kAllReduce:
      return group.AllReduceAsync(b.in, b.out, ReductionOf(c), options);
    case OpKind::kAllGather:
      return group.AllGatherAsync(b.in, b.out, options);
    case OpKind::kReduceScatter:
      return group.ReduceScatterAsync(b.in, b.out, ReductionOf(c), options);
    case OpKind::kBroadcast:
      return group.BroadcastAsync(b.both, c.root, options);
    case OpKind::kReduce:
      return group.ReduceAsync(b.in, b.out, ReductionOf(c), c.root, options);
    case OpKind::kGather:
      return group.GatherAsync(b.in, b.out, c.root, options);
    case OpKind::kScatter:
      return group.ScatterAsync(b.in, b.out, c.root, options);
    case OpKind::kAllToAll:
      return group.AllToAllAsync(b.in, b.out, options);
    case OpKind::kScan:
      return group.ScanAsync(b.in, b.out, ReductionOf(c), options);
    case OpKind::kExScan:
      return group.ExScanAsync(b.in, {out, c.elements(), c.dtype}, ReductionOf(c), options);
    case OpKind::kBarrier:
      return group.BarrierAsync(options);
  }
  return {};
}

void AddCall(CallList& list, int rank, const BenchCase& c, const void* in, void* out,
             const CallOptions& options) {
  const Buffers b = BuffersOf(rank, c, in, out);
  switch (c.op) {
    case OpKind::kAllReduce:
      list.AllReduce(b.in, b.out, ReductionOf(c), options);
      return;
    case OpKind::kAllGather:
      list.AllGather(b.in, b.out, options);
      return;
    case OpKind::kReduceScatter:
      list.ReduceScatter(b.in, b.out, ReductionOf(c), options);
      return;
    case OpKind::kBroadcast:
      list.Broadcast(b.both, c.root, options);
      return;
    case OpKind::kReduce:
      list.Reduce(b.in, b.out, ReductionOf(c), c.root, options);
      return;
    case OpKind::kGather:
      list.Gather(b.in, b.out, c.root, options);
      return;
    case OpKind::kScatter:
      list.Scatter(b.in, b.out, c.root, options);
      return;
    case OpKind::kAllToAll:
      list.AllToAll(b.in, b.out, options);
      return;
    case OpKind::kScan:
      list.Scan(b.in, b.out, ReductionOf(c), options);
      return;
    case OpKind::kExScan:
      list.ExScan(b.in, {out, c.elements(), c.dtype}, ReductionOf(c), options);
      return;
    case OpKind::kBarrier:
      list.Barrier(options);
      return;
  }
}

std::int64_t InPlaceOffset(const BenchCase& c, int rank) {
  if (!HasInPlace(c.op)) return -1;
  return HasOwners(c.op) ? rank * (c.bytes / c.ranks) : 0;
}

}  // namespace chorus::cli
