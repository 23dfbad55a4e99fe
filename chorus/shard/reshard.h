// Reshard: from one spec of an array to another, by the cheapest steps. There are four:
//
//   slice           A[I]      -> A[I_X]    keep the own block; free
//   all_gather      A[I_X]    -> A[I]      minor axes only: the others would leave stripes
//   reduce_scatter  A[I]{U_X} -> A[I_X]
//   all_reduce      A[I]{U_X} -> A[I]
//
//   A[I_X, J]{U_Y} -> A[I, J_Y]   e.g.   reduce_scatter J_Y, then all_gather I_X: each step works
//   on
//                                        what the step before has made small
//
// The steps are found as a shortest path between specs. Only axes that change their place move.
// Thread safety: pure.
#pragma once

#include <optional>
#include <vector>

#include "chorus/mesh/spec.h"
#include "chorus/program/program.h"
#include "chorus/shard/tariff.h"

namespace chorus {

// One step of a reshard.
struct Move {
  ProgramOpKind kind = ProgramOpKind::kSlice;  // slice or a collective
  std::string dim;                             // empty for all_reduce
  AxisNames axes;                              // major to minor
  Spec result;                                 // how the array lies afterwards

  friend bool operator==(const Move&, const Move&) = default;
};

// "all_gather X on I": for people.
std::string ToString(const Move& move);

struct Reshard {
  std::vector<Move> moves;  // none if nothing changes
  Cost cost;                // of rank 0, which holds the largest blocks
  // The most that operand, result and workspace of one move take on rank 0; an all_reduce works in
  // place, and what a move has used up is freed. 0 without moves.
  Bytes peak;

  friend bool operator==(const Reshard&, const Reshard&) = default;
};

// With `most_memory` only ways whose peak is at most that are looked at.
// Errors: other dimensions, an axis that is not on the mesh, a dimension without size, or a target
// that is a sum over an axis over which the array is whole (nothing would say how to split it); no
// way within `most_memory`, with the least that would do.
Result<Reshard> PlanReshard(const Spec& from, const Spec& to, DType dtype, const Mesh& mesh,
                            const DimSizes& sizes, const Tariff& tariff,
                            std::optional<Bytes> most_memory = std::nullopt);

}  // namespace chorus
