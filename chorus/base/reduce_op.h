// ReduceOp: how values of several ranks become one.
//
// Part of the public API, so it compiles as C++17. Thread safety: all functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "chorus/base/dtype.h"

namespace chorus {

// What each means for each dtype; what is not listed is refused:
//              floats                  integers                bool   complex      value and index
//   kSum       sum                     wraps                   or     sum
//   kProd      product                 wraps                   and    the complex one
//   kMin       NaN wins; -0 < +0       smallest                and
//   kMax       NaN wins; -0 < +0       largest                 or
//   kAvg       kSum, divided once by   the same, truncating           as floats
//              the number of ranks     toward zero
//   kPremulSum sum of factor x         wraps                          factor is real
//   kBit...                            bit by bit              yes
//   kLogical...                        of x != 0: gives 0, 1   yes
//   kMinLoc, kMaxLoc                                                               smallest,
//   largest kUser      a function of the user's, on any dtype (reduction.h)
//
// f16, bf16 and f8 are combined in f32 and rounded once, at the end, to nearest even. f8 saturates:
// what lies beyond its largest finite value becomes that value; an infinity stays one in e5m2 and
// becomes the largest value in e4m3, which has none. kMinLoc and kMaxLoc compare values as kMin and
// kMax do; of equal ones (and of several NaNs) that with the smallest index wins. A bool that is
// stored as another byte than 0 or 1 counts as 1; results are 0 or 1.
enum class ReduceOp : std::uint8_t {
  kSum,
  kProd,
  kMin,
  kMax,
  kAvg,
  kPremulSum,
  kBitAnd,
  kBitOr,
  kBitXor,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kMinLoc,
  kMaxLoc,
  kUser,
};

// All that mean something by their name alone: without kUser.
inline constexpr ReduceOp kAllReduceOps[] = {
    ReduceOp::kSum,    ReduceOp::kProd,       ReduceOp::kMin,       ReduceOp::kMax,
    ReduceOp::kAvg,    ReduceOp::kPremulSum,  ReduceOp::kBitAnd,    ReduceOp::kBitOr,
    ReduceOp::kBitXor, ReduceOp::kLogicalAnd, ReduceOp::kLogicalOr, ReduceOp::kLogicalXor,
    ReduceOp::kMinLoc, ReduceOp::kMaxLoc};

// "sum", "premul_sum", "bit_and", "logical_or", "min_loc", "user", ...
std::string_view Name(ReduceOp op);

// The inverse of Name. Empty if `name` is no reduction of kAllReduceOps.
std::optional<ReduceOp> ParseReduceOp(std::string_view name);

// Whether `op` has a meaning for `dtype`: the table above.
constexpr bool Supports(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kProd:
      return !IsLocated(dtype);
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return !IsLocated(dtype) && !IsComplex(dtype);
    case ReduceOp::kAvg:
    case ReduceOp::kPremulSum:
      return !IsLocated(dtype) && dtype != DType::kBool;
    case ReduceOp::kBitAnd:
    case ReduceOp::kBitOr:
    case ReduceOp::kBitXor:
    case ReduceOp::kLogicalAnd:
    case ReduceOp::kLogicalOr:
    case ReduceOp::kLogicalXor:
      return IsInteger(dtype) || dtype == DType::kBool;
    case ReduceOp::kMinLoc:
    case ReduceOp::kMaxLoc:
      return IsLocated(dtype);
    case ReduceOp::kUser:
      return true;
  }
  return false;
}

// What to use instead, for the message of a refusal: "bools have no average: sum is or, prod is
// and". REQUIRES: !Supports(op, dtype).
std::string_view WhyUnsupported(ReduceOp op, DType dtype);

}  // namespace chorus
