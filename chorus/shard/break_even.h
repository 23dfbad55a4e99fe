// Where the two ways of case 2 cost the same: gather the operand whose contracted dimension is
// split, or slice the other one, multiply, and reduce the result.
//
//   X[B, D] * Y[D_X, F] -> Z[B, F], elements of e bytes, C FLOP/s and W B/s a rank
//
//                bytes sent            product             all that counts is the longer of both
//     gather Y   (n-1)/n D F e         2 B D F / C         B >= e/2 C/W: computing hides the gather
//     reduce Z   2 (n-1)/n B F e       2 B D F / (n C)
//
//   in bytes alone Z is to be reduced where D > 2 B; where the gather is hidden, where
//   D > e C/W. If Z may stay split over X it is reduce-scattered: half of each.
//
// Thread safety: pure.
#pragma once

#include <string>
#include <vector>

#include "chorus/shard/product.h"

namespace chorus {

struct BreakEven {
  std::string axis;     // X
  std::string dim;      // D
  std::string operand;  // Y, which is split
  std::string others;   // "B": the dimensions of the other operand that the result keeps
  std::string reduce;   // "all_reduce" or "reduce_scatter"
  Bytes gather_bytes;   // sent by a rank, mean
  Bytes reduce_bytes;
  std::int64_t size = 0;    // of D, as far as it is split by other axes only
  double in_bytes = 0;      // D above which reducing sends less
  double hidden = 0;        // D above which reducing takes less time, the gather being hidden
  std::int64_t rows = 0;    // B
  double rows_to_hide = 0;  // B from which on the product hides the gather
};

// Of every axis of `cases` that is of case 2 with the other operand whole. REQUIRES: a product of
// two operands, checked.
std::vector<BreakEven> BreakEvensOf(const Product& product, const std::vector<AxisCase>& cases,
                                    const Mesh& mesh, const DimSizes& sizes, DType dtype,
                                    const Tariff& tariff);

// Three lines for people.
std::string ToString(const BreakEven& point);

}  // namespace chorus
