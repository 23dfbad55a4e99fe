// Watch: what every step of a schedule writes, value by value, for who shows it step by step.
//
// It is the symbolic execution of the proof, written down: no second one. Thread safety: pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/schedule/expansion.h"

namespace chorus {

// What lies in one chunk of a rank's memory.
struct HeldValue {
  Chunk chunk;                      // where
  std::vector<std::int64_t> ranks;  // whose contributions it sums, ascending
  bool promised = false;            // it is what the operation promises to that rank
  std::string formula;              // "(x0[1]' + x1[1]')", cut if it is long
  friend bool operator==(const HeldValue&, const HeldValue&) = default;
};

struct WatchedRun {
  std::vector<std::vector<HeldValue>> start;                // by rank: what `in` holds
  std::vector<std::vector<std::vector<HeldValue>>> writes;  // by rank and step, 0 or more values
};

// Out of place, one tile. Errors: a schedule that is not proved, with its first fault.
Result<WatchedRun> Watch(const Expansion& expansion);

}  // namespace chorus
