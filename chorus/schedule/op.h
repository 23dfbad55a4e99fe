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
//
// where own(r) is `r` unless the schedule says otherwise. In place, in[b] and out[b] are the same
// memory on every rank that holds either. Thread safety: all functions are pure.
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

// True if `in` of a rank holds block b under the table above. `own` is the rank's own block.
constexpr bool InHolds(OpKind op, std::int64_t own, std::int64_t rank, std::int64_t root,
                       std::int64_t b) {
  switch (op) {
    case OpKind::kAllGather:
      return b == own;
    case OpKind::kBroadcast:
      return rank == root;
    case OpKind::kBarrier:
      return false;
    default:
      return true;
  }
}

// The same for `out`.
constexpr bool OutHolds(OpKind op, std::int64_t own, std::int64_t rank, std::int64_t root,
                        std::int64_t b) {
  switch (op) {
    case OpKind::kReduceScatter:
      return b == own;
    case OpKind::kReduce:
      return rank == root;
    case OpKind::kBarrier:
      return false;
    default:
      return true;
  }
}

}  // namespace chorus
