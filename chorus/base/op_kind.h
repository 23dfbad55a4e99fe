// OpKind: the collective operations.
//
// Part of the public API, so it compiles as C++17. Thread safety: all functions are pure.
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
  kGather,
  kScatter,
  kAllToAll,
  kScan,
  kExScan,
};

inline constexpr OpKind kAllOpKinds[] = {
    OpKind::kAllGather, OpKind::kReduceScatter, OpKind::kAllReduce, OpKind::kBroadcast,
    OpKind::kReduce,    OpKind::kBarrier,       OpKind::kGather,    OpKind::kScatter,
    OpKind::kAllToAll,  OpKind::kScan,          OpKind::kExScan};
inline constexpr int kOpKinds = 11;

// "all_gather", "reduce_scatter", ...
std::string_view Name(OpKind op);
// The inverse of Name. Empty if `name` is no operation.
std::optional<OpKind> ParseOpKind(std::string_view name);

// True if the operation sums (or takes the minimum, ...) over ranks.
constexpr bool Reduces(OpKind op) {
  return op == OpKind::kReduceScatter || op == OpKind::kAllReduce || op == OpKind::kReduce ||
         op == OpKind::kScan || op == OpKind::kExScan;
}
// True if it sums over the ranks up to a rank, so that each has another result.
constexpr bool IsScan(OpKind op) { return op == OpKind::kScan || op == OpKind::kExScan; }
// True if the operation names one rank as its root.
constexpr bool HasRoot(OpKind op) {
  return op == OpKind::kBroadcast || op == OpKind::kReduce || op == OpKind::kGather ||
         op == OpKind::kScatter;
}
// True if every rank owns one block, of its `in` (all_gather, gather) or of its `out`
// (reduce_scatter, scatter).
constexpr bool HasOwners(OpKind op) {
  return op == OpKind::kAllGather || op == OpKind::kReduceScatter || op == OpKind::kGather ||
         op == OpKind::kScatter;
}
// True if a schedule may be carried out with in[b] and out[b] in the same memory.
constexpr bool HasInPlace(OpKind op) { return op != OpKind::kBarrier && op != OpKind::kAllToAll; }

}  // namespace chorus
