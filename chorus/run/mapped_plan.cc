#include "chorus/run/mapped_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace chorus {
namespace {

std::set<std::int64_t> RanksOf(const MappedWork& work) {
  std::set<std::int64_t> ranks;
  for (const MappedPlace& place : work.sources) ranks.insert(place.rank);
  for (const MappedPlace& place : work.destinations) ranks.insert(place.rank);
  return ranks;
}

bool IsEven(const std::vector<MappedWork>& works, std::int64_t group_size) {
  std::vector<std::size_t> load(static_cast<std::size_t>(group_size), 0);
  for (const MappedWork& work : works) {
    load[static_cast<std::size_t>(work.owner)] += work.sources.size() + work.destinations.size();
  }
  return std::adjacent_find(load.begin(), load.end(), std::not_equal_to<>()) == load.end();
}

// The part of each work that `rank` does.
std::vector<MappedWork> ShareOf(const std::vector<MappedWork>& works, std::int64_t rank) {
  std::map<std::int64_t, double> named;  // by rank: in how many works
  for (const MappedWork& work : works) {
    for (const std::int64_t each : RanksOf(work)) ++named[each];
  }
  std::vector<MappedWork> share;
  for (const MappedWork& work : works) {
    const std::set<std::int64_t> ranks = RanksOf(work);
    double all = 0;
    double before = 0;
    for (const std::int64_t each : ranks) {
      all += 1 / named[each];
      if (each < rank) before += 1 / named[each];
    }
    if (ranks.count(rank) == 0) continue;
    MappedWork part = work;
    constexpr auto kWhole = static_cast<double>(MappedWork::kWhole);
    part.begin = std::llround(before / all * kWhole);
    part.end = std::llround((before + 1 / named[rank]) / all * kWhole);
    share.push_back(std::move(part));
  }
  return share;
}

}  // namespace

std::string MappedPlan::ToString() const {
  std::string text = fmt::format("mapped {} rank {} of {}\n", Name(op), rank, group_size);
  for (const MappedWork& work : works) text += work.ToString() + "\n";
  return text;
}

MappedPlan LowerMapped(const MappedWorks& works, std::int64_t rank) {
  MappedPlan plan{works.op, works.group_size, rank, {}};
  if (!IsEven(works.all, works.group_size)) {
    plan.works = ShareOf(works.all, rank);
    return plan;
  }
  for (const MappedWork& work : works.all) {
    if (work.owner == rank) plan.works.push_back(work);
  }
  return plan;
}

std::optional<MappedPlan> LowerPulled(const MappedWorks& works, std::int64_t rank) {
  MappedPlan plan{works.op, works.group_size, rank, {}};
  for (const MappedWork& work : works.all) {
    if (work.finish || work.sources.size() != 1 || work.sources[0].scaled) return std::nullopt;
    for (const MappedPlace& to : work.destinations) {
      if (to.rank == rank) plan.works.push_back({rank, work.sources, {to}, false});
    }
  }
  return plan;
}

}  // namespace chorus
