// The gradients of a product, as products.
//
//   C[I, K] = A[I, J] * B[J, K]        dA[I, J] = dC[I, K] * B[J, K]
//                                      dB[J, K] = dC[I, K] * A[I, J]
//
// A product is linear in each operand, so the gradient of an operand is the gradient of the result
// times all other operands, summed over what the operand lacks. dA is wanted as A lies; what moves
// is what the planner finds for any product: where A was gathered for C, dA is reduce_scattered.
//
// Sums to be done: the gradient of a sum is the gradient of each addend, so of A[I]{U_X} and of a
// result C[I]{U_X} every rank along X has the same gradient: {U_X} becomes nothing.
// Thread safety: pure.
#pragma once

#include <cstddef>

#include "chorus/base/status.h"
#include "chorus/shard/product.h"

namespace chorus {

// The product that is the gradient of operand number `operand`. Its first operand is the gradient
// of the result, called d and the result's name and lying as `result_lies` (of which sums are taken
// as done), then the other operands in their order. REQUIRES: a product that ParseProduct makes,
// `operand` is one of its operands, and `result_lies` has the dimensions of its result.
Product GradientOf(const Product& product, std::size_t operand, const Spec& result_lies);

}  // namespace chorus
