#include "chorus/schedule/op.h"

namespace chorus {

std::string_view Name(ReduceOrder order) {
  switch (order) {
    case ReduceOrder::kNone:
      return "none";
    case ReduceOrder::kRank:
      return "rank";
    case ReduceOrder::kAny:
      return "any";
  }
  return "?";
}

std::optional<ReduceOrder> ParseReduceOrder(std::string_view name) {
  for (ReduceOrder order : {ReduceOrder::kNone, ReduceOrder::kRank, ReduceOrder::kAny}) {
    if (Name(order) == name) return order;
  }
  return std::nullopt;
}

}  // namespace chorus
