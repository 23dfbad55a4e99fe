#include "chorus/algorithm/algorithm.h"

#include <fmt/format.h>

#include "chorus/algorithm/builders.h"

namespace chorus {
namespace {

// Below this many bytes sent per rank a second exchange costs more than the bytes it saves.
constexpr std::int64_t kOneShotBytes = 16 << 10;
// Up to this many ranks every rank can hold a channel to every other at no cost worth counting.
constexpr std::int64_t kDirectRanks = 8;
// Below this many bytes per rank N - 1 turns of a ring cost more than N - 1 messages at once.
constexpr std::int64_t kDirectBytes = 256 << 10;

}  // namespace

const std::vector<Algorithm>& AllAlgorithms() {
  static const std::vector<Algorithm> all = {kDirectAllGather,
                                             kRingAllGather,
                                             kDirectReduceScatter,
                                             kRingReduceScatter,
                                             kShiftedRingReduceScatter,
                                             kDirectAllReduce,
                                             kRingAllReduce,
                                             kOneShotAllReduce,
                                             kBinomialBroadcast,
                                             kBinomialReduce,
                                             kDisseminationBarrier,
                                             kDirectGather,
                                             kDirectScatter,
                                             kDirectAllToAll,
                                             kConfirmedAllToAll,
                                             kLinearScan,
                                             kLinearExScan};
  return all;
}

std::vector<const Algorithm*> AlgorithmsFor(OpKind op) {
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    if (algorithm.op == op) found.push_back(&algorithm);
  }
  return found;
}

Result<const Algorithm*> FindAlgorithm(std::string_view name, OpKind op) {
  std::string known;
  for (const Algorithm* algorithm : AlgorithmsFor(op)) {
    if (algorithm->name == name) return algorithm;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", algorithm->name);
  }
  return NotFound(fmt::format("no algorithm '{}' for {}; there is {}", name, Name(op), known));
}

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
      break;
    case OpKind::kBroadcast:
    case OpKind::kReduce:
      name = "binomial";
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
  return *FindAlgorithm(name, op).value();
}

const Algorithm& AlgorithmForPrivateCounts(OpKind op) {
  return *FindAlgorithm(op == OpKind::kAllToAll ? "confirmed" : "direct", op).value();
}

}  // namespace chorus
