#include "chorus/tensor/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "chorus/base/fnv.h"
#include "chorus/kernel/adamw.h"
#include "chorus/program/chunked.h"
#include "chorus/tensor/agreement.h"
#include "chorus/tensor/exchange.h"

namespace chorus {
namespace {

using Clock = std::chrono::steady_clock;

OpTraffic Difference(const OpTraffic& now, const OpTraffic& before) {
  OpTraffic out;
  out.bytes_sent = now.bytes_sent - before.bytes_sent;
  out.messages_sent = now.messages_sent - before.messages_sent;
  out.calls = now.calls - before.calls;
  return out;
}

OpTraffic Added(const OpTraffic& a, const OpTraffic& b) {
  OpTraffic out;
  out.bytes_sent = a.bytes_sent + b.bytes_sent;
  out.messages_sent = a.messages_sent + b.messages_sent;
  out.calls = a.calls + b.calls;
  return out;
}

template <typename T>
void RunAdamW(KernelSet kernels, const AdamWSettings& s, const ValuePlaces& places,
              const std::vector<ValueId>& operands) {
  const AdamWRule rule{.learning_rate = s.learning_rate,
                       .beta1 = s.beta1,
                       .beta2 = s.beta2,
                       .epsilon = s.epsilon,
                       .weight_decay = s.weight_decay};
  const auto data = [&](std::size_t i) { return static_cast<T*>(places.View(operands[i]).data); };
  AdamW(kernels, rule, s.step, data(3), data(0), data(1), data(2),
        places.View(operands[0]).shape.elements());
}

// "contract c.1"
std::string TitleOf(const StepProgram& program, const ProgramOp& op) {
  std::string title(op.kind == ProgramOpKind::kCompute ? Name(op.compute) : Name(op.kind));
  if (op.result != kNoValue) title += " " + program.value(op.result).name();
  return title;
}

}  // namespace

Result<Executable> Executable::Load(Runtime& runtime, StepProgram program, DimSizes sizes) {
  Result<Executable> made = Prepare(runtime, std::move(program), std::move(sizes));
  CHORUS_RETURN_IF_ERROR(AgreeOn(runtime, "Executable::Load of a program", made.status(),
                                 made.ok() ? &*made : nullptr));
  CHORUS_RETURN_IF_ERROR(made->MakeGroups());
  return made;
}

Result<Executable> Executable::Prepare(Runtime& runtime, StepProgram program, DimSizes sizes) {
  CHORUS_RETURN_IF_ERROR(program.Check(runtime.mesh(), sizes));
  Executable out(runtime, std::move(program), std::move(sizes));
  for (const ProgramValue& value : out.program_.values()) {
    out.shapes_.push_back(LocalShape(value, runtime.mesh(), out.sizes_, runtime.rank()));
  }
  std::vector<std::int64_t> workspace;
  for (const ProgramOp& op : out.program_.ops()) {
    const Status status = out.PrepareOperation(op);
    if (!status.ok()) return status.WithContext(ToString(out.program_, op));
    workspace.push_back(
        WorkspaceBytes(out.program_, op, runtime.mesh(), out.sizes_, runtime.rank()).value());
  }
  CHORUS_RETURN_IF_ERROR(out.CheckOutputs());
  out.memory_plan_ = PlanMemory(out.program_, out.shapes_, workspace);
  out.hash_ = Fnv1a(out.Text()) | 1;
  return out;
}

std::string Executable::Text() const {
  return fmt::format("mesh {}\nsizes {}\n{}", runtime_->mesh().ToString(), ToString(sizes_),
                     program_.ToString());
}

// "a run of the program of 12 operations that gives c"
std::string Executable::Title() const {
  const std::vector<ValueId>& outputs = program_.outputs();
  return fmt::format("a run of the program of {} operations that gives {}", program_.ops().size(),
                     outputs.empty() ? "nothing" : program_.value(outputs[0]).name());
}

Status Executable::MakeGroups() {
  for (std::size_t i = 0; i < instructions_.size() && !has_groups_; ++i) {
    const ProgramOp& op = program_.ops()[i];
    const bool is_shift = op.kind == ProgramOpKind::kShift;
    if (!is_shift && !IsCollective(op.kind)) continue;
    if (is_shift || instructions_[i].collective.group.size() > 1) {
      const Result<Group*> group = runtime_->GroupOver(op.axes);
      if (!group.ok()) return group.status().WithContext(ToString(program_, op));
      instructions_[i].group = *group;
    }
    traffic_sources_[TrafficKey::Of(op)] = instructions_[i].group;
  }
  has_groups_ = true;
  return OkStatus();
}

// An output is handed to the caller, so its memory may be nobody else's.
Status Executable::CheckOutputs() const {
  std::vector<bool> in_bound(shapes_.size(), false);
  std::fill_n(in_bound.begin(), program_.bound(), true);
  for (const ProgramOp& op : program_.ops()) {
    if (op.into != kNoValue) in_bound[op.result] = in_bound[op.into];
  }
  for (const ValueId id : program_.outputs()) {
    if (id >= program_.bound() && in_bound[id]) {
      return Unsupported(fmt::format("output {} lies in the memory of a bound value; read that one",
                                     program_.value(id).name()));
    }
  }
  return OkStatus();
}

Status Executable::PrepareOperation(const ProgramOp& op) {
  const Mesh& mesh = runtime_->mesh();
  const int rank = runtime_->rank();
  Instruction instruction;
  if (op.kind == ProgramOpKind::kCompute) {
    CHORUS_ASSIGN_OR_RETURN(instruction.compute, PrepareCompute(program_, op, mesh, sizes_, rank));
  } else if (op.kind == ProgramOpKind::kSlice) {
    const ProgramValue& result = program_.value(op.result);
    instruction.slice = PartOf(program_.value(op.operands[0]), result, op.dim, mesh, sizes_, rank);
    instruction.slice.inner *= SizeOf(result.dtype);
  } else if (op.kind == ProgramOpKind::kJoin) {
    instruction.join = JoinOn(program_, op, mesh, sizes_, rank);
  } else if (op.kind == ProgramOpKind::kShift) {
    instruction.shift = ShiftOn(program_, op, mesh, sizes_, rank);
  } else if (IsCollective(op.kind)) {
    instruction.collective = ShapeOf(program_, op, mesh, sizes_, rank);
  }
  instructions_.push_back(std::move(instruction));
  return OkStatus();
}

Status Executable::CheckBound(ValueId id, const ShardedArray& array) const {
  const ProgramValue& value = program_.value(id);
  const Shape& shape = shapes_[static_cast<std::size_t>(id)];
  if (array.spec().SameLayout(value.spec) && array.dtype() == value.dtype &&
      array.local_shape() == shape) {
    return OkStatus();
  }
  return InvalidArgument(
      fmt::format("the program needs {} {} of {} on this rank, but the array given is {} {} of {}",
                  Name(value.dtype), value.spec.ToString(), shape.ToString(), Name(array.dtype()),
                  array.spec().ToString(), array.local_shape().ToString()));
}

std::map<TrafficKey, OpTraffic> Executable::TrafficSoFar() const {
  std::map<TrafficKey, OpTraffic> traffic;
  for (const auto& [key, group] : traffic_sources_) {
    if (group == nullptr) {
      traffic[key] = OpTraffic();
    } else if (key.kind == ProgramOpKind::kShift) {
      traffic[key] = group->traffic().point_to_point;
    } else {
      traffic[key] = group->traffic()[CollectiveOf(key.kind)];
      if (key.kind == ProgramOpKind::kAllGather) {  // of panels that lie in one block
        traffic[key] = Added(traffic[key], group->traffic()[OpKind::kBroadcast]);
      }
    }
  }
  return traffic;
}

Status Executable::CheckIndices(const std::vector<void*>& bound) const {
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const ProgramOp& op = program_.ops()[i];
    const int which = op.kind == ProgramOpKind::kCompute ? IndexOperand(op.compute) : -1;
    if (which < 0 || op.operands[static_cast<std::size_t>(which)] >= program_.bound()) continue;
    std::vector<LocalView> operands;
    for (const ValueId id : op.operands) {
      void* const data = id < program_.bound() ? bound[static_cast<std::size_t>(id)] : nullptr;
      operands.push_back({data, shapes_[static_cast<std::size_t>(id)]});
    }
    const Status status = CheckIndicesOf(instructions_[i].compute, operands);
    if (!status.ok()) return status.WithContext(ToString(program_, op));
  }
  return OkStatus();
}

Result<Executable::Ready> Executable::MakeReady(
    const std::vector<const ShardedArray*>& arrays) const {
  Ready ready;
  for (ValueId id = 0; id < program_.bound(); ++id) {
    const ShardedArray& array = *arrays[static_cast<std::size_t>(id)];
    CHORUS_RETURN_IF_ERROR(CheckBound(id, array));
    // Of RunOn only read, as is required.
    ready.bound.push_back(
        const_cast<void*>(array.raw()));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  CHORUS_RETURN_IF_ERROR(CheckIndices(ready.bound));
  ArrayMemory& memory = runtime_->memory();
  const auto needed = [&](const Status& status) {
    return memory_plan_.peak_op < 0
               ? status
               : status.WithContext(ToString(
                     program_, program_.ops()[static_cast<std::size_t>(memory_plan_.peak_op)]));
  };
  CHORUS_RETURN_IF_ERROR(needed(memory.CheckRoom(memory_plan_.peak)));
  for (const std::int64_t bytes : memory_plan_.slots) {
    Result<ArrayMemory::Piece> slot = memory.Reserve(bytes);
    if (!slot.ok()) return needed(slot.status());
    ready.slots.push_back(*std::move(slot));
  }
  return ready;
}

Status Executable::Run(ArrayStore& store, const AdamWSettings& settings) {
  const auto make_ready = [&]() -> Result<Ready> {
    std::vector<const ShardedArray*> arrays;
    for (ValueId id = 0; id < program_.bound(); ++id) {
      const auto found = store.find(program_.value(id).name());
      if (found == store.end()) {
        return InvalidArgument(fmt::format("the program needs {}, which no array was given for",
                                           program_.value(id).spec.ToString()));
      }
      arrays.push_back(&found->second);
    }
    // Their memory is needed for this run's.
    for (const ValueId id : program_.outputs()) {
      if (id >= program_.bound()) store.erase(program_.value(id).name());
    }
    return MakeReady(arrays);
  };
  Result<Ready> ready = make_ready();
  CHORUS_RETURN_IF_ERROR(AgreeOn(*runtime_, Title(), ready.status(), this));
  CHORUS_ASSIGN_OR_RETURN(std::vector<ShardedArray> results, RunReady(*std::move(ready), settings));
  for (ShardedArray& result : results) {
    const std::string name = result.spec().name();
    store.emplace(name, std::move(result));
  }
  return OkStatus();
}

Result<std::vector<ShardedArray>> Executable::RunOn(const std::vector<const ShardedArray*>& arrays,
                                                    const std::string& question) {
  Result<Ready> ready =
      std::ssize(arrays) == program_.bound()
          ? MakeReady(arrays)
          : InvalidArgument(fmt::format("the program needs {} arrays, but {} were given",
                                        program_.bound(), arrays.size()));
  CHORUS_RETURN_IF_ERROR(AgreeOn(*runtime_, question, ready.status(), this));
  return RunReady(*std::move(ready), AdamWSettings());
}

Result<std::vector<ShardedArray>> Executable::RunReady(Ready ready, const AdamWSettings& settings) {
  CHORUS_RETURN_IF_ERROR(MakeGroups());
  ArrayMemory& memory = runtime_->memory();
  ValuePlaces places(memory_plan_, shapes_, std::move(ready.slots));
  // What the caller keeps besides the bound values is no memory of this program.
  std::int64_t others = memory.used().value();
  for (ValueId id = 0; id < program_.bound(); ++id) {
    places.Bind(id, ready.bound[static_cast<std::size_t>(id)]);
    others -= places.View(id).shape.elements() * SizeOf(program_.value(id).dtype);
  }
  memory.ResetPeak();
  counters_ = RunCounters();
  counters_.op_times.assign(instructions_.size(), Seconds(0));
  const std::map<TrafficKey, OpTraffic> before = TrafficSoFar();

  const Status done = RunOperations(places, settings);
  if (!done.ok()) {
    // What this rank alone ran into, others would wait for.
    if (done.scope() == ErrorScope::kCall || done.code() == StatusCode::kAborted) {
      runtime_->Abort(done.message());
    }
    return done;
  }

  counters_.peak = memory.peak() - Bytes(others);
  for (const auto& [key, now] : TrafficSoFar()) {
    counters_.traffic[key] = Difference(now, before.at(key));
  }
  std::vector<ShardedArray> results;
  std::vector<bool> taken(shapes_.size(), false);
  for (const ValueId id : program_.outputs()) {
    if (id < program_.bound() || taken[static_cast<std::size_t>(id)]) continue;
    taken[static_cast<std::size_t>(id)] = true;
    const ProgramValue& value = program_.value(id);
    results.emplace_back(*runtime_, value.spec, value.dtype, sizes_, places.Take(id));
  }
  return results;
}

Status Executable::RunOperations(ValuePlaces& places, const AdamWSettings& settings) {
  ProgramTrace* const trace = runtime_->trace();
  ShiftsUnderWay shifts(program_, counters_.op_times, trace);
  Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const Status status = Step(i, settings, places, shifts);
    if (!status.ok()) return status.WithContext(ToString(program_, program_.ops()[i]));
    shifts.Advance();
    const Clock::time_point end = Clock::now();
    const ProgramOp& op = program_.ops()[i];
    if (op.kind != ProgramOpKind::kShift) {
      counters_.op_times[i] = Seconds(std::chrono::duration<double>(end - begin).count());
      if (trace != nullptr && op.kind != ProgramOpKind::kFree) {
        trace->Add(TitleOf(program_, op), /*is_shift=*/false, begin, end);
      }
    }
    begin = end;
  }
  return shifts.WaitForAll();
}

Status Executable::BeginShift(std::size_t i, ValuePlaces& places, ShiftsUnderWay& shifts) {
  const ProgramOp& op = program_.ops()[i];
  const ShiftShape& shape = instructions_[i].shift;
  const std::int64_t begin = shape.begin * SizeOf(shape.dtype);
  const ConstBuffer sends(static_cast<const char*>(places.View(op.operands[0]).data) + begin,
                          shape.sends, shape.dtype);
  const MutableBuffer receives(places.View(op.result).data, shape.receives, shape.dtype);
  // Chunks that go the same way round come in the order of the program, in which they are used.
  const int tag = op.by > 0 ? 0 : 1;
  shifts.Add(
      i, op, (shape.sends + shape.receives) * SizeOf(shape.dtype),
      instructions_[i].group->SendRecvAsync(sends, shape.to, tag, receives, shape.from, tag));
  return OkStatus();
}

Status Executable::Step(std::size_t i, const AdamWSettings& settings, ValuePlaces& places,
                        ShiftsUnderWay& shifts) {
  const ProgramOp& op = program_.ops()[i];
  const Instruction& instruction = instructions_[i];
  CHORUS_RETURN_IF_ERROR(shifts.WaitFor(op));
  if (op.result != kNoValue) places.Define(i, op);
  switch (op.kind) {
    case ProgramOpKind::kCompute: {
      std::vector<LocalView> operands;
      operands.reserve(op.operands.size());
      for (const ValueId id : op.operands) operands.push_back(places.View(id));
      return RunCompute(instruction.compute, runtime_->kernels(), operands, places.View(op.result),
                        counters_.products);
    }
    case ProgramOpKind::kSlice:
      Slice(op, instruction, places);
      return OkStatus();
    case ProgramOpKind::kAllGather:
    case ProgramOpKind::kReduceScatter:
    case ProgramOpKind::kAllReduce:
    case ProgramOpKind::kAllToAll:
    case ProgramOpKind::kPermute: {
      Status status = Exchange(op.kind, instruction.collective, instruction.group,
                               places.View(op.operands[0]).data, places.View(op.result).data,
                               places.BeginWorkspace(i));
      places.EndWorkspace(i);
      return status;
    }
    case ProgramOpKind::kShift:
      return BeginShift(i, places, shifts);
    case ProgramOpKind::kJoin: {
      std::vector<const void*> parts;
      for (const ValueId id : op.operands) {
        if (id != op.into) parts.push_back(places.View(id).data);
      }
      Join(instruction.join, runtime_->kernels(), parts, places.View(op.result).data);
      return OkStatus();
    }
    case ProgramOpKind::kAdamW:
      Update(op, settings, places);
      return OkStatus();
    case ProgramOpKind::kFree:
      places.Free(i);
      return OkStatus();
  }
  return OkStatus();
}

void Executable::Slice(const ProgramOp& op, const Instruction& instruction,
                       ValuePlaces& places) const {
  PackBlock(instruction.slice, static_cast<const char*>(places.View(op.operands[0]).data),
            static_cast<char*>(places.View(op.result).data));
}

void Executable::Update(const ProgramOp& op, const AdamWSettings& settings,
                        const ValuePlaces& places) const {
  if (program_.value(op.operands[0]).dtype == DType::kF64) {
    RunAdamW<double>(runtime_->kernels(), settings, places, op.operands);
  } else {
    RunAdamW<float>(runtime_->kernels(), settings, places, op.operands);
  }
}

}  // namespace chorus
