#include "chorus/base/op_kind.h"

namespace chorus {

std::string_view Name(OpKind op) {
  switch (op) {
    case OpKind::kAllGather:
      return "all_gather";
    case OpKind::kReduceScatter:
      return "reduce_scatter";
    case OpKind::kAllReduce:
      return "all_reduce";
    case OpKind::kBroadcast:
      return "broadcast";
    case OpKind::kReduce:
      return "reduce";
    case OpKind::kBarrier:
      return "barrier";
    case OpKind::kGather:
      return "gather";
    case OpKind::kScatter:
      return "scatter";
    case OpKind::kAllToAll:
      return "all_to_all";
    case OpKind::kScan:
      return "scan";
    case OpKind::kExScan:
      return "exscan";
  }
  return "?";
}

std::optional<OpKind> ParseOpKind(std::string_view name) {
  for (OpKind op : kAllOpKinds) {
    if (Name(op) == name) return op;
  }
  return std::nullopt;
}

}  // namespace chorus
