#include "chorus/algorithm/algorithm.h"

#include <algorithm>

namespace chorus {
namespace {

// Below this many bytes sent per rank a second exchange costs more than the bytes it saves.
constexpr std::int64_t kOneShotBytes = 8 << 10;
// Between these bytes the lg N turns of recursive doubling cost less than N - 1 messages at once,
// which is most plain where ranks share cores; it takes a power of two. Beyond them it would still
// be faster there for a while, but sends lg N V where direct sends 2 (N - 1)/N V.
constexpr std::int64_t kDoublingFrom = 512;
constexpr std::int64_t kDoublingBytes = 4 << 10;
// Up to this many ranks every rank can hold a channel to every other at no cost worth counting.
constexpr std::int64_t kDirectRanks = 8;
// Below this many bytes per rank N - 1 turns of a ring cost more than N - 1 messages at once.
constexpr std::int64_t kDirectBytes = 256 << 10;

// One that has no numbers and is there. REQUIRES: it is.
const Algorithm& Known(std::string_view name, OpKind op) {
  const auto& all = AllAlgorithms();
  return *std::find_if(all.begin(), all.end(), [&](const Algorithm& algorithm) {
    return algorithm.op == op && algorithm.name == name;
  });
}

}  // namespace

// Direct algorithms send the same bytes as rings in one step, keep rank order and round once, and
// of f16 and bf16 they send elements where a ring sends f32 partial sums. Rings win when a rank
// can not afford N - 1 channels or N - 1 messages that arrive together.
const Algorithm& ChooseAlgorithm(OpKind op, std::int64_t group_size, Bytes total, bool rank_order) {
  const bool direct = rank_order || group_size <= kDirectRanks || total <= Bytes(kDirectBytes);
  std::string_view name = direct ? "direct" : "ring";
  switch (op) {
    case OpKind::kAllGather:
    case OpKind::kReduceScatter:
      break;
    case OpKind::kAllReduce:
      if (total.value() <= kOneShotBytes / std::max<std::int64_t>(group_size - 1, 1)) {
        name = "one_shot";
      }
      if (!rank_order && group_size >= 4 && (group_size & (group_size - 1)) == 0 &&
          total >= Bytes(kDoublingFrom) && total <= Bytes(kDoublingBytes)) {
        name = "recursive_doubling";
      }
      break;
    case OpKind::kBroadcast:
    case OpKind::kReduce:
      // A root that serves all others at once is their bottleneck only if they are many.
      name = group_size <= kDirectRanks ? "direct" : "binomial";
      break;
    case OpKind::kBarrier:
      name = "dissemination";
      break;
    case OpKind::kGather:
    case OpKind::kScatter:
    case OpKind::kAllToAll:
      name = "direct";
      break;
    case OpKind::kScan:
    case OpKind::kExScan:
      name = "linear";
      break;
  }
  return Known(name, op);
}

const Algorithm& AlgorithmForPrivateCounts(OpKind op) {
  return Known(op == OpKind::kAllToAll ? "confirmed" : "direct", op);
}

}  // namespace chorus
