// The verifier: proves that a schedule does what its operation promises, or shows the first wrong
// step. Start here.
//
// For one N and root it looks at all ranks at once and proves, in this order:
//
//   matched    every send has one recv with the same blocks and wire types (step_graph.h)
//   no deadlock, even if every send waits for its recv; nor if the messages of a pair of ranks are
//              carried out strictly in the order listed
//   no race    steps that touch the same memory, one of them writing, are ordered by dependencies
//              and messages (happens_before.h)
//   values     on formulas instead of numbers: nothing undefined is read, nothing is written
//              into `in`, every contribution enters once and in the declared order, sums are
//              rounded once and at the end, every block of every rank ends as the table in
//              schedule/op.h says, and all ranks hold the same formula, hence the same bits
//              (execute.h)
//
// Any number of tiles, by induction. Carry out tiles 0 .. t - 1 in any way the schedule allows.
//   - Deadlock: on every rank tile t waits only for tile t - S (S tiles in flight) to end there,
//     and for steps of tile t on any rank, which have an order O. So (tile, place in O) orders
//     all steps of all tiles. It also keeps messages of a pair in listed order, tile by tile.
//   - Races and values: tile t uses its own elements of in and out, and copy t mod S of the
//   scratch.
//     Only the tiles t - S, t - 2S, ... of the same rank used that copy, and they have ended. So no
//     step outside tile t touches its memory while it runs, it reads no scratch before it has
//     written it (proved for one tile from undefined scratch), and its proof is that of one tile.
// Blocks of different sizes, empty ones included, have different numbers of tiles; a tile that a
// block does not reach is empty and is sent, received and reduced like any other.
//
// This room never includes `algorithm`: a proof that leans on the builder proves nothing.
// Thread safety: all functions are pure.
#pragma once

#include <cstdint>
#include <optional>

#include "chorus/base/status.h"
#include "chorus/schedule/expansion.h"
#include "chorus/schedule/schedule.h"
#include "chorus/verify/fault.h"

namespace chorus {

// What a proof rests on, in numbers.
struct Proof {
  std::int64_t cases = 0;     // (N, root, in place or not)
  std::int64_t steps = 0;     // carried out, over all ranks
  std::int64_t messages = 0;  // matched
  std::int64_t pairs = 0;     // of steps on the same memory, shown to be ordered
  std::int64_t terms = 0;     // different values

  Proof& operator+=(const Proof& other);
  friend bool operator==(const Proof&, const Proof&) = default;
};

struct Verdict {
  std::optional<Fault> fault;  // absent: proved
  Proof proof;                 // of what was shown before the fault
  // Of Verify: the case that failed.
  std::int64_t group_size = 0;
  std::int64_t root = 0;
  bool in_place = false;

  bool ok() const { return !fault.has_value(); }
};

// One N, one root, in place or not.
Verdict Prove(const Expansion& expansion, bool in_place);

// Every root of a group of `group_size`, out of place and in place, up to the first fault. Errors:
// the schedule cannot be expanded for this N (ForRank's message).
Result<Verdict> Verify(const Schedule& schedule, std::int64_t group_size);

}  // namespace chorus
