// The lines of nccl-tests about a bench, character for character where programs look, and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "chorus/apps/cli/bench_result.h"
#include "chorus/apps/cli/bench_settings.h"

namespace chorus::cli {

// One rank, for the list of devices.
struct BenchDevice {
  int rank = 0;
  std::int64_t pid = 0;
  int core = -1;  // that it ran on when asked
};

// Where the ranks are, and what they choose algorithms by.
struct BenchPlace {
  std::vector<BenchDevice> devices;
  std::string tuning;  // the file; empty: the built-in rule
};

// All lines before the first row.
std::string BenchHead(const BenchSettings& settings, OpKind op, bool threads,
                      const BenchPlace& place);
// One row: the columns of nccl-tests, then the fraction of the bound and the algorithm; and a line
// of own checks if there were any.
std::string BenchLine(const BenchRow& row);
// The footer. `ok`: whether the mean is at least what NCCL_TESTS_MIN_BW asks; empty if nothing
// asks.
std::string BenchFoot(const BenchReport& report, std::optional<bool> ok);

nlohmann::ordered_json ToJson(const BenchSettings& settings, const BenchReport& report);

}  // namespace chorus::cli
