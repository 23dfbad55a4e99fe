#include "chorus/shard/traffic.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "chorus/program/pieces.h"
#include "chorus/schedule/bytes.h"

namespace chorus {

OpKind CollectiveOf(ProgramOpKind kind) {
  assert(IsCollective(kind));
  switch (kind) {
    case ProgramOpKind::kAllGather:
      return OpKind::kAllGather;
    case ProgramOpKind::kReduceScatter:
      return OpKind::kReduceScatter;
    case ProgramOpKind::kAllToAll:
    case ProgramOpKind::kPermute:
      return OpKind::kAllToAll;
    default:
      return OpKind::kAllReduce;
  }
}

TrafficKey TrafficKey::Of(const ProgramOp& op) {
  return {op.kind == ProgramOpKind::kPermute ? ProgramOpKind::kAllToAll : op.kind,
          JoinAxes(op.axes)};
}

Bytes BytesSent(ProgramOpKind kind, const CollectiveShape& shape, const Choices& choices) {
  if (ExchangesPieces(kind)) {  // each piece goes straight to who needs it
    std::int64_t sent = 0;
    for (std::size_t k = 0; k < shape.group.size(); ++k) {
      if (k != static_cast<std::size_t>(shape.index)) sent += shape.pieces.sends.counts[k];
    }
    return Bytes(sent * SizeOf(shape.dtype));
  }
  // A panel that lies in one block is broadcast.
  const OpKind op = shape.owner >= 0 ? OpKind::kBroadcast : CollectiveOf(kind);
  const std::int64_t n = std::ssize(shape.group);
  const std::int64_t size = SizeOf(shape.dtype);
  const Algorithm& algorithm = choices.Choose(op, n, Bytes(shape.elements * size));
  const Schedule schedule = algorithm.Build();
  const Result<Frame> frame = schedule.FrameFor(n, shape.index);
  assert(frame.ok());
  std::vector<std::int64_t> blocks = shape.counts;
  if (shape.owner >= 0) blocks.clear();
  if (blocks.empty()) {  // all_reduce and broadcast: the schedule's own blocks, as even as can be
    for (std::int64_t b = 0; b < frame->blocks; ++b) {
      blocks.push_back(SplitEvenly(shape.elements, frame->blocks, b).size);
    }
  }
  // f16 and bf16 are accumulated, and travel half summed, in f32.
  const std::int64_t accumulator = IsFloat(shape.dtype) && size < 4 ? 4 : size;
  const Result<Bytes> bytes = BytesSent(schedule, n, shape.index, std::max(shape.owner, 0), blocks,
                                        WireSizes{size, accumulator});
  assert(bytes.ok());
  return *bytes;
}

std::map<TrafficKey, Bytes> PredictTraffic(const StepProgram& program, const Mesh& mesh,
                                           const DimSizes& sizes, std::int64_t rank,
                                           const Choices& choices) {
  std::map<TrafficKey, Bytes> traffic;
  for (const ProgramOp& op : program.ops()) {
    if (op.kind == ProgramOpKind::kShift) {
      traffic[TrafficKey::Of(op)] += ShiftedBytes(program, op, mesh, sizes, rank);
    }
    if (!IsCollective(op.kind)) continue;
    traffic[TrafficKey::Of(op)] +=
        BytesSent(op.kind, ShapeOf(program, op, mesh, sizes, rank), choices);
  }
  return traffic;
}

Bytes MostSent(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
               const DimSizes& sizes, const Choices& choices) {
  if (op.kind == ProgramOpKind::kShift) {
    Bytes most;
    const ProgramValue sent = ShiftedValue(program, op);
    for (const std::int64_t rank : mesh.Group(0, op.axes)) {
      most = std::max(most, LocalBytes(sent, mesh, sizes, rank));
    }
    return most;
  }
  if (!ExchangesPieces(op.kind)) {
    return BytesSent(op.kind, ShapeOf(program, op, mesh, sizes, 0), choices);
  }
  const ProgramValue& before = program.value(op.operands[0]);
  const Spec& after = program.value(op.result).spec;
  const std::int64_t sent = MostElementsSent(before.spec, after, op.axes, mesh, sizes);
  return Bytes(sent * SizeOf(before.dtype));
}

Bytes MostSent(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes,
               const Choices& choices) {
  Bytes sent;
  for (const ProgramOp& op : program.ops()) {
    if (SendsBytes(op.kind)) sent += MostSent(program, op, mesh, sizes, choices);
  }
  return sent;
}

}  // namespace chorus
