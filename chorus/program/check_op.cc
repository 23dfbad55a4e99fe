#include "chorus/program/check_op.h"

#include <fmt/format.h>

#include <algorithm>

#include "chorus/program/chunked.h"

namespace chorus {
namespace {

bool Contains(const AxisNames& axes, const std::string& axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// `dim` of `spec` with `axes` appended as its minor axes.
Result<Spec> SplitFurther(const Spec& spec, const std::string& dim, const AxisNames& axes) {
  AxisNames all = spec.AxesOf(dim);
  all.insert(all.end(), axes.begin(), axes.end());
  return spec.WithAxes(dim, all);
}

Result<Spec> Summed(const Spec& spec, const AxisNames& axes, std::string_view what) {
  AxisNames rest;
  for (const std::string& axis : axes) {
    if (!spec.IsPartial(axis)) {
      return InvalidArgument(
          fmt::format("{} over {}: {} is no sum over {} ({{U_{}}} is missing), so nothing is left "
                      "to add; adding "
                      "it again would count it once a rank",
                      what, axis, spec.ToString(), axis, axis));
    }
  }
  for (const std::string& axis : spec.partial()) {
    if (!Contains(axes, axis)) rest.push_back(axis);
  }
  return spec.WithPartial(rest);
}

// Without `axes`, which must be the minor axes of `dim`.
Result<Spec> WithoutMinorAxes(const ProgramOp& op, const Spec& from) {
  AxisNames axes = from.AxesOf(op.dim);
  if (axes.size() < op.axes.size() ||
      !std::equal(op.axes.begin(), op.axes.end(), axes.end() - op.axes.size())) {
    return InvalidArgument(
        fmt::format("{} over {}: these are not the minor axes of dimension {} of {}", Name(op.kind),
                    JoinAxes(op.axes), op.dim, from.ToString()));
  }
  axes.resize(axes.size() - op.axes.size());
  return from.WithAxes(op.dim, axes);
}

// Ok if `to` has the dimensions and sums of `from`, and `axes` are those that change their place.
Status CheckPermute(const ProgramOp& op, const Spec& from, const Spec& to) {
  if (from.DimNames() != to.DimNames() || from.partial() != to.partial()) {
    return InvalidArgument(
        fmt::format("permute of {} leaves {}: it moves blocks, so dimensions and sums stay",
                    from.ToString(), to.ToString()));
  }
  const AxisNames changed = ChangedAxes(from, to);
  if (op.axes == changed) return OkStatus();
  return InvalidArgument(fmt::format("permute over {} of {} leaves {}: the axes that change are {}",
                                     JoinAxes(op.axes), from.ToString(), to.ToString(),
                                     JoinAxes(changed)));
}

// What a slice or a collective leaves of an operand that lies as `from`.
Result<Spec> Moved(const ProgramOp& op, const Spec& from) {
  if (op.axes.empty()) return InvalidArgument("names no mesh axis");
  switch (op.kind) {
    case ProgramOpKind::kSlice:
      return SplitFurther(from, op.dim, op.axes);
    case ProgramOpKind::kAllReduce:
      return Summed(from, op.axes, "all_reduce");
    case ProgramOpKind::kReduceScatter: {
      CHORUS_ASSIGN_OR_RETURN(const Spec summed, Summed(from, op.axes, "reduce_scatter"));
      return SplitFurther(summed, op.dim, op.axes);
    }
    case ProgramOpKind::kAllGather:
      return WithoutMinorAxes(op, from);
    case ProgramOpKind::kAllToAll: {
      if (op.dim == op.to) {
        return InvalidArgument(fmt::format("all_to_all from dimension {} to itself", op.dim));
      }
      CHORUS_ASSIGN_OR_RETURN(const Spec joined, WithoutMinorAxes(op, from));
      return SplitFurther(joined, op.to, op.axes);
    }
    case ProgramOpKind::kPermute:
    case ProgramOpKind::kShift:
    case ProgramOpKind::kJoin:
    case ProgramOpKind::kCompute:
    case ProgramOpKind::kAdamW:
    case ProgramOpKind::kFree:
      break;
  }
  return Internal("no move");
}

bool IsElementwise(GraphOp op) {
  return op == GraphOp::kAdd || op == GraphOp::kGelu || op == GraphOp::kGeluGrad;
}

Status CheckInto(const std::vector<ProgramValue>& values, const ProgramOp& op) {
  const ProgramValue& result = values[static_cast<std::size_t>(op.result)];
  const ProgramValue& into = values[static_cast<std::size_t>(op.into)];
  const bool takes_operand =
      std::find(op.operands.begin(), op.operands.end(), op.into) != op.operands.end();
  const bool goes_on = op.kind == ProgramOpKind::kCompute && op.compute == GraphOp::kContract &&
                       op.operands.size() == 3;
  const bool may = goes_on || op.kind == ProgramOpKind::kAllReduce ||
                           (op.kind == ProgramOpKind::kCompute && IsElementwise(op.compute))
                       ? takes_operand
                       : op.kind == ProgramOpKind::kAllGather && !takes_operand;
  if (!may) {
    return InvalidArgument(
        fmt::format("its result may not take over the memory of {}: all_reduce and "
                    "elementwise computations may take an operand's, a contraction of chunks that "
                    "of what it goes on from, all_gather that of a value to write back to",
                    into.name()));
  }
  if (into.dtype != result.dtype || into.spec.dims() != result.spec.dims()) {
    return InvalidArgument(fmt::format("{} {} cannot lie in the memory of {} {}",
                                       Name(result.dtype), result.spec.ToString(), Name(into.dtype),
                                       into.spec.ToString()));
  }
  return OkStatus();
}

Status CheckAdamW(const std::vector<ProgramValue>& values, const ProgramOp& op) {
  if (op.operands.size() != 4 || op.result != kNoValue) {
    return InvalidArgument(
        "takes a parameter, its two moments and its gradient, and has no result");
  }
  const ProgramValue& parameter = values[static_cast<std::size_t>(op.operands[0])];
  for (const ValueId id : op.operands) {
    const ProgramValue& value = values[static_cast<std::size_t>(id)];
    if (!value.spec.SameLayout(parameter.spec) || !value.spec.partial().empty()) {
      return InvalidArgument(
          fmt::format("updates {} with {}: both must lie alike and be no sums to be "
                      "done",
                      parameter.spec.ToString(), value.spec.ToString()));
    }
  }
  return OkStatus();
}

}  // namespace

Status CheckOp(const std::vector<ProgramValue>& values, const ProgramOp& op) {
  if (op.kind == ProgramOpKind::kFree) {
    if (op.operands.size() == 1 && op.result == kNoValue) return OkStatus();
    return InvalidArgument("takes one value and has no result");
  }
  if (op.kind == ProgramOpKind::kAdamW) return CheckAdamW(values, op);
  if (op.result == kNoValue) return InvalidArgument("has no result");
  const ProgramValue& result = values[static_cast<std::size_t>(op.result)];
  const bool contracts = op.kind == ProgramOpKind::kCompute && op.compute == GraphOp::kContract;
  const bool on_chunks = WorksOnChunks(values, op);
  const bool may_be_on_chunks = contracts || op.kind == ProgramOpKind::kSlice ||
                                op.kind == ProgramOpKind::kAllGather ||
                                op.kind == ProgramOpKind::kShift || op.kind == ProgramOpKind::kJoin;
  if (on_chunks && !may_be_on_chunks) {
    return InvalidArgument("works on whole arrays, but a value is chunks of one; join them first");
  }
  if (op.kind == ProgramOpKind::kJoin) return CheckJoin(values, op);
  if (on_chunks && contracts) {
    CHORUS_RETURN_IF_ERROR(CheckChunkedContract(values, op));
  } else if (op.kind == ProgramOpKind::kCompute) {
    std::vector<Spec> operands;
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const ProgramValue& value = values[static_cast<std::size_t>(op.operands[i])];
      if (TakesIndices(op.compute, i) != (value.dtype == DType::kI32)) {
        return InvalidArgument(fmt::format("operand {} must be {}, but {} is {}", i,
                                           TakesIndices(op.compute, i) ? "i32 indices" : "floats",
                                           value.name(), Name(value.dtype)));
      }
      operands.push_back(value.spec);
    }
    CHORUS_RETURN_IF_ERROR(CheckCompute(op.compute, operands, result.spec));
  } else {
    if (op.operands.size() != 1) return InvalidArgument("takes one operand");
    const ProgramValue& operand = values[static_cast<std::size_t>(op.operands[0])];
    if (op.kind == ProgramOpKind::kShift) return CheckShift(operand, op, result);
    if (on_chunks && op.kind == ProgramOpKind::kSlice) return CheckChunkOf(operand, op, result);
    if (on_chunks) CHORUS_RETURN_IF_ERROR(CheckPanelOf(operand, op, result));
    if (op.kind == ProgramOpKind::kPermute) {
      CHORUS_RETURN_IF_ERROR(CheckPermute(op, operand.spec, result.spec));
    }
    CHORUS_ASSIGN_OR_RETURN(const Spec moved, op.kind == ProgramOpKind::kPermute
                                                  ? Result<Spec>(result.spec)
                                                  : Moved(op, operand.spec));
    if (!moved.SameLayout(result.spec) || operand.dtype != result.dtype) {
      return InvalidArgument(fmt::format("leaves {} {}, but the result is {} {}",
                                         Name(operand.dtype), moved.WithName("").ToString(),
                                         Name(result.dtype), result.spec.ToString()));
    }
  }
  return op.into == kNoValue ? OkStatus() : CheckInto(values, op);
}

}  // namespace chorus
