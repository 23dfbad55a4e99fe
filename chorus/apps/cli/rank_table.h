// What ranks did beside what was predicted: tables and JSON that train and explain share.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/tensor/rank_report.h"

namespace chorus::cli {

// "1,234,567"
std::string Grouped(std::int64_t number);

// Bytes of one run by collective and mesh axes, products and memory, each as predicted and as
// counted, of the rank that has most; then whether all ranks were as predicted in all runs. `run`
// is what a run is called: "step". REQUIRES: ranks is not empty.
std::string RankTable(const std::vector<RankReport>& ranks, std::string_view run);
// The same of every rank, for programs.
nlohmann::json RanksJson(const std::vector<RankReport>& ranks, std::string_view run);

// Cores that this process may use, divided among `ranks` ranks of this host: so many threads has a
// matrix product of the calling thread, unless OMP_NUM_THREADS says otherwise.
void ShareCores(std::int64_t ranks);

}  // namespace chorus::cli
