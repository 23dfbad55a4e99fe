// Covering arrays: few rows in which every combination of some factors occurs. For tests.
//
// A row gives each factor one of its levels. Of ten factors with up to 60 levels the full product
// has 10^8 rows; that all pairs of levels occur takes some 1,500. What a fault depends on is seldom
// more than two or three factors.
//
//   factors 2 x 2 x 2, all pairs:   0 0 0 | 0 1 1 | 1 0 1 | 1 1 0
//
// Method: one uncovered combination after another is completed to a valid row, by the best of a few
// random completions. Thread safety: pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace chorus {

using Row = std::vector<int>;  // by factor: its level

struct Coverage {
  std::vector<int> levels;             // by factor: how many it has
  std::vector<std::vector<int>> sets;  // of factors, all of whose combinations have to occur
  std::function<bool(const Row&)> is_valid;

  // All sets of two factors.
  static std::vector<std::vector<int>> Pairs(int factors);
};

// Each combination of each set occurs in a row, unless no valid row with it was found in many
// tries. The same seed gives the same rows.
std::vector<Row> CoveringArray(const Coverage& coverage, std::uint64_t seed);

}  // namespace chorus
