// RankReport: what one rank does in a run of a program, predicted beside counted.
//
// Predictions are made from the program alone (program/account.h, shard/traffic.h), counts where
// the work is done (RunCounters). They are equal, or something is wrong.
//   RankReport mine = Predict(executable);
//   ... executable.Run(...); mine.Count(executable.counters());
//   all = GatherReports(mine, world);
// Thread safety: value types.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/collective/group.h"
#include "chorus/shard/traffic.h"
#include "chorus/tensor/executable.h"

namespace chorus {

// A quantity as it was predicted from the program and as it was counted.
template <typename T>
struct Checked {
  T predicted{};
  T counted{};
  bool equal() const { return predicted == counted; }
};

// What one rank did in one run.
struct RankReport {
  std::map<TrafficKey, Checked<Bytes>> sent;
  Checked<Flops> products;  // operations of matrix products
  Checked<Bytes> peak;      // memory of arrays
  std::int64_t runs = 0;    // that were counted
  // Runs whose counts were not those of the first: 0, as every run does the same.
  std::int64_t unlike_runs = 0;
  RunCounters first;  // of this rank's own report, not of one that was gathered

  bool equal() const;
  // Adds one run. The numbers are those of the first.
  void Count(const RunCounters& counters);
};

// What a run of the program will do on the executable's rank.
RankReport Predict(const Executable& executable);

// The reports of all ranks, by rank. A collective call on `world`.
Result<std::vector<RankReport>> GatherReports(const RankReport& mine, Group& world);

}  // namespace chorus
