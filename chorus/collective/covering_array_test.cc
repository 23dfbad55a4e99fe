#include "chorus/collective/covering_array_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace chorus {
namespace {

// Random completions that are compared, and tries until one is valid.
constexpr int kCandidates = 12;
constexpr int kTries = 1000;

class Builder {
 public:
  Builder(const Coverage& coverage, std::uint64_t seed) : coverage_(coverage), random_(seed) {
    for (const std::vector<int>& set : coverage_.sets) {
      std::size_t combinations = 1;
      for (const int factor : set) combinations *= Levels(factor);
      is_covered_.emplace_back(combinations, false);
    }
  }

  std::vector<Row> Build() {
    std::vector<Row> rows;
    for (std::size_t s = 0; s < is_covered_.size(); ++s) {
      for (std::size_t combination = 0; combination < is_covered_[s].size(); ++combination) {
        if (is_covered_[s][combination]) continue;
        Row best = BestWith(s, combination);
        if (best.empty()) continue;
        Cover(best);
        rows.push_back(std::move(best));
      }
    }
    std::shuffle(rows.begin(), rows.end(), random_);
    return rows;
  }

 private:
  std::size_t Levels(int factor) const {
    return static_cast<std::size_t>(coverage_.levels[static_cast<std::size_t>(factor)]);
  }
  static int& At(Row& row, int factor) { return row[static_cast<std::size_t>(factor)]; }

  // The combination of set s that a row has.
  std::size_t Of(std::size_t s, const Row& row) const {
    std::size_t combination = 0;
    for (const int factor : coverage_.sets[s]) {
      combination = combination * Levels(factor) +
                    static_cast<std::size_t>(row[static_cast<std::size_t>(factor)]);
    }
    return combination;
  }

  void Cover(const Row& row) {
    for (std::size_t s = 0; s < is_covered_.size(); ++s) is_covered_[s][Of(s, row)] = true;
  }

  int NewIn(const Row& row) const {
    int fresh = 0;
    for (std::size_t s = 0; s < is_covered_.size(); ++s)
      fresh += is_covered_[s][Of(s, row)] ? 0 : 1;
    return fresh;
  }

  Row BestWith(std::size_t s, std::size_t combination) {
    Row fixed(coverage_.levels.size(), -1);
    const std::vector<int>& set = coverage_.sets[s];
    for (auto factor = set.rbegin(); factor != set.rend(); ++factor) {
      At(fixed, *factor) = static_cast<int>(combination % Levels(*factor));
      combination /= Levels(*factor);
    }
    Row best;
    int most = 0;
    int candidates = 0;
    for (int tries = 0; tries < kTries && candidates < kCandidates; ++tries) {
      Row row = fixed;
      for (int factor = 0; factor < static_cast<int>(row.size()); ++factor) {
        if (At(row, factor) < 0) At(row, factor) = static_cast<int>(random_() % Levels(factor));
      }
      if (!coverage_.is_valid(row)) continue;
      ++candidates;
      const int fresh = NewIn(row);
      if (fresh <= most) continue;
      most = fresh;
      best = std::move(row);
    }
    return best;
  }

  const Coverage& coverage_;
  std::mt19937_64 random_;
  std::vector<std::vector<bool>> is_covered_;  // by set and combination
};

}  // namespace

std::vector<std::vector<int>> Coverage::Pairs(int factors) {
  std::vector<std::vector<int>> pairs;
  for (int a = 0; a < factors; ++a) {
    for (int b = a + 1; b < factors; ++b) pairs.push_back({a, b});
  }
  return pairs;
}

std::vector<Row> CoveringArray(const Coverage& coverage, std::uint64_t seed) {
  return Builder(coverage, seed).Build();
}

namespace {

std::set<std::vector<int>> CombinationsIn(const std::vector<Row>& rows,
                                          const std::vector<int>& set) {
  std::set<std::vector<int>> found;
  for (const Row& row : rows) {
    std::vector<int> levels;
    for (const int factor : set) levels.push_back(row[static_cast<std::size_t>(factor)]);
    found.insert(levels);
  }
  return found;
}

TEST(CoveringArrayTest, EveryPairAndATripleOccurInFewRows) {
  Coverage coverage{{3, 4, 5, 2, 6}, Coverage::Pairs(5), [](const Row&) { return true; }};
  coverage.sets.push_back({0, 1, 2});
  const std::vector<Row> rows = CoveringArray(coverage, 1);
  for (const std::vector<int>& set : coverage.sets) {
    std::size_t wanted = 1;
    for (const int factor : set) wanted *= static_cast<std::size_t>(coverage.levels[factor]);
    EXPECT_EQ(CombinationsIn(rows, set).size(), wanted);
  }
  EXPECT_LE(rows.size(), 90u);  // of 720; the triple alone needs 60
}

TEST(CoveringArrayTest, RowsAreValidAndWhatIsPossibleOccurs) {
  // Factor 0 is below factor 1, whatever the third is.
  const Coverage coverage{
      {8, 8, 3}, Coverage::Pairs(3), [](const Row& row) { return row[0] < row[1]; }};
  const std::vector<Row> rows = CoveringArray(coverage, 7);
  for (const Row& row : rows) EXPECT_LT(row[0], row[1]);
  EXPECT_EQ(CombinationsIn(rows, {0, 1}).size(), 28u);
  EXPECT_EQ(CombinationsIn(rows, {0, 2}).size(), 21u);
}

TEST(CoveringArrayTest, TheSeedSaysWhichRows) {
  const Coverage coverage{{5, 5, 5}, Coverage::Pairs(3), [](const Row&) { return true; }};
  EXPECT_EQ(CoveringArray(coverage, 3), CoveringArray(coverage, 3));
  EXPECT_NE(CoveringArray(coverage, 3), CoveringArray(coverage, 4));
}

}  // namespace
}  // namespace chorus
