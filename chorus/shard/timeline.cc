#include "chorus/shard/timeline.h"

#include <algorithm>
#include <map>
#include <utility>

#include "chorus/program/account.h"
#include "chorus/shard/traffic.h"

namespace chorus {

Timeline TimelineOf(const StepProgram& program, const std::vector<OpTime>& ops, bool one_port) {
  Timeline line;
  std::vector<Seconds> ready(program.values().size());
  std::map<std::pair<AxisNames, int>, Seconds> link_is_free;
  Seconds now;
  for (std::size_t i = 0; i < program.ops().size(); ++i) {
    const ProgramOp& op = program.ops()[i];
    for (const ValueId id : op.operands) {
      if (op.kind != ProgramOpKind::kFree) now = std::max(now, ready[static_cast<std::size_t>(id)]);
    }
    Timeline::Span span{now, now};
    if (op.kind == ProgramOpKind::kShift) {
      now += ops[i].starting;
      Seconds& free = link_is_free[{op.axes, one_port ? 0 : op.by}];
      span.begin = std::max(now, free);
      free = span.begin + ops[i].time;
      span.end = free + ops[i].latency;
    } else {
      now += ops[i].time;
      span.end = now;
    }
    if (op.result != kNoValue) ready[static_cast<std::size_t>(op.result)] = span.end;
    line.ops.push_back(span);
    line.total = std::max(line.total, span.end);
  }
  return line;
}

std::vector<OpTime> TimesBy(const Tariff& tariff, const StepProgram& program, const Mesh& mesh,
                            const DimSizes& sizes) {
  std::vector<OpTime> times;
  for (const ProgramOp& op : program.ops()) {
    OpTime one;
    if (op.kind == ProgramOpKind::kShift) {
      one.time =
          Seconds(static_cast<double>(ShiftedBytes(program, op, mesh, sizes, /*rank=*/0).value()));
      one.starting = Seconds(tariff.latency_bytes);
    } else if (IsCollective(op.kind)) {
      one.time = Seconds(static_cast<double>(MostSent(program, op, mesh, sizes).value()) +
                         tariff.latency_bytes);
    } else {
      one.time = Seconds(static_cast<double>(ProductFlops(program, op, mesh, sizes, 0).value()) /
                         tariff.flops_per_byte);
    }
    times.push_back(std::move(one));
  }
  return times;
}

}  // namespace chorus
