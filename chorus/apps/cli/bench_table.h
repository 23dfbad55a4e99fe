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

// All lines before the first row.
std::string BenchHead(const BenchSettings& settings, OpKind op, bool threads,
                      const std::vector<BenchDevice>& devices);
// One row: the columns of nccl-tests, then the fraction of the bound; and a line of own checks if
// there were any.
std::string BenchLine(const BenchRow& row);
// The footer. `ok`: whether the mean is at least what NCCL_TESTS_MIN_BW asks; empty if nothing
// asks.
std::string BenchFoot(const BenchReport& report, std::optional<bool> ok);

nlohmann::ordered_json ToJson(const BenchSettings& settings, const BenchReport& report);

}  // namespace chorus::cli
