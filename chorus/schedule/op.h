// What each collective promises about its buffers, and in which order it may reduce.
//
// Let x_q[b] be block b of rank q's `in`. Rank r ends with
//
//   all_gather      in: block own(r)     out[b] = x_q[b], q the owner of b     every b
//   reduce_scatter  in: every block      out[b] = x_0[b] + ... + x_{N-1}[b]    b = own(r)
//   all_reduce      in: every block      out[b] = x_0[b] + ... + x_{N-1}[b]    every b
//   broadcast       in: root, every b    out[b] = x_root[b]                    every b
//   reduce          in: every block      out[b] = x_0[b] + ... + x_{N-1}[b]    every b, root only
//   barrier         nothing; no rank ends before every rank has begun
//   gather          in: block own(r)     out[b] = x_q[b], q the owner of b     every b, root only
//   scatter         in: root, every b    out[b] = x_root[b]                    b = own(r)
//   all_to_all      in: row r            out[b] = x_q[b], q the row of b       column r
//   scan            in: every block      out[b] = x_0[b] + ... + x_r[b]        every b
//   exscan          in: every block      out[b] = x_0[b] + ... + x_{r-1}[b]    every b, not rank 0
//
// where own(r) is `r` unless the schedule says otherwise. all_to_all has N * N blocks: block i N +
// j is what rank i has for rank j; row i are those of rank i, column j those for rank j. Rank 0 has
// no `out` of exscan: whatever lies there is not touched.
//
// In place, in[b] and out[b] are the same memory on every rank that holds either. all_to_all has no
// such form: block i N + j would have to leave before block j N + i comes, on both sides.
// Thread safety: all functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "chorus/base/op_kind.h"

namespace chorus {

// The order in which contributions enter a result.
enum class ReduceOrder : std::uint8_t {
  kNone,  // nothing is reduced
  kRank,  // x_0 op x_1 op ... op x_{N-1}, lower ranks left, any parentheses
  kAny,   // each rank once, in some order: the operation must commute
};

std::string_view Name(ReduceOrder order);  // "none", "rank", "any"
std::optional<ReduceOrder> ParseReduceOrder(std::string_view name);

// What the table above asks about a rank.
struct Member {
  OpKind op = OpKind::kBarrier;
  std::int64_t group_size = 1;
  std::int64_t root = 0;
  std::int64_t rank = 0;
  std::int64_t own = 0;  // the rank's own block
};

// True if `in` of the rank holds block b under the table above.
constexpr bool InHolds(const Member& m, std::int64_t b) {
  switch (m.op) {
    case OpKind::kAllGather:
    case OpKind::kGather:
      return b == m.own;
    case OpKind::kBroadcast:
    case OpKind::kScatter:
      return m.rank == m.root;
    case OpKind::kAllToAll:
      return b / m.group_size == m.rank;
    case OpKind::kBarrier:
      return false;
    default:
      return true;
  }
}

// The same for `out`.
constexpr bool OutHolds(const Member& m, std::int64_t b) {
  switch (m.op) {
    case OpKind::kReduceScatter:
    case OpKind::kScatter:
      return b == m.own;
    case OpKind::kReduce:
    case OpKind::kGather:
      return m.rank == m.root;
    case OpKind::kAllToAll:
      return b % m.group_size == m.rank;
    case OpKind::kExScan:
      return m.rank > 0;
    case OpKind::kBarrier:
      return false;
    default:
      return true;
  }
}

// Whose contributions to block b the rank ends with: ranks first to last, all of them summed. No
// rank where first > last.
struct Contributors {
  std::int64_t first = 0;
  std::int64_t last = -1;
};

// The right side of the table above. `owner` is the rank that owns b, of operations that have
// owners. REQUIRES: OutHolds(m, b).
constexpr Contributors PromisedTo(const Member& m, std::int64_t b, std::int64_t owner) {
  switch (m.op) {
    case OpKind::kBroadcast:
    case OpKind::kScatter:
      return {m.root, m.root};
    case OpKind::kAllToAll:
      return {b / m.group_size, b / m.group_size};
    case OpKind::kAllGather:
    case OpKind::kGather:
      return {owner, owner};
    case OpKind::kScan:
      return {0, m.rank};
    case OpKind::kExScan:
      return {0, m.rank - 1};
    default:
      return {0, m.group_size - 1};
  }
}

}  // namespace chorus
