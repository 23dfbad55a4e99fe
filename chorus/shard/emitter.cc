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
  return Add(std::move(op), ProgramValue{spec, dtype, storage});
}

ValueId ProgramEmitter::Add(ProgramOp op, ProgramValue value) {
  op.result = static_cast<ValueId>(values_.size());
  value.spec = value.spec.WithName(Unique(value.name()));
  values_.push_back(std::move(value));
  ops_.push_back(std::move(op));
  return ops_.back().result;
}

void ProgramEmitter::Add(ProgramOp op) { ops_.push_back(std::move(op)); }

ValueId ProgramEmitter::Move(ValueId from, const ReshardPlan& reshard, const std::string& name,
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

std::vector<std::size_t> ProgramEmitter::LastUses() const {
  std::vector<std::size_t> last_use(values_.size(), 0);
  std::vector<std::size_t> first_use(values_.size(), ops_.size());
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    for (const ValueId id : ops_[i].operands) {
      last_use[static_cast<std::size_t>(id)] = i;
      std::size_t& first = first_use[static_cast<std::size_t>(id)];
      first = std::min(first, i);
    }
    if (ops_[i].result != kNoValue) last_use[static_cast<std::size_t>(ops_[i].result)] = i;
  }
  for (const ProgramOp& op : ops_) {
    if (op.kind != ProgramOpKind::kShift) continue;
    const std::size_t used = first_use[static_cast<std::size_t>(op.result)];
    std::size_t& last = last_use[static_cast<std::size_t>(op.operands[0])];
    if (used < ops_.size()) last = std::max(last, used);
  }
  return last_use;
}

Result<StepProgram> ProgramEmitter::Finish(std::vector<ValueId> outputs) {
  // Values that the end of the program does not end: bound, outputs, written back.
  std::set<ValueId> staying(outputs.begin(), outputs.end());
  for (ValueId id = 0; id < bound_; ++id) staying.insert(id);
  for (const ProgramOp& op : ops_) {
    if (op.into != kNoValue && (op.into < bound_ || written_back_.count(op.into) > 0)) {
      written_back_.insert(op.result);
      staying.insert(op.result);
    }
  }
  std::vector<std::set<ValueId>> ending(ops_.size());  // by the operation after which they do
  const std::vector<std::size_t> last_use = LastUses();
  for (ValueId id = bound_; id < static_cast<ValueId>(values_.size()); ++id) {
    if (staying.count(id) == 0) ending[last_use[static_cast<std::size_t>(id)]].insert(id);
  }
  std::vector<ProgramOp> placed;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    ProgramOp op = ops_[i];
    if (op.into != kNoValue) ending[i].erase(op.into);
    if (MayWorkInPlace(op)) {
      for (const ValueId id : op.operands) {
        if (ending[i].count(id) == 0 || op.into != kNoValue) continue;
        op.into = id;
        ending[i].erase(id);
      }
    }
    placed.push_back(std::move(op));
    for (const ValueId id : ending[i]) {
      ProgramOp free;
      free.kind = ProgramOpKind::kFree;
      free.operands = {id};
      placed.push_back(std::move(free));
    }
  }
  return StepProgram::Create(std::move(values_), std::move(placed), std::move(outputs));
}

}  // namespace chorus
