#include "chorus/shard/emitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace chorus {
namespace {

// What a move makes of a value, as the last part of its name.
std::string_view Suffix(ProgramOpKind kind) {
  switch (kind) {
    case ProgramOpKind::kAllGather:
      return "gathered";
    case ProgramOpKind::kReduceScatter:
      return "scattered";
    case ProgramOpKind::kAllReduce:
      return "reduced";
    case ProgramOpKind::kAllToAll:
      return "turned";
    case ProgramOpKind::kPermute:
      return "permuted";
    default:
      return "own";
  }
}

bool MayWorkInPlace(const ProgramOp& op) {
  if (op.kind == ProgramOpKind::kAllReduce) return true;
  return op.kind == ProgramOpKind::kCompute &&
         (op.compute == GraphOp::kAdd || op.compute == GraphOp::kGelu ||
          op.compute == GraphOp::kGeluGrad);
}

}  // namespace

std::string ProgramEmitter::Unique(const std::string& name) {
  std::string unique = name;
  for (int i = 2; !names_.insert(unique).second; ++i) unique = fmt::format("{}.{}", name, i);
  return unique;
}

ValueId ProgramEmitter::Bind(Spec spec, DType dtype, StorageClass storage) {
  assert(ops_.empty());
  names_.insert(spec.name());
  values_.push_back({std::move(spec), dtype, storage});
  return bound_++;
}

ValueId ProgramEmitter::Add(ProgramOp op, const Spec& spec, DType dtype, StorageClass storage) {
  op.result = static_cast<ValueId>(values_.size());
  values_.push_back({spec.WithName(Unique(spec.name())), dtype, storage});
  ops_.push_back(std::move(op));
  return ops_.back().result;
}

void ProgramEmitter::Add(ProgramOp op) { ops_.push_back(std::move(op)); }

ValueId ProgramEmitter::Move(ValueId from, const Reshard& reshard, const std::string& name,
                             StorageClass storage, const Provenance& why, ValueId into) {
  for (std::size_t i = 0; i < reshard.moves.size(); ++i) {
    const chorus::Move& move = reshard.moves[i];
    const bool is_last = i + 1 == reshard.moves.size();
    ProgramOp op;
    op.kind = move.kind;
    op.operands = {from};
    op.into = is_last ? into : kNoValue;
    op.dim = move.dim;
    op.to = move.to;
    op.axes = move.axes;
    op.why = why;
    const std::string moved = is_last ? name : fmt::format("{}.{}", name, Suffix(move.kind));
    from = Add(std::move(op), move.result.WithName(moved), value(from).dtype, storage);
  }
  return from;
}

Result<StepProgram> ProgramEmitter::Finish(std::vector<ValueId> outputs) {
  std::vector<std::size_t> last_use(values_.size(), 0);
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    for (const ValueId id : ops_[i].operands) last_use[static_cast<std::size_t>(id)] = i;
    if (ops_[i].result != kNoValue) last_use[static_cast<std::size_t>(ops_[i].result)] = i;
  }
  // Values that the end of the program does not end: bound, outputs, written back.
  std::set<ValueId> staying(outputs.begin(), outputs.end());
  for (ValueId id = 0; id < bound_; ++id) staying.insert(id);
  std::vector<ProgramOp> placed;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    ProgramOp op = ops_[i];
    if (op.into != kNoValue) staying.insert(op.result);
    std::set<ValueId> ending;
    for (const ValueId id : op.operands) {
      if (last_use[static_cast<std::size_t>(id)] == i && staying.count(id) == 0) ending.insert(id);
    }
    if (MayWorkInPlace(op)) {
      for (const ValueId id : op.operands) {
        if (ending.count(id) == 0 || op.into != kNoValue) continue;
        op.into = id;
        ending.erase(id);
      }
    }
    if (op.result != kNoValue && last_use[static_cast<std::size_t>(op.result)] == i &&
        staying.count(op.result) == 0) {
      ending.insert(op.result);  // nobody needs it
    }
    placed.push_back(std::move(op));
    for (const ValueId id : ending) {
      ProgramOp free;
      free.kind = ProgramOpKind::kFree;
      free.operands = {id};
      placed.push_back(std::move(free));
    }
  }
  return StepProgram::Create(std::move(values_), std::move(placed), std::move(outputs));
}

}  // namespace chorus
