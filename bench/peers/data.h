// What ranks put in and what must come out, and the pass that reads a result.
//
// Element i of the buffer at element offset p of rank r's input memory is
//     Value(r, (p + i) mod 251),    Value(r, j) = (5 j + 3 r) mod 16,
// so inputs are windows of one pattern wherever they begin, sums over 16 ranks are exact in every
// type, and what must come out follows from (operation, rank, p) alone. 251 is prime: windows at
// different places differ, so a result left from another call is noticed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/peers/block.h"

namespace peers {

inline constexpr std::int64_t kPeriod = 251;

// Writes the pattern of `rank` to elements [begin, end) of memory at `base`.
void FillInput(DType dtype, int rank, std::byte* base, std::int64_t begin, std::int64_t end);

// Reads `bytes` (a multiple of 2) at `data` once, as fast as this machine reads: the sum of all
// 32-bit words, modulo 2^32; a half word at the end counts as a low half.
std::uint32_t ReadPass(const void* data, std::int64_t bytes);

// ReadPass of what `rank` must have received, when every rank's input began at element `p`; it
// depends on p mod kPeriod only.
std::uint32_t ExpectedSum(const Block& block, int rank, int size, std::int64_t p);

// The first element of `out` that is wrong, or -1. Looks at each.
std::int64_t FirstWrong(const Block& block, int rank, int size, std::int64_t p, const void* out);

}  // namespace peers
