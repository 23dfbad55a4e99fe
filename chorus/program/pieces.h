// Pieces: which part of an array each rank sends to each other when blocks change ranks.
//
//   A[I_X, J] -> A[I, J_X] on X=2, of 3 x 3: rank 0 holds rows 0-1 and gets columns 0-1
//
//              to 0   to 1          from 0  [ a b ]          from 0  [ c ]
//     rank 0 [ a  b  | c ]                  [ d e ]                  [ f ]
//            [ d  e  | f ]          from 1  [ g h ]          from 1  [ i ]
//     rank 1 [ g  h  | i ]                   rank 0                  rank 1
//
// Where several ranks hold a part alike, the one that needs it uses its own copy, else that of the
// same number as its own will have: with A[I_X] -> A[I_Y] on X=2,Y=2 ranks (0, 1) and (1, 0) swap.
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/shape.h"
#include "chorus/mesh/mesh.h"
#include "chorus/mesh/spec.h"

namespace chorus {

// Of `count` ranks those that are looked at for what differs by rounding alone: all, or so many of
// them spread evenly, 0 the first.
inline constexpr std::int64_t kRanksLookedAt = 256;
std::vector<std::int64_t> RanksLookedAt(std::int64_t count);

// What lies in both; where nothing does, an empty block that begins in `a`.
Block Common(const Block& a, const Block& b);

// Pieces of one local array, one for each member of a group. They may be empty.
struct Pieces {
  Shape whole;                         // of the local array
  std::vector<std::vector<Block>> at;  // of each piece, its place in each dimension of `whole`
  std::vector<std::int64_t> counts;    // elements of each piece
  bool are_runs = false;  // they follow each other in memory, from the first element on, in order

  std::int64_t elements() const;  // of all pieces
  friend bool operator==(const Pieces&, const Pieces&) = default;
};

// What one rank sends to each member and receives from each, itself included.
struct BlockExchange {
  Pieces sends;
  Pieces receives;

  // Elements of the packed copies of what is sent and what is received; none of runs.
  std::int64_t WorkspaceElements() const;
  friend bool operator==(const BlockExchange&, const BlockExchange&) = default;
};

// Of `rank` in the group over `axes`. REQUIRES: equal dimensions and partial axes; `axes` are on
// the mesh and include all whose place differs; each dimension has as many parts before and after
// or `axes` all split a dimension before and after.
BlockExchange ExchangeOf(const Spec& from, const Spec& to, const AxisNames& axes, const Mesh& mesh,
                         const DimSizes& sizes, std::int64_t rank);

// The most elements that a rank of rank 0's group over `axes` sends to others, of kRanksLookedAt
// spread evenly over it. REQUIRES: as ExchangeOf.
std::int64_t MostElementsSent(const Spec& from, const Spec& to, const AxisNames& axes,
                              const Mesh& mesh, const DimSizes& sizes);

}  // namespace chorus
