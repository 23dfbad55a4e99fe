#include "chorus/program/account.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>

#include "chorus/program/chunked.h"

namespace chorus {
Bytes LocalBytes(const ProgramValue& value, const Mesh& mesh, const DimSizes& sizes,
                 std::int64_t rank) {
  return Bytes(LocalShape(value, mesh, sizes, rank).elements() * SizeOf(value.dtype));
}

std::int64_t CollectiveShape::WorkspaceElements() const {
  if (group.size() == 1) return 0;
  return NeedsPacking() ? elements : pieces.WorkspaceElements();
}

CollectiveShape ShapeOf(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                        const DimSizes& sizes, std::int64_t rank) {
  assert(IsCollective(op.kind));
  const ProgramValue& operand = program.value(op.operands[0]);
  CollectiveShape shape;
  shape.group = mesh.Group(rank, op.axes);
  shape.index = mesh.IndexInGroup(rank, op.axes);
  shape.dtype = operand.dtype;
  if (op.kind == ProgramOpKind::kAllReduce) {
    shape.elements = LocalShape(operand.spec, mesh, sizes, rank).elements();
    return shape;
  }
  if (ExchangesPieces(op.kind)) {
    shape.pieces =
        ExchangeOf(operand.spec, program.value(op.result).spec, op.axes, mesh, sizes, rank);
    shape.elements = shape.pieces.sends.whole.elements();
    return shape;
  }
  // The side on which the blocks are apart says who has which.
  const Spec& apart =
      op.kind == ProgramOpKind::kAllGather ? operand.spec : program.value(op.result).spec;
  const int dim = apart.FindDim(op.dim);
  const Shape local = LocalShape(apart, mesh, sizes, rank);
  shape.outer = local.elements(0, dim);
  shape.inner = local.elements(dim + 1, local.rank());
  const ProgramValue& result = program.value(op.result);
  std::optional<Block> panel;
  if (result.holds) panel = HeldBlock(result, dim, mesh, sizes, rank);
  for (const std::int64_t member : shape.group) {
    const Block held = BlockOf(apart.AxesOf(op.dim), mesh, sizes.find(op.dim)->second, member);
    const Block block = panel ? Common(held, *panel) : held;
    if (member == rank) {
      shape.held = held.size;
      shape.from = block.begin - held.begin;
    }
    shape.lengths.push_back(block.size);
    shape.counts.push_back(shape.outer * block.size * shape.inner);
    shape.elements += shape.counts.back();
  }
  const auto all = std::find(shape.lengths.begin(), shape.lengths.end(), panel ? panel->size : -1);
  if (panel && panel->size > 0 && all != shape.lengths.end()) {
    shape.owner = static_cast<int>(all - shape.lengths.begin());
  }
  return shape;
}

ProgramValue ShiftedValue(const StepProgram& program, const ProgramOp& op) {
  ProgramValue sent = program.value(op.result);
  sent.holds = sent.holds->Turned(-op.by);
  return sent;
}

Bytes ShiftedBytes(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                   const DimSizes& sizes, std::int64_t rank) {
  return LocalBytes(ShiftedValue(program, op), mesh, sizes, rank);
}

Bytes WorkspaceBytes(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                     const DimSizes& sizes, std::int64_t rank) {
  if (!IsCollective(op.kind)) return Bytes(0);
  const CollectiveShape shape = ShapeOf(program, op, mesh, sizes, rank);
  return Bytes(shape.WorkspaceElements() * SizeOf(shape.dtype));
}

Flops ProductFlops(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                   const DimSizes& sizes, std::int64_t rank) {
  if (op.kind != ProgramOpKind::kCompute || op.compute != GraphOp::kContract) return Flops(0);
  const std::vector<ChunkSet> chunks = *ChunksWorkedOn(program.values(), op);
  std::map<std::string, std::int64_t> loop;  // every index is in one of the two operands
  for (std::size_t k = 0; k < 2; ++k) {
    const ProgramValue& value = program.value(op.operands[k]);
    for (int dim = 0; dim < static_cast<int>(value.spec.dims().size()); ++dim) {
      loop[value.spec.dims()[static_cast<std::size_t>(dim)].name] =
          WorkedBlock(value, dim, chunks, mesh, sizes, rank).size;
    }
  }
  std::int64_t flops = 2;
  for (const auto& [index, size] : loop) flops *= size;
  return Flops(flops);
}

Flops ProductFlops(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes,
                   std::int64_t rank) {
  Flops flops;
  for (const ProgramOp& op : program.ops()) flops += ProductFlops(program, op, mesh, sizes, rank);
  return flops;
}

MemoryUse PeakMemory(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes,
                     std::int64_t rank) {
  MemoryUse use;
  const auto bytes = [&](ValueId id) { return LocalBytes(program.value(id), mesh, sizes, rank); };
  for (ValueId id = 0; id < program.bound(); ++id) use.bound += bytes(id);
  Bytes live = use.bound;
  use.peak = live;
  for (std::size_t i = 0; i < program.ops().size(); ++i) {
    const ProgramOp& op = program.ops()[i];
    if (op.kind == ProgramOpKind::kFree) {
      live -= bytes(op.operands[0]);
      continue;
    }
    if (op.result != kNoValue && op.into == kNoValue) live += bytes(op.result);
    const Bytes during = live + WorkspaceBytes(program, op, mesh, sizes, rank);
    if (during > use.peak) {
      use.peak = during;
      use.peak_op = static_cast<int>(i);
    }
  }
  use.at_end = live;
  return use;
}

Bytes MostMemory(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes) {
  const bool exchanges = std::any_of(program.ops().begin(), program.ops().end(),
                                     [](const ProgramOp& op) { return ExchangesPieces(op.kind); });
  const bool is_even = std::all_of(sizes.begin(), sizes.end(), [&mesh](const auto& dim) {
    return dim.second % mesh.size() == 0;
  });
  if (!exchanges || is_even) return PeakMemory(program, mesh, sizes, 0).peak;
  Bytes most;
  for (const std::int64_t rank : RanksLookedAt(mesh.size())) {
    most = std::max(most, PeakMemory(program, mesh, sizes, rank).peak);
  }
  return most;
}

}  // namespace chorus
