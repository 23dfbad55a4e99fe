// Symmetry of a schedule: does moving every rank r to r + shift (mod N) map it onto itself?
//
// If so, and if the topology is symmetric as well, ranks r, r + shift, r + 2 shift, ... do the same
// things at the same times, and one rank of each orbit is simulated. A ring of 100,000 ranks is
// then one rank that sends to itself.
//
// The proof works on formulas, not on ranks. Under the move every formula of the body either keeps
// its value, or moves by s modulo m, or is not understood:
//
//   r                      moves by shift modulo N
//   (r + 1) % N            moves by shift modulo N
//   r / 8, shift = 8       moves by 1 modulo N / 8
//   r % 8, shift = 8       stays
//   r == 0                 is not understood: no symmetry
//
// Guards, loop bounds and message numbers must stay, peers must move as ranks do, and a label's
// index must move alike wherever the label stands. Which block a step names does not matter,
// because symmetry is only used where all blocks have one size. Thread safety: pure.
#pragma once

#include <cstdint>

#include "chorus/schedule/schedule.h"

namespace chorus {

// True if the move is proved to be a symmetry of what takes time. `wire_matters`: accumulators and
// elements differ in size. False says only that there is no proof.
// REQUIRES: shift > 0 divides group_size.
bool IsSymmetric(const Schedule& schedule, std::int64_t group_size, std::int64_t shift,
                 bool wire_matters);

// The smallest divisor of `group_size` for which IsSymmetric holds; `group_size` itself at worst.
std::int64_t SmallestShift(const Schedule& schedule, std::int64_t group_size, bool wire_matters);

}  // namespace chorus
