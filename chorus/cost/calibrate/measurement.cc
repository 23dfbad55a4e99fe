#include "chorus/cost/calibrate/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "chorus/base/counted.h"
#include "chorus/base/op_kind.h"

namespace chorus {
namespace {

// Times that anything can have taken; what lies outside is a slip of the log.
constexpr double kShortestSeconds = 1e-12;
constexpr double kLongestSeconds = 1e9;

// Why a row does not count; empty if it does.
std::string WhyNot(const Measurement& m, double wrong) {
  if (m.op.empty()) return "its operation is none that machines have curves of";
  if (m.ranks < 1 || m.ranks > kMostMeasuredRanks) {
    return fmt::format("{} ranks; there must be 1 to {}", m.ranks, kMostMeasuredRanks);
  }
  if (m.nodes < 1 || m.nodes > m.ranks) {
    return fmt::format("{} nodes; there must be 1 to the {}", m.nodes, Counted(m.ranks, "rank"));
  }
  if (m.root < -1 || m.root >= m.ranks) {
    return fmt::format("root {} of {}", m.root, Counted(m.ranks, "rank"));
  }
  if (m.bytes == 0) return "it has no bytes";
  if (!(m.bytes >= 1 && m.bytes <= static_cast<double>(kMostMeasuredBytes)) ||
      m.bytes != std::floor(m.bytes)) {
    return fmt::format("its size is no whole number of bytes up to {}", kMostMeasuredBytes);
  }
  if (!(m.seconds >= kShortestSeconds && m.seconds <= kLongestSeconds)) {
    return fmt::format("its time is none from {:g} to {:g} us", kShortestSeconds * 1e6,
                       kLongestSeconds * 1e6);
  }
  if (wrong != 0) return "its result is wrong (#wrong is not 0)";  // nan as well
  return "";
}

}  // namespace

void MeasurementLog::Take(Measurement row, double wrong, const std::string& place) {
  const std::optional<OpKind> op = ParseOpKind(row.op);
  if (op && !HasRoot(*op)) row.root = -1;
  std::string why = WhyNot(row, wrong);
  if (!why.empty()) return LeaveOut(std::move(why), place);
  measurements_.push_back(std::move(row));
}

void MeasurementLog::LeaveOut(std::string why, const std::string& place) {
  const auto same = std::find_if(left_out_.begin(), left_out_.end(),
                                 [&](const LeftOut& other) { return other.why == why; });
  if (same != left_out_.end()) {
    ++same->rows;
  } else {
    left_out_.push_back({std::move(why), place, 1});
  }
}

void MeasurementLog::Append(const MeasurementLog& other) {
  measurements_.insert(measurements_.end(), other.measurements_.begin(), other.measurements_.end());
  for (const LeftOut& row : other.left_out_) {
    LeaveOut(row.why, row.first);
    const auto same = std::find_if(left_out_.begin(), left_out_.end(),
                                   [&](const LeftOut& mine) { return mine.why == row.why; });
    same->rows += row.rows - 1;
  }
}

std::vector<std::string> MeasurementLog::Remarks() const {
  std::vector<std::string> remarks;
  for (const LeftOut& row : left_out_) {
    remarks.push_back(row.rows == 1 ? fmt::format("left out: {}: {}", row.first, row.why)
                                    : fmt::format("left out: {} rows, the first {}: {}", row.rows,
                                                  row.first, row.why));
  }
  return remarks;
}

std::string OperationOfName(std::string_view name) {
  std::string plain;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') plain += c;
  }
  if (plain.size() > 4 && plain.substr(plain.size() - 4) == "perf") plain.resize(plain.size() - 4);
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"allreduce", "all_reduce"},
      {"allgather", "all_gather"},
      {"reducescatter", "reduce_scatter"},
      {"alltoall", "all_to_all"},
      {"broadcast", "broadcast"},
      {"reduce", "reduce"},
      {"gather", "gather"},
      {"scatter", "scatter"},
      {"barrier", "barrier"},
      {"scan", "scan"},
      {"exscan", "exscan"}};
  for (const auto& [known, op] : kNames) {
    if (known == plain) return std::string(op);
  }
  return "";
}

bool IsOf(const Measurement& row, const FittedCurve& curve) {
  return row.op == curve.op && row.ranks == curve.ranks && row.nodes == curve.nodes &&
         row.root == curve.root;
}

std::string QuestionText(std::string_view op, std::int64_t ranks, std::int64_t root) {
  return fmt::format("{} over {}{}", op, Counted(ranks, "rank"),
                     root < 0 ? "" : fmt::format(" from root {}", root));
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<Measurement> Medians(const std::vector<Measurement>& measurements) {
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, double>;
  std::map<Key, std::vector<double>> seconds;
  std::vector<Measurement> medians;
  for (const Measurement& m : measurements) {
    std::vector<double>& all = seconds[{m.op, m.ranks, m.nodes, m.root, m.bytes}];
    if (all.empty()) medians.push_back(m);
    all.push_back(m.seconds);
  }
  for (Measurement& m : medians) {
    m.seconds = MedianOf(seconds[{m.op, m.ranks, m.nodes, m.root, m.bytes}]);
  }
  return medians;
}

}  // namespace chorus
