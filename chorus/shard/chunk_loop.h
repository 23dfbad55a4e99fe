// ChunkLoop: a product that works on the chunks of an array as they come, or leaves its result
// chunk by chunk, so that a chunk is on its way while another is multiplied ("collective matmul").
//
//   C = A . all_gather(B, J_X)                     X=3, one chunk a block; what rank 0 does
//
//     link      B1 comes ......  B2 comes ......
//     compute   A . B0 ........  A . B1 ........  A . B2 ........
//
//   C = reduce_scatter(A . B, I_X)
//
//     compute   rows of rank 1 .  of rank 2, added to what came ..  of rank 0, added to what came
//     link                        rows of rank 1 go ............    rows of rank 2 go ...........
//
// Blocks go round the ranks along the axes of the collective, one hop a turn; the sends of a turn
// go out before what has come is multiplied. A block is cut into chunks, so that the first is
// ready, and the last is worked on, soon. In two directions one half of the chunks goes the other
// way round. As many bytes are sent as by a ring.
// (S. Wang et al., Overlap Communication with Dependent Computation via Decomposition in Large Deep
// Learning Models, ASPLOS 2023.)
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chorus/shard/compute.h"
#include "chorus/shard/emitter.h"

namespace chorus {

struct ChunkLoop {
  // Whose collective is taken apart: the all_gather that brings operand 0 or 1, or the
  // reduce_scatter of the result.
  enum class Of : std::uint8_t { kLeft, kRight, kResult };
  Of of = Of::kLeft;
  int turns = 0;       // ranks that the blocks go round
  int parts = 1;       // chunks of a block
  int directions = 1;  // 1 or 2; of two, `parts` is even

  friend bool operator==(const ChunkLoop&, const ChunkLoop&) = default;
};

// The collective that the loop takes apart. REQUIRES: the loop is one of `plan`.
const Move& MoveOf(const ComputePlan& plan, ChunkLoop::Of of);
// "B comes in 2 x 4 chunks, one way round", "C goes ...": blocks and chunks of each, for people.
std::string ToString(const ChunkLoop& loop, const ComputePlan& plan);

// What loops `plan`, a plan of a product, can be done by, one for each number of chunks and
// directions. None where nothing is gathered last or scattered first, or where more than one
// summed dimension leads to the sum that is scattered.
std::vector<ChunkLoop> LoopsOf(const ComputePlan& plan, const Mesh& mesh, const DimSizes& sizes);

// Adds the loop's operations: from the operands as they lie before the move that it takes apart
// (the other one as the product needs it) to what the product leaves after it, which is returned.
// bf16 is summed and sent half summed in f32, and rounded once.
ValueId EmitLoop(ProgramEmitter& emitter, const ComputePlan& plan, const ChunkLoop& loop,
                 ValueId left, ValueId right, const std::string& name, const Provenance& why);

}  // namespace chorus
