// OpKind: which collective a schedule carries out, and what each promises about its buffers.
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

namespace chorus {

enum class OpKind : std::uint8_t {
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kBroadcast,
  kReduce,
  kBarrier,
};

inline constexpr OpKind kAllOpKinds[] = {OpKind::kAllGather, OpKind::kReduceScatter,
                                         OpKind::kAllReduce, OpKind::kBroadcast,
                                         OpKind::kReduce,    OpKind::kBarrier};

// "all_gather", "reduce_scatter", ...
std::string_view Name(OpKind op);
// The inverse of Name. Empty if `name` is no operation.
std::optional<OpKind> ParseOpKind(std::string_view name);

// True if the operation sums (or takes the minimum, ...) over ranks.
constexpr bool Reduces(OpKind op) {
  return op == OpKind::kReduceScatter || op == OpKind::kAllReduce || op == OpKind::kReduce;
}
// True if the operation names one rank as its root.
constexpr bool HasRoot(OpKind op) { return op == OpKind::kBroadcast || op == OpKind::kReduce; }
// True if every rank owns one block, of its `in` (all_gather) or of its `out` (reduce_scatter).
constexpr bool HasOwners(OpKind op) {
  return op == OpKind::kAllGather || op == OpKind::kReduceScatter;
}

// The order in which contributions enter a result.
enum class ReduceOrder : std::uint8_t {
  kNone,  // nothing is reduced
  kRank,  // x_0 op x_1 op ... op x_{N-1}, lower ranks left, any parentheses
  kAny,   // each rank once, in some order: the operation must commute
};

std::string_view Name(ReduceOrder order);  // "none", "rank", "any"
std::optional<ReduceOrder> ParseReduceOrder(std::string_view name);

}  // namespace chorus
