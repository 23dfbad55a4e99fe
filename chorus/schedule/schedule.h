// Schedule: how one collective is done, written once for all ranks, all N and all sizes.
//
// Start here. A schedule is a value: it is run, proved, priced and shown from the same data, and
// none of that is in this room. Its text reads like its builder:
//
//   schedule ring all_gather
//     blocks N
//     owns r
//   begin
//     c: copy out[r] = in[r]
//     for k in 0 .. N - 2
//       s[k]: send out[(r - k) % N] to (r + 1) % N as k after c, v[k - 1]
//       v[k]: recv out[(r - k - 1) % N] from (r - 1) % N as k
//     end
//   end
//
// Blocks are symbolic: the schedule names them, the caller binds a size to each, 0 included.
//
// Tiles. The body is one tile. With tile size T (elements), tile t of block b is its elements
// [tT, (t+1)T) as far as they exist; the body is carried out once for every t from 0 to
// max over b of ceil(size_b / T) - 1, at least once, and an empty tile of a block is signalled like
// any other. Scratch exists `tiles` times: tile t uses copy t mod `tiles`, and tile t starts on a
// rank only after tile t - tiles has ended there. Dependencies and messages stay inside one tile.
//
// Order. Every dependency points to an earlier step of the list, and the messages of an ordered
// pair of ranks are listed in the same order by both. The reference meaning is interpreter.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/schedule/expr.h"
#include "chorus/schedule/family.h"
#include "chorus/schedule/op.h"
#include "chorus/schedule/step.h"

namespace chorus {

// The header of a schedule worked out for one rank.
struct Frame {
  std::int64_t blocks = 0;     // logical blocks
  std::int64_t own = 0;        // the block this rank owns; 0 if the operation has no owners
  std::int64_t tmp_slots = 0;  // per tile in flight
  std::int64_t acc_slots = 0;  // per tile in flight
  std::int64_t tiles = 1;      // tiles in flight
  friend bool operator==(const Frame&, const Frame&) = default;
};

// An immutable value; a copy copies the tree of its body. Thread safety: safe to share.
class Schedule {
 public:
  struct Definition {
    std::string name;  // of the algorithm: "ring"
    OpKind op = OpKind::kBarrier;
    ReduceOrder order = ReduceOrder::kNone;
    Expr blocks = 1;
    Expr owns = Expr::Rank();  // which block a rank owns; of all_gather and reduce_scatter
    Expr tmp_slots = 0;
    Expr acc_slots = 0;
    std::int64_t tiles = 1;  // in flight
    Body body;
    friend bool operator==(const Definition&, const Definition&) = default;
  };

  // Checks what can be known without N: names, the number of chunks of each verb, that every
  // variable is bound, that an operation which reduces has an order, that every dependency names a
  // step of the body. The error names the step.
  static Result<Schedule> Make(Definition definition);
  // Reads ToString's form, or text written by hand. An error of grammar begins "line:column: ",
  // one of meaning is Make's.
  static Result<Schedule> Parse(std::string_view text);

  const std::string& name() const { return definition_.name; }
  OpKind op() const { return definition_.op; }
  ReduceOrder order() const { return definition_.order; }
  std::int64_t tiles() const { return definition_.tiles; }
  const Definition& definition() const { return definition_; }

  // The header for one rank of a group of N. Errors: rank or root outside [0, N), a count
  // outside [0, 2^22].
  Result<Frame> FrameFor(std::int64_t group_size, std::int64_t rank, std::int64_t root = 0) const;
  // The steps of one tile on one rank, in an order in which the rank could do them. Errors: as
  // above; a formula without value; a peer, slot, block or message number out of range; two steps
  // of one label; a dependency on a step that is listed later; so many steps or turns of loops
  // (2^17 + 256 N) that a loop must be wrong; steps, their chunks and dependencies that are more
  // than `most` together (kResourceExhausted), noticed at about that many.
  Result<std::vector<Step>> ForRank(std::int64_t group_size, std::int64_t rank,
                                    std::int64_t root = 0, std::int64_t most = INT64_MAX) const;

  // Parse(ToString()) == *this.
  std::string ToString() const;

  friend bool operator==(const Schedule&, const Schedule&) = default;

 private:
  explicit Schedule(Definition definition) : definition_(std::move(definition)) {}
  Definition definition_;
};

}  // namespace chorus
