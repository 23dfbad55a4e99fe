// Linear orders: ways in which one thread can carry out the steps of all ranks one after another.
//
// A recv comes after its send, a step after what it depends on, and tile t of a rank after its tile
// t - tiles. Any such order must give the same result; the three kinds here are the extremes and a
// random one, to show it. Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/schedule/expansion.h"

namespace chorus {

struct Action {
  std::int64_t tile = 0;
  std::int64_t rank = 0;
  std::int64_t step = 0;  // index into the steps of that rank
  friend bool operator==(const Action&, const Action&) = default;
};

// Which of the steps that could be next is next.
enum class Pick : std::uint8_t {
  kFirst,   // the earliest tile, rank and step
  kLast,    // the latest
  kRandom,  // drawn from a seed
};

// All steps of `tiles` tiles. Errors: a send or recv without its other half, naming it; ranks that
// wait for each other, naming a step that cannot begin. REQUIRES: tiles >= 0; every dependency and
// peer of `expansion` in range.
Result<std::vector<Action>> LinearOrder(const Expansion& expansion, std::int64_t tiles, Pick pick,
                                        std::uint64_t seed = 0);

}  // namespace chorus
