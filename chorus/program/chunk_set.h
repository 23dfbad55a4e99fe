// ChunkSet: parts of one dimension that a loop over the ranks of a group works on in turn.
//
// Block k of dimension J, split over axes X, belongs to member k. In turn t of a loop rank r works
// on the block of the rank t further on, r + t modulo their number; a block is cut into chunks:
//
//   J_X 00 01     on X=2: of the block of the next rank, the second of its two chunks
//   J_X 11 01     all of the own block, and that chunk
//
// One group of digits a turn, one digit a chunk. Without axes there is one turn, and the chunks are
// panels of what a rank has of the dimension, the same on all ranks that have it:
//
//   J 0100        the second of four panels
//
// Thread safety: value type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/scanner.h"
#include "chorus/base/status.h"
#include "chorus/mesh/mesh.h"
#include "chorus/mesh/spec.h"

namespace chorus {

struct ChunkSet {
  std::string dim;
  AxisNames axes;         // major to minor, the minor ones of `dim`; none: panels
  int turns = 0;          // ranks of a group over `axes`
  int parts = 0;          // chunks of a block
  std::vector<bool> has;  // turn after turn, the chunks of each

  // The set of chunks [first, first + count) of the block of turn `turn`.
  static ChunkSet Of(std::string dim, AxisNames axes, int turns, int parts, int turn, int first,
                     int count);

  bool Has(int turn, int part) const {
    return has[static_cast<std::size_t>(turn) * static_cast<std::size_t>(parts) +
               static_cast<std::size_t>(part)];
  }
  int size() const;  // chunks in it
  bool IsAll() const { return size() == turns * parts; }
  // All chunks of the block of turn 0 and no others.
  bool IsOwnBlock() const;
  // Parts of the same blocks: equal but for what is in the set.
  bool SameGrid(const ChunkSet& other) const {
    return dim == other.dim && axes == other.axes && turns == other.turns && parts == other.parts;
  }
  // What rank r has of it as rank r - `by` sees it. Turns go round.
  ChunkSet Turned(int by) const;
  // REQUIRES of both: SameGrid.
  ChunkSet With(const ChunkSet& other) const;
  ChunkSet Without(const ChunkSet& other) const;
  bool Overlaps(const ChunkSet& other) const;

  std::string ToString() const;  // "J_X 11 01"

  friend bool operator==(const ChunkSet&, const ChunkSet&) = default;
};

// Takes what ToString writes. Errors point at the character.
Result<ChunkSet> ScanChunkSet(Scanner& scanner);

// Neighbouring chunks of one turn.
struct ChunkRun {
  int turn = 0;
  int first = 0;
  int count = 0;
};
// Error if the chunks of `set` are none, of several turns, or not next to each other.
Result<ChunkRun> RunOf(const ChunkSet& set);

// The indices of dimension `set.dim` that `rank` works on, in the whole array. `outer` are the axes
// that split the dimension besides `set.axes`, major to them. REQUIRES: RunOf(set) is ok; a group
// over set.axes has set.turns ranks.
Block BlockOf(const ChunkSet& set, const AxisNames& outer, const Mesh& mesh, std::int64_t size,
              std::int64_t rank);

}  // namespace chorus
