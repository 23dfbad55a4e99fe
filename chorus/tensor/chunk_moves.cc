#include "chorus/tensor/chunk_moves.h"

#include <algorithm>
#include <cstring>

#include "chorus/kernel/convert.h"
#include "chorus/kernel/reduce.h"
#include "chorus/program/chunked.h"

namespace chorus {

ShiftShape ShiftOn(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                   const DimSizes& sizes, std::int64_t rank) {
  const ProgramValue& operand = program.value(op.operands[0]);
  ProgramValue sent = program.value(op.result);
  const std::int64_t n = mesh.GroupSize(op.axes);
  const std::int64_t index = mesh.IndexInGroup(rank, op.axes);
  ShiftShape shape;
  shape.from = static_cast<int>((index + op.by + n) % n);
  shape.to = static_cast<int>((index - op.by + n) % n);
  shape.dtype = sent.dtype;
  shape.receives = LocalShape(sent, mesh, sizes, rank).elements();
  sent.holds = sent.holds->Turned(-op.by);
  const Shape sends = LocalShape(sent, mesh, sizes, rank);
  shape.sends = sends.elements();
  if (!operand.holds) {  // of the own block, which its first dimension is split into
    const std::int64_t before = HeldBlock(sent, 0, mesh, sizes, rank).begin -
                                HeldBlock(operand, 0, mesh, sizes, rank).begin;
    shape.begin = before * sends.elements(1, sends.rank());
  }
  return shape;
}

BlockShape PartOf(const ProgramValue& whole, const ProgramValue& part, const std::string& dim,
                  const Mesh& mesh, const DimSizes& sizes, std::int64_t rank) {
  const int d = whole.spec.FindDim(dim);
  const Shape local = LocalShape(whole, mesh, sizes, rank);
  const Block had = HeldBlock(whole, d, mesh, sizes, rank);
  const Block kept = HeldBlock(part, d, mesh, sizes, rank);
  return {.outer = local.elements(0, d),
          .length = had.size,
          .inner = local.elements(d + 1, local.rank()),
          .begin = kept.begin - had.begin,
          .count = kept.size};
}

JoinShape JoinOn(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                 const DimSizes& sizes, std::int64_t rank) {
  const ProgramValue& result = program.value(op.result);
  JoinShape shape;
  shape.from = program.value(op.operands[0]).dtype;
  shape.to = result.dtype;
  shape.adds = op.into != kNoValue;
  for (const ValueId id : op.operands) {
    if (id == op.into) continue;
    const ProgramValue& part = program.value(id);
    if (part.holds) {
      shape.parts.push_back(PartOf(result, part, part.holds->dim, mesh, sizes, rank));
    } else {  // the array itself
      const std::int64_t elements = LocalShape(result, mesh, sizes, rank).elements();
      shape.parts.push_back(
          {.outer = 1, .length = elements, .inner = 1, .begin = 0, .count = elements});
    }
  }
  return shape;
}

void Join(const JoinShape& shape, KernelSet kernels, const std::vector<const void*>& parts,
          void* result) {
  const std::int64_t in = SizeOf(shape.from);
  const std::int64_t out = SizeOf(shape.to);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const BlockShape& part = shape.parts[k];
    const std::int64_t run = part.count * part.inner;
    if (run == 0) continue;
    for (std::int64_t o = 0; o < part.outer; ++o) {
      const char* from = static_cast<const char*>(parts[k]) + o * run * in;
      char* to = static_cast<char*>(result) + (o * part.length + part.begin) * part.inner * out;
      if (shape.adds) {
        const ReduceSource sources[] = {{to, shape.to}, {from, shape.from}};
        void* const dsts[] = {to};
        Reduce(kernels, {.sources = sources, .dsts = dsts, .dst_dtype = shape.to, .count = run});
      } else if (shape.from == shape.to) {
        std::memcpy(to, from, static_cast<std::size_t>(run * in));
      } else {
        Convert(kernels, from, shape.from, to, shape.to, run);
      }
    }
  }
}

}  // namespace chorus
