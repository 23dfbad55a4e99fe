#include "chorus/base/reduce_op.h"

namespace chorus {

std::string_view Name(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kProd:
      return "prod";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kAvg:
      return "avg";
    case ReduceOp::kPremulSum:
      return "premul_sum";
    case ReduceOp::kBitAnd:
      return "bit_and";
    case ReduceOp::kBitOr:
      return "bit_or";
    case ReduceOp::kBitXor:
      return "bit_xor";
    case ReduceOp::kLogicalAnd:
      return "logical_and";
    case ReduceOp::kLogicalOr:
      return "logical_or";
    case ReduceOp::kLogicalXor:
      return "logical_xor";
    case ReduceOp::kMinLoc:
      return "min_loc";
    case ReduceOp::kMaxLoc:
      return "max_loc";
    case ReduceOp::kUser:
      return "user";
  }
  return "?";
}

std::optional<ReduceOp> ParseReduceOp(std::string_view name) {
  for (ReduceOp op : kAllReduceOps) {
    if (Name(op) == name) return op;
  }
  return std::nullopt;
}

std::string_view WhyUnsupported(ReduceOp op, DType dtype) {
  if (IsLocated(dtype)) {
    return "pairs of a value and its index are reduced by min_loc, max_loc or a user's function";
  }
  switch (op) {
    case ReduceOp::kMinLoc:
    case ReduceOp::kMaxLoc:
      return "it takes pairs of a value and its index: f32_i32, f64_i64, i32_i32 or i64_i64";
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return "complex numbers have no order: reduce their absolute values, or pairs with min_loc "
             "or max_loc";
    case ReduceOp::kAvg:
      return "bools have no average; sum is or, prod is and";
    case ReduceOp::kPremulSum:
      return "bools are not multiplied; sum is or, prod is and";
    default:
      return "it takes integers and bool; to combine bits as they are, give the buffer the dtype "
             "of an unsigned integer of its width";
  }
}

}  // namespace chorus
