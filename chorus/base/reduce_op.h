// ReduceOp: how values of several ranks become one.
//
// Part of the public API, so it compiles as C++17. Thread safety: all functions are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace chorus {

// What each means for each dtype:
//           floats                             integers                 bool
//   kSum    sum; f16 and bf16 in f32           wraps                    or
//   kProd   product; f16 and bf16 in f32       wraps                    and
//   kMin    NaN wins; -0 < +0                  smallest                 and
//   kMax    NaN wins; -0 < +0                  largest                  or
//   kAvg    kSum, then one division by the     kSum, then divided,      refused
//           number of ranks                    truncating toward zero
// f16 and bf16 results are rounded once, at the end, to nearest even.
enum class ReduceOp : std::uint8_t { kSum, kProd, kMin, kMax, kAvg };

inline constexpr ReduceOp kAllReduceOps[] = {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin,
                                             ReduceOp::kMax, ReduceOp::kAvg};

// "sum", "prod", "min", "max", "avg".
std::string_view Name(ReduceOp op);

// The inverse of Name. Empty if `name` is no reduction.
std::optional<ReduceOp> ParseReduceOp(std::string_view name);

}  // namespace chorus
