// PanelStream: a product whose operands are gathered panel by panel of one dimension, because all
// of them at once would be too much memory (SUMMA).
//
//   C[I_X, K_Y] = A[I_X, J_Y] . B[J_X, K_Y]        4 panels of J
//
//     A.0[I_X, J] holds J 1000 = all_gather(A, J_Y)       the columns of A, from who has them
//     B.0[J, K_Y] holds J 1000 = all_gather(B, J_X)       the rows of B
//     C so_far J 1000 = contract(A.0, B.0), both are freed; then the next panel is added to C
//
// Beside the blocks of A, B and C a rank holds one panel of either operand. As many bytes arrive as
// in gathering all, in more messages. A panel that lies in the block of one rank is broadcast by
// it. The dimension may be a summed one, which both operands have, or one of the result; an operand
// that has all of it is read in place. (R. van de Geijn and J. Watts, SUMMA: Scalable Universal
// Matrix Multiplication Algorithm, 1997.) Thread safety: pure.
#pragma once

#include <string>
#include <vector>

#include "chorus/shard/compute.h"
#include "chorus/shard/emitter.h"

namespace chorus {

struct PanelStream {
  std::string dim;
  int panels = 2;

  friend bool operator==(const PanelStream&, const PanelStream&) = default;
};

// True if operand `k` of `plan` comes in panels: its last move is an all_gather along their
// dimension.
bool ComesInPanels(const ComputePlan& plan, const std::string& dim, std::size_t k);

// "A and B come in 4 panels of J", for people.
std::string ToString(const PanelStream& stream, const ComputePlan& plan);

// The streams that can do `plan`, a plan of a product: dimension by dimension, few panels first.
std::vector<PanelStream> StreamsOf(const ComputePlan& plan, const Mesh& mesh,
                                   const DimSizes& sizes);

// Of those of one dimension the first in which each panel lies in one block, if blocks are even.
// REQUIRES: some operand comes in panels of `dim`.
int PanelsOfBlocks(const ComputePlan& plan, const std::string& dim, const Mesh& mesh);

// Adds the stream's operations: from the operands as they lie before the moves that it takes apart
// (else as the product needs them) to what the product leaves, which is returned. bf16 is summed in
// f32 and rounded once.
ValueId EmitStream(ProgramEmitter& emitter, const ComputePlan& plan, const PanelStream& stream,
                   ValueId left, ValueId right, const std::string& name, const Provenance& why);

}  // namespace chorus
