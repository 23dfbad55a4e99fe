#include "chorus/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "chorus/program/check_op.h"

namespace chorus {
namespace {

// Follows which values have memory while the operations are gone through in order.
class Lifetimes {
 public:
  Lifetimes(const std::vector<ProgramValue>& values, ValueId bound)
      : values_(values), bound_(bound), state_(values.size(), State::kUndefined) {
    std::fill(state_.begin(), state_.begin() + bound, State::kLive);
  }

  Status Visit(const ProgramOp& op, ValueId next_result) {
    for (const ValueId id : op.operands) CHORUS_RETURN_IF_ERROR(Use(id));
    if (op.into != kNoValue) CHORUS_RETURN_IF_ERROR(TakeOver(op.into));
    if (op.kind == ProgramOpKind::kFree) return Free(op.operands[0]);
    if (op.result != kNoValue) {
      if (op.result != next_result) {
        return InvalidArgument(
            fmt::format("its result is value {}, but values are numbered in the "
                        "order of operations, so it must be {}",
                        op.result, next_result));
      }
      At(op.result) = State::kLive;
    }
    return OkStatus();
  }

  Status Finish(const std::vector<ValueId>& outputs) {
    std::set<ValueId> wanted;
    for (const ValueId id : outputs) {
      if (id < 0 || id >= static_cast<ValueId>(values_.size())) {
        return InvalidArgument(
            fmt::format("output {} is no value; there are {}", id, values_.size()));
      }
      CHORUS_RETURN_IF_ERROR(Use(id).WithContext("outputs"));
      wanted.insert(id);
    }
    for (ValueId id = bound_; id < static_cast<ValueId>(values_.size()); ++id) {
      if (At(id) == State::kLive && wanted.count(id) == 0 && written_back_.count(id) == 0) {
        return InvalidArgument(fmt::format("value {} is neither freed nor an output", Name(id)));
      }
    }
    return OkStatus();
  }

  void WriteBack(const ProgramOp& op) {
    // The memory of a bound value goes on under the name of the result.
    if (op.into != kNoValue && (op.into < bound_ || written_back_.count(op.into) > 0)) {
      written_back_.insert(op.result);
    }
  }

 private:
  enum class State : std::uint8_t { kUndefined, kLive, kGone };

  State& At(ValueId id) { return state_[static_cast<std::size_t>(id)]; }
  const std::string& Name(ValueId id) const { return values_[static_cast<std::size_t>(id)].name(); }

  Status Use(ValueId id) {
    if (At(id) == State::kLive) return OkStatus();
    return InvalidArgument(fmt::format(
        "value {} is used {}", Name(id),
        At(id) == State::kGone ? "after it was freed or taken over" : "before it is defined"));
  }

  Status TakeOver(ValueId id) {
    CHORUS_RETURN_IF_ERROR(Use(id));
    At(id) = State::kGone;
    return OkStatus();
  }

  Status Free(ValueId id) {
    if (id < bound_) {
      return InvalidArgument(fmt::format("value {} is bound and cannot be freed", Name(id)));
    }
    At(id) = State::kGone;
    return OkStatus();
  }

  const std::vector<ProgramValue>& values_;
  ValueId bound_;
  std::vector<State> state_;
  std::set<ValueId> written_back_;
};

Status CheckIds(const ProgramOp& op, std::size_t values) {
  const auto inside = [values](ValueId id) {
    return id >= 0 && static_cast<std::size_t>(id) < values;
  };
  const bool fine = std::all_of(op.operands.begin(), op.operands.end(), inside) &&
                    (op.result == kNoValue || inside(op.result)) &&
                    (op.into == kNoValue || (inside(op.into) && op.result != kNoValue));
  if (fine) return OkStatus();
  return InvalidArgument(fmt::format("names a value that is not there; there are {}", values));
}

Status CheckTurns(const ChunkSet& chunks, const ProgramValue& value, const Mesh& mesh) {
  for (const std::string& axis : chunks.axes) {
    if (mesh.HasAxis(axis)) continue;
    return InvalidArgument(fmt::format("{} has chunks {}, but axis {} is not on the mesh {}",
                                       value.name(), chunks.ToString(), axis, mesh.ToString()));
  }
  const std::int64_t ranks = mesh.GroupSize(chunks.axes);
  if (ranks == chunks.turns) return OkStatus();
  return InvalidArgument(
      fmt::format("{} has chunks {} of {} turns, but {} ranks are along {} of {}", value.name(),
                  chunks.ToString(), chunks.turns, ranks, JoinAxes(chunks.axes), mesh.ToString()));
}

}  // namespace

std::string_view Name(StorageClass storage) {
  switch (storage) {
    case StorageClass::kInput:
      return "input";
    case StorageClass::kParameter:
      return "parameter";
    case StorageClass::kOptimizerState:
      return "optimizer_state";
    case StorageClass::kGradient:
      return "gradient";
    case StorageClass::kActivation:
      return "activation";
    case StorageClass::kWorkspace:
      return "workspace";
  }
  return "";
}

std::string_view Name(ProgramOpKind kind) {
  switch (kind) {
    case ProgramOpKind::kCompute:
      return "compute";
    case ProgramOpKind::kSlice:
      return "slice";
    case ProgramOpKind::kAllGather:
      return "all_gather";
    case ProgramOpKind::kReduceScatter:
      return "reduce_scatter";
    case ProgramOpKind::kAllReduce:
      return "all_reduce";
    case ProgramOpKind::kAllToAll:
      return "all_to_all";
    case ProgramOpKind::kPermute:
      return "permute";
    case ProgramOpKind::kShift:
      return "shift";
    case ProgramOpKind::kJoin:
      return "join";
    case ProgramOpKind::kAdamW:
      return "adamw";
    case ProgramOpKind::kFree:
      return "free";
  }
  return "";
}

AxisNames ChangedAxes(const Spec& from, const Spec& to) {
  std::set<std::string> changed;
  for (std::size_t d = 0; d < from.dims().size(); ++d) {
    const AxisNames& before = from.dims()[d].axes;
    const AxisNames& after = to.AxesOf(from.dims()[d].name);
    const auto differ = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
    changed.insert(differ.first, before.end());
    changed.insert(differ.second, after.end());
  }
  return {changed.begin(), changed.end()};
}

Result<StepProgram> StepProgram::Create(std::vector<ProgramValue> values,
                                        std::vector<ProgramOp> ops, std::vector<ValueId> outputs) {
  std::set<std::string> names;
  for (const ProgramValue& value : values) {
    if (value.name().empty() || !names.insert(value.name()).second) {
      return InvalidArgument(fmt::format("each value needs a name of its own, but '{}' is {}",
                                         value.name(), value.name().empty() ? "empty" : "taken"));
    }
  }
  for (const ProgramValue& value : values) {
    if (value.holds && value.spec.FindDim(value.holds->dim) < 0) {
      return InvalidArgument(
          fmt::format("value {} has no dimension {}, so it cannot hold a chunk "
                      "of it",
                      value.spec.ToString(), value.holds->dim));
    }
  }
  for (const ValueId id : outputs) {
    if (id < 0 || id >= static_cast<ValueId>(values.size())) continue;  // told of below
    const ProgramValue& value = values[static_cast<std::size_t>(id)];
    if (value.holds || value.so_far) {
      return InvalidArgument(
          fmt::format("output {} is chunks of an array; join them first", value.name()));
    }
  }
  const auto results = std::count_if(ops.begin(), ops.end(),
                                     [](const ProgramOp& op) { return op.result != kNoValue; });
  if (static_cast<std::size_t>(results) > values.size()) {
    return InvalidArgument(
        fmt::format("{} operations have results, but there are {} values", results, values.size()));
  }
  StepProgram program;
  program.values_ = std::move(values);
  program.ops_ = std::move(ops);
  program.outputs_ = std::move(outputs);
  program.bound_ = static_cast<ValueId>(program.values_.size()) - static_cast<ValueId>(results);

  for (ValueId id = 0; id < program.bound_; ++id) {
    if (program.value(id).holds || program.value(id).so_far) {
      return InvalidArgument(fmt::format("bound value {} is chunks of an array; bind the array",
                                         program.value(id).name()));
    }
  }

  Lifetimes lifetimes(program.values_, program.bound_);
  ValueId next_result = program.bound_;
  for (std::size_t i = 0; i < program.ops_.size(); ++i) {
    const ProgramOp& op = program.ops_[i];
    CHORUS_RETURN_IF_ERROR(CheckIds(op, program.values_.size())
                               .WithContext(fmt::format("operation {} ({})", i, Name(op.kind))));
    Status status = CheckOp(program.values_, op);
    if (status.ok()) status = lifetimes.Visit(op, next_result);
    if (!status.ok()) {
      return status.WithContext(fmt::format("operation {}, {}", i, chorus::ToString(program, op)));
    }
    lifetimes.WriteBack(op);
    if (op.result != kNoValue) ++next_result;
  }
  CHORUS_RETURN_IF_ERROR(lifetimes.Finish(program.outputs_));
  return program;
}

ValueId StepProgram::Find(std::string_view name) const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].name() == name) return static_cast<ValueId>(i);
  }
  return kNoValue;
}

Status StepProgram::Check(const Mesh& mesh, const DimSizes& sizes) const {
  for (const ProgramValue& value : values_) {
    CHORUS_RETURN_IF_ERROR(value.spec.Check(mesh));
    CHORUS_RETURN_IF_ERROR(CheckSizes(value.spec, sizes));
    for (const std::optional<ChunkSet>& chunks : {value.holds, value.so_far}) {
      if (chunks) CHORUS_RETURN_IF_ERROR(CheckTurns(*chunks, value, mesh));
    }
  }
  for (const ProgramOp& op : ops_) {
    if (op.kind != ProgramOpKind::kPermute) continue;
    const Spec& from = value(op.operands[0]).spec;
    for (const SpecDim& dim : value(op.result).spec.dims()) {
      const std::int64_t before = mesh.GroupSize(from.AxesOf(dim.name));
      const std::int64_t after = mesh.GroupSize(dim.axes);
      if (before == after) continue;
      return InvalidArgument(
          fmt::format("{}: dimension {} is in {} parts before and in {} after it on {}, but a "
                      "permute moves blocks and cuts none",
                      chorus::ToString(*this, op), dim.name, before, after, mesh.ToString()));
    }
  }
  return OkStatus();
}

}  // namespace chorus
