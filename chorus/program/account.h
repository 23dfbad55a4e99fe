// What one rank computes, holds and moves in a program: expressions of (program, mesh, sizes,
// rank).
//
// The runtime uses the same functions for its sizes and its counters are compared with them, so
// what is predicted is what happens, exactly. Nothing here depends on how a collective is carried
// out. Thread safety: pure. All functions REQUIRE program.Check(mesh, sizes) to be ok.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/units.h"
#include "chorus/program/pieces.h"
#include "chorus/program/program.h"

namespace chorus {

// Bytes of what `rank` holds of a value: elements of its local shape x bytes an element.
Bytes LocalBytes(const ProgramValue& value, const Mesh& mesh, const DimSizes& sizes,
                 std::int64_t rank);

// What a collective moves within the group of one rank.
//
// The blocks lie along `dim`. Seen from a rank, the array with all blocks joined is
// (outer, sum of blocks, inner), row-major: outer is the number of elements of the dimensions
// before `dim`, inner of those after it. Member k's block is (outer, lengths[k], inner), counts[k]
// elements. When outer > 1 the blocks interleave in memory and must be packed to be sent as runs.
struct CollectiveShape {
  std::vector<std::int64_t> group;  // ranks, major to minor
  std::int64_t index = 0;           // of this rank in `group`
  // Elements of each member's block and its length along `dim`; of all_gather and reduce_scatter.
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> lengths;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  std::int64_t elements = 0;  // of all blocks together; of an exchange of pieces those it holds
  // Of all_gather: how many indices along `dim` this rank holds, and from which on its block is of
  // them. Of a panel blocks are those parts of what members hold that lie in it.
  std::int64_t held = 0;
  std::int64_t from = 0;
  int owner = -1;        // of a panel that lies in one block: whose. It is broadcast then
  BlockExchange pieces;  // of all_to_all and permute
  DType dtype = DType::kF32;

  bool NeedsPacking() const { return outer > 1 && counts.size() > 1 && owner < 0; }
  // Elements of the packed copies that it needs.
  std::int64_t WorkspaceElements() const;
  friend bool operator==(const CollectiveShape&, const CollectiveShape&) = default;
};

// REQUIRES: IsCollective(op.kind).
CollectiveShape ShapeOf(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                        const DimSizes& sizes, std::int64_t rank);

// What a rank sends in a shift: the result, as it lies before. REQUIRES: a shift of chunks.
ProgramValue ShiftedValue(const StepProgram& program, const ProgramOp& op);
// What `rank` sends in a shift. REQUIRES: op.kind is kShift.
Bytes ShiftedBytes(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                   const DimSizes& sizes, std::int64_t rank);

// Memory that an operation needs while it runs besides its operands and its result: a packed copy
// of all blocks for all_gather and reduce_scatter along a dimension that is not leading
// (NeedsPacking), of the operand for reduce_scatter, of the result for all_gather. 0 otherwise.
Bytes WorkspaceBytes(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                     const DimSizes& sizes, std::int64_t rank);

// Floating-point operations of the matrix products (contract) of one rank: 2 x the product of the
// local sizes of all loop indices.
Flops ProductFlops(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
                   const DimSizes& sizes, std::int64_t rank);
Flops ProductFlops(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes,
                   std::int64_t rank);

// The most memory one rank holds at any time: bound values, live results and workspace, in bytes of
// their elements (no alignment, no allocator overhead).
struct MemoryUse {
  Bytes peak;
  int peak_op = -1;  // the operation during which it is reached; -1: before the first
  Bytes bound;       // of the bound values
  Bytes at_end;      // bound values and outputs

  friend bool operator==(const MemoryUse&, const MemoryUse&) = default;
};
MemoryUse PeakMemory(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes,
                     std::int64_t rank);
// The peak of the rank that needs most. That is rank 0, whose blocks are the largest, but where
// uneven blocks change ranks: there others may pack more. Of 256 ranks spread evenly if there are
// more.
Bytes MostMemory(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes);

}  // namespace chorus
