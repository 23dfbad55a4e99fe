#include "chorus/apps/cli/bench_result.h"

#include <algorithm>

#include "chorus/base/op_kind.h"
#include "chorus/cost/formula/formula.h"

namespace chorus::cli {

double BenchRow::AlgBandwidth(const BenchTiming& t) const {
  return t.time_us > 0 ? static_cast<double>(what.bytes) / (t.time_us * 1e3) : 0;
}

double BenchRow::BusBandwidth(const BenchTiming& t) const {
  return AlgBandwidth(t) * BusFactor(Name(what.op), what.ranks);
}

std::optional<double> BenchRow::FractionOfBound() const {
  if (bound_us <= 0 || !out_of_place || out_of_place->time_us <= 0) return std::nullopt;
  return bound_us / out_of_place->time_us;
}

std::int64_t BenchRow::wrong() const {
  std::int64_t sum = 0;
  for (const auto& timing : {out_of_place, in_place}) {
    if (timing) sum += std::max<std::int64_t>(0, timing->wrong);
  }
  return sum;
}

std::int64_t BenchReport::wrong() const {
  std::int64_t sum = 0;
  for (const BenchRow& row : rows) sum += row.wrong();
  return sum;
}

double BenchReport::AverageBusBandwidth() const {
  double sum = 0;
  int count = 0;
  for (const BenchRow& row : rows) {
    for (const auto& timing : {row.out_of_place, row.in_place}) {
      if (!timing) continue;
      sum += row.BusBandwidth(*timing);
      ++count;
    }
  }
  return count > 0 ? sum / count : 0;
}

bool BenchReport::checks_ok() const {
  return std::all_of(rows.begin(), rows.end(),
                     [](const BenchRow& row) { return !row.checks || row.checks->ok(); });
}

}  // namespace chorus::cli
