#include "chorus/base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace chorus {
namespace {

// Levenshtein: insertions, deletions and replacements between two words, row by row.
std::size_t Edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string nearest;
  // More edits than half of the word make another word, not a slip.
  std::size_t fewest = word.size() / 2 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t edits = Edits(word, candidate);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = candidate;
  }
  return nearest;
}

std::string NearestAdvice(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(word, candidates);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  return fmt::format("there is {}", fmt::join(candidates, ", "));
}

}  // namespace chorus
