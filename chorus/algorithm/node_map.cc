#include "chorus/algorithm/node_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace chorus {

const AlgorithmParameter kNodesParameter = {
    "L",
    "the ranks of a node, such as 4, or of each node, such as 3+1+2",
    '+',
    [](const AlgorithmNumbers& numbers) {
      constexpr std::int64_t kMostRanks = 1 << 20;
      for (const std::int64_t ranks : numbers) {
        if (ranks >= 1 && ranks <= kMostRanks) continue;
        return InvalidArgument(
            fmt::format("a node of {} ranks is not in 1 .. {}", ranks, kMostRanks));
      }
      if (numbers.size() <= 64) return OkStatus();
      return InvalidArgument(fmt::format("{} nodes are more than 64", numbers.size()));
    },
    [](const AlgorithmNumbers& numbers, std::int64_t group_size) {
      const auto sum = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
      if (numbers.size() == 1 || sum == group_size) return OkStatus();
      return InvalidArgument(
          fmt::format("its nodes have {} ranks, the group has {}", sum, group_size));
    },
};

Expr NodeMap::Count() const {
  if (numbers_.size() > 1) return std::ssize(numbers_);
  return (Expr::GroupSize() + (numbers_[0] - 1)) / numbers_[0];
}

Expr NodeMap::NodeOf(const Expr& rank) const {
  if (numbers_.size() == 1) return rank / numbers_[0];
  Expr node = 0;
  std::int64_t first = 0;
  for (std::size_t i = 0; i + 1 < numbers_.size(); ++i) {
    first += numbers_[i];
    node = i == 0 ? Ge(rank, first) : node + Ge(rank, first);
  }
  return node;
}

Expr NodeMap::Leader(const Expr& node) const {
  if (numbers_.size() == 1) return node * numbers_[0];
  std::int64_t first = std::accumulate(numbers_.begin(), numbers_.end() - 1, std::int64_t{0});
  Expr leader = first;
  for (std::int64_t i = std::ssize(numbers_) - 2; i >= 0; --i) {
    first -= numbers_[i];
    leader = Select(Eq(node, i), first, leader);
  }
  return leader;
}

Expr NodeMap::End(const Expr& node) const {
  if (numbers_.size() == 1) return Min((node + 1) * numbers_[0], Expr::GroupSize());
  return Select(Eq(node, std::ssize(numbers_) - 1), Expr::GroupSize(), Leader(node + 1));
}

std::int64_t NodeMap::Largest() const {
  return *std::max_element(numbers_.begin(), numbers_.end());
}

std::string NodeMap::ScheduleName() const {
  return fmt::format("two_level_{}", fmt::join(numbers_, "_"));
}

}  // namespace chorus
