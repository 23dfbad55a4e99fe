// Chunks of blocks on one rank: where they lie in arrays, how they are sent and put together.
//
// Thread safety: pure but for results.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/kernel/block_copy.h"
#include "chorus/kernel/kernel_set.h"
#include "chorus/program/program.h"

namespace chorus {

// A shift as one rank carries it out: members of the group over op.axes.
struct ShiftShape {
  int to = 0;
  int from = 0;
  std::int64_t begin = 0;  // elements of the operand before what is sent
  std::int64_t sends = 0;  // elements
  std::int64_t receives = 0;
  DType dtype = DType::kF32;
};
// REQUIRES: op.kind is kShift; program.Check(mesh, sizes) is ok.
ShiftShape ShiftOn(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                   const DimSizes& sizes, std::int64_t rank);

// Where `part` lies in the array `whole` along dimension `dim`; in elements.
BlockShape PartOf(const ProgramValue& whole, const ProgramValue& part, const std::string& dim,
                  const Mesh& mesh, const DimSizes& sizes, std::int64_t rank);

// A join: where each operand goes in the result, but for the one that the result takes over.
struct JoinShape {
  std::vector<BlockShape> parts;  // in elements
  bool adds = false;              // to what is there
  DType from = DType::kF32;
  DType to = DType::kF32;
};
// REQUIRES: op.kind is kJoin; program.Check(mesh, sizes) is ok.
JoinShape JoinOn(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                 const DimSizes& sizes, std::int64_t rank);
// Effect: result = the parts together, rounded to nearest even if its dtype is narrower; or, where
// it adds, the parts added to it.
void Join(const JoinShape& shape, KernelSet kernels, const std::vector<const void*>& parts,
          void* result);

}  // namespace chorus
