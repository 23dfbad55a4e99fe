#include "chorus/apps/cli/bench_agree.h"

#include <algorithm>
#include <array>

namespace chorus::cli {

Result<double> Agree(Group& group, double mine, BenchAverage how) {
  const std::array<double, 1> one = {mine};
  std::vector<double> all(static_cast<std::size_t>(group.size()));
  CHORUS_RETURN_IF_ERROR(group.AllGather(one, all));
  switch (how) {
    case BenchAverage::kRankZero:
      return all[0];
    case BenchAverage::kMinimum:
      return *std::min_element(all.begin(), all.end());
    case BenchAverage::kMaximum:
      return *std::max_element(all.begin(), all.end());
    case BenchAverage::kAverage:
      break;
  }
  double sum = 0;
  for (const double value : all) sum += value;
  return sum / static_cast<double>(all.size());
}

Result<std::int64_t> SumOverRanks(Group& group, std::int64_t mine) {
  CHORUS_ASSIGN_OR_RETURN(const std::vector<std::int64_t> all, OfAllRanks(group, mine));
  std::int64_t sum = 0;
  for (const std::int64_t value : all) sum += value;
  return sum;
}

Result<std::vector<std::int64_t>> OfAllRanks(Group& group, std::int64_t mine) {
  const std::array<std::int64_t, 1> one = {mine};
  std::vector<std::int64_t> all(static_cast<std::size_t>(group.size()));
  CHORUS_RETURN_IF_ERROR(group.AllGather(one, all));
  return all;
}

}  // namespace chorus::cli
