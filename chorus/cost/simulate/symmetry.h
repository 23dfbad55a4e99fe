// Symmetry of a schedule: does moving every rank r to r + shift (mod N) map it onto itself?
//
// If so, and if the topology is symmetric as well, ranks r, r + shift, r + 2 shift, ... do the same
// things at the same times, and one rank of each orbit is simulated. A ring of 100,000 ranks is
// then one rank that sends to itself.
//
// The proof expands each orbit once, with formulas of q for the ranks first + shift q (motion.h):
//
//   guards, loop lengths, message numbers    must be one number for all q
//   peers                                    must be as far from the rank for all q
//   what a message waits for                 must be the same messages, as far away, for all q
//   which blocks are named                   does not matter where all have one size
//
// Local steps that take no time only hand on what they wait for. So it is right that a leader which
// adds up in the order of the nodes waits for node m in step m, whichever node it is itself:
//
//   y[(q - d) % M]: recv from leader (q - d) % M
//   t[m]: reduce after t[m - 1], y[m]
//   f: send after t[M - 1]                   waits for all of y, whatever q is
//
// Thread safety: pure.
#pragma once

#include <cstdint>

#include "chorus/schedule/schedule.h"

namespace chorus {

// What takes time: whether accumulators and elements differ in size, whether local steps last.
struct WhatTakesTime {
  bool wire = true;
  bool local = true;
};

// True if the move is proved to be a symmetry of what takes time. False says only that there is no
// proof. REQUIRES: shift > 0 divides group_size; 0 <= root < group_size.
bool IsSymmetric(const Schedule& schedule, std::int64_t group_size, std::int64_t root,
                 std::int64_t shift, const WhatTakesTime& what);

// The smallest divisor of `group_size` for which IsSymmetric holds; `group_size` itself at worst.
std::int64_t SmallestShift(const Schedule& schedule, std::int64_t group_size, std::int64_t root,
                           const WhatTakesTime& what);

}  // namespace chorus
