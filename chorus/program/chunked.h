// What operations work on where values hold, or are made of, chunks of a dimension.
//
// A value with `holds` is one chunk of an array; a value with `so_far` is an array of which only
// these chunks are worked in: along a dimension that it has, the elements there; along one that is
// summed, the addends. All that a contraction touches follows from that:
//
//   C[I, K] so_far J_X 11 01  = contract(A, b, C.1) into C.1
//     C.1[I, K] so_far J_X 11 00, b[J, K] holds J_X 00 01:  the chunk worked on is J_X 00 01, which
//     is b, and of A[I, J], which is whole, the columns of that chunk
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/shape.h"
#include "chorus/program/program.h"

namespace chorus {

// The indices of dimension number `dim` of `value` that `rank` holds, in the whole array.
Block HeldBlock(const ProgramValue& value, int dim, const Mesh& mesh, const DimSizes& sizes,
                std::int64_t rank);
// Shape of what `rank` holds of a value.
Shape LocalShape(const ProgramValue& value, const Mesh& mesh, const DimSizes& sizes,
                 std::int64_t rank);

// True if an operand or the result of `op` holds or is made of chunks.
bool WorksOnChunks(const std::vector<ProgramValue>& values, const ProgramOp& op);
// The chunks that a contraction works on, one set a dimension; none if it works on whole blocks.
// Errors: operands that hold different chunks of a dimension, chunks that are done twice.
Result<std::vector<ChunkSet>> ChunksWorkedOn(const std::vector<ProgramValue>& values,
                                             const ProgramOp& op);
// Of `value`, an operand or the result, the indices of dimension number `dim` that are worked on,
// in the whole array. REQUIRES: `chunks` is what ChunksWorkedOn said.
Block WorkedBlock(const ProgramValue& value, int dim, const std::vector<ChunkSet>& chunks,
                  const Mesh& mesh, const DimSizes& sizes, std::int64_t rank);
// True if the contraction adds to what its third operand holds; else, where it has one, it fills
// elements that were undefined. REQUIRES: checked.
bool AddsToThird(const std::vector<ProgramValue>& values, const ProgramOp& op);

// `axes` taken off the end of those that split `dim`, if they are there.
Spec WithoutAxes(const Spec& spec, const std::string& dim, const AxisNames& axes);

// Checks of operations with chunks: kShift, kJoin, kSlice to a chunk, kAllGather of a panel,
// contractions.
Status CheckShift(const ProgramValue& operand, const ProgramOp& op, const ProgramValue& result);
Status CheckJoin(const std::vector<ProgramValue>& values, const ProgramOp& op);
Status CheckChunkOf(const ProgramValue& operand, const ProgramOp& op, const ProgramValue& result);
Status CheckPanelOf(const ProgramValue& operand, const ProgramOp& op, const ProgramValue& result);
Status CheckChunkedContract(const std::vector<ProgramValue>& values, const ProgramOp& op);

}  // namespace chorus
