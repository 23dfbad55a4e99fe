// What the ranks of a bench put in, and what must come out to the last bit.
//
// Values are chosen so that every partial result, in whatever order, is exactly representable in
// their type: floats are whole numbers so small that N of them sum without rounding, at most three
// factors of a product are not 1 or -1, integers are hashed bits and wrap. So #wrong counts moved,
// lost and doubled elements; what rounding does, own checks with Smooth data tell (bench_checks.h).
// Thread safety: pure except for outputs.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/apps/cli/bench_case.h"

namespace chorus::cli {

// The input of `rank`: CountsOf(c, rank).in elements at `data`. Another seed is other data.
void FillInput(const BenchCase& c, int rank, std::uint64_t seed, void* data);

// Elements of `got`, the result of `rank`, that are not what they must be: compared as bits; the
// average of floats, which rounds once, may be two units in the last place off. A root's broadcast
// has no result.
std::int64_t CountWrong(const BenchCase& c, int rank, std::uint64_t seed, const void* got);

// Bytes of a rank's input that is uniform in [-1, 1): sums of it round. REQUIRES: IsFloat(c.dtype).
void FillSmooth(const BenchCase& c, int rank, std::uint64_t seed, void* data);

// The largest error of `got` against a sum in f64, in units in the last place of the sum of
// magnitudes. REQUIRES: as FillSmooth; c.op reduces, c.reduce is sum or avg.
double LargestError(const BenchCase& c, int rank, std::uint64_t seed, const void* got);

}  // namespace chorus::cli
