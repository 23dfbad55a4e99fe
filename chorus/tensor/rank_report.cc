#include "chorus/tensor/rank_report.h"

#include <algorithm>

#include "chorus/collective/tuning.h"
#include "chorus/program/account.h"

namespace chorus {
namespace {

// The numbers of a report in one row, so that ranks can send them; the keys are the same
// everywhere.
std::vector<std::int64_t> Flatten(const RankReport& report) {
  std::vector<std::int64_t> row;
  for (const auto& [key, sent] : report.sent) {
    row.push_back(sent.predicted.value());
    row.push_back(sent.counted.value());
  }
  row.insert(row.end(), {report.products.predicted.value(), report.products.counted.value(),
                         report.peak.predicted.value(), report.peak.counted.value(), report.runs,
                         report.unlike_runs});
  return row;
}

RankReport Unflatten(const RankReport& keys, const std::int64_t* row) {
  RankReport report = keys;
  for (auto& [key, sent] : report.sent) {
    sent.predicted = Bytes(*row++);
    sent.counted = Bytes(*row++);
  }
  report.products = {Flops(row[0]), Flops(row[1])};
  report.peak = {Bytes(row[2]), Bytes(row[3])};
  report.runs = row[4];
  report.unlike_runs = row[5];
  return report;
}

}  // namespace

bool RankReport::equal() const {
  return products.equal() && peak.equal() && unlike_runs == 0 &&
         std::all_of(sent.begin(), sent.end(),
                     [](const auto& entry) { return entry.second.equal(); });
}

void RankReport::Count(const RunCounters& counters) {
  if (runs++ > 0) {
    unlike_runs += counters == first ? 0 : 1;
    return;
  }
  first = counters;
  for (const auto& [key, traffic] : counters.traffic) sent[key].counted = Bytes(traffic.bytes_sent);
  products.counted = counters.products;
  peak.counted = counters.peak;
}

RankReport Predict(const Executable& executable) {
  const StepProgram& program = executable.program();
  const DimSizes& sizes = executable.sizes();
  Runtime& runtime = executable.runtime();
  const Mesh& mesh = runtime.mesh();
  const int rank = runtime.rank();
  RankReport report;
  for (const auto& [key, bytes] :
       PredictTraffic(program, mesh, sizes, rank, ChoicesOf(runtime.world()))) {
    report.sent[key].predicted = bytes;
  }
  report.products.predicted = ProductFlops(program, mesh, sizes, rank);
  report.peak.predicted = PeakMemory(program, mesh, sizes, rank).peak;
  return report;
}

Result<std::vector<RankReport>> GatherReports(const RankReport& mine, Group& world) {
  const std::vector<std::int64_t> row = Flatten(mine);
  std::vector<std::int64_t> rows(row.size() * static_cast<std::size_t>(world.size()));
  CHORUS_RETURN_IF_ERROR(world.AllGather(row, rows));
  std::vector<RankReport> reports;
  reports.reserve(static_cast<std::size_t>(world.size()));
  for (int r = 0; r < world.size(); ++r) {
    reports.push_back(Unflatten(mine, rows.data() + static_cast<std::size_t>(r) * row.size()));
  }
  return reports;
}

}  // namespace chorus
