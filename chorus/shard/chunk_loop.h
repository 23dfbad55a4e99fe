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
//     compute   rows of rank 1 .  of rank 2, added to what came ..  own rows .........  + what came
//     link                        rows of rank 1 go ............    rows of rank 2 go ..
//
// Blocks go round the ranks along the axes of the collective, one hop a turn; the sends of a turn
// go out before what has come is multiplied. A block is cut into chunks, so that the first is
// ready, and the last is worked on, soon. In two directions one half of the chunks goes the other
// way round. As many bytes are sent as by a ring.
//
// Each product of a chunk of a summed dimension goes through all of C again. While the own block is
// multiplied much of the next one comes, so its first chunk may be large, and only the last must be
// small: by halves a block of 16 parts goes in five chunks and keeps as little for the end as
// in 16.
//
//   even       . . . . . . . . . . . . . . . .
//   by halves  ........ .... .. . .
//
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
  // How a block is cut: into its parts, or so that each chunk is half of what is left.
  enum class Cut : std::uint8_t { kEven, kHalving };
  Cut cut = Cut::kEven;
  int turns = 0;       // ranks that the blocks go round
  int parts = 1;       // of a block
  int directions = 1;  // 1 or 2; of two, `parts` is even

  // One chunk: `count` parts of a block from number `first` on.
  struct Chunk {
    int first = 0;
    int count = 1;
    int way = 1;  // it comes from the next rank; -1: from the one before
  };
  // The chunks of a block in the order in which they go; of two directions in turn.
  std::vector<Chunk> Chunks() const;

  friend bool operator==(const ChunkLoop&, const ChunkLoop&) = default;
};

// The collective that the loop takes apart. REQUIRES: the loop is one of `plan`.
const Move& MoveOf(const ComputePlan& plan, ChunkLoop::Of of);
// "B comes in 2 x 4 chunks, one way round", "C goes ..., both ways round", "B comes in 2 x 5 chunks
// by halves, ...": blocks and chunks of each, for people.
std::string ToString(const ChunkLoop& loop, const ComputePlan& plan);

// What loops `plan`, a plan of a product, can be done by, one for each number of chunks, cut and
// directions; what gathers may be cut by halves. Of many ranks blocks are short as they are: then
// in two parts at most. None where nothing is gathered last or scattered first, or where more than
// one summed dimension leads to the sum that is scattered.
std::vector<ChunkLoop> LoopsOf(const ComputePlan& plan, const Mesh& mesh, const DimSizes& sizes);

// Adds the loop's operations: from the operands as they lie before the move that it takes apart
// (the other one as the product needs it) to what the product leaves after it, which is returned.
// bf16 is summed and sent half summed in f32, and rounded once.
ValueId EmitLoop(ProgramEmitter& emitter, const ComputePlan& plan, const ChunkLoop& loop,
                 ValueId left, ValueId right, const std::string& name, const Provenance& why);

}  // namespace chorus
