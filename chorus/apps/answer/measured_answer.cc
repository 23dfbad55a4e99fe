#include "chorus/apps/answer/measured_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

#include "chorus/apps/answer/about.h"
#include "chorus/apps/answer/choose_schedule.h"
#include "chorus/base/rate.h"
#include "chorus/cost/formula/formula.h"
#include "chorus/topology/machine.h"

namespace chorus {

extern const char* const kMeasuredText;  // chorus/cost/testdata/measured_collectives.csv

namespace answer {
namespace {

enum Column : std::size_t {
  kHardware,
  kNodes,
  kRanks,
  kOp,
  kBytes,
  kMicroseconds,
  kAlgbw,
  kBusbw,
  kHow,
  kDerived,
  kSource,
  kUncertain,
  kColumns
};

// One line of a CSV file; a cell in quotes may hold commas.
std::vector<std::string> Cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

std::optional<double> NumberIn(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !(number > 0)) return std::nullopt;
  return number;
}

// "DGX A100", 16 ranks on 2 nodes -> "a100-8x2"; "" if the catalogue knows no word of the name.
std::string MachineOf(const std::string& hardware, std::int64_t ranks, std::int64_t nodes) {
  std::string word;
  for (const char c : hardware + " ") {
    if (c != ' ') {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    const bool known = Catalogue::BuiltIn().Find(word).ok();
    std::string name = fmt::format("{}-{}", word, ranks / nodes);
    if (nodes > 1) name += fmt::format("x{}", nodes);
    if (known && MachineNamed(name, Catalogue::BuiltIn()).ok()) return name;
    word.clear();
  }
  return "";
}

// Empty for a line about something else: a range of operations, a slice of a torus.
std::optional<MeasuredPoint> PointOf(const std::vector<std::string>& cells) {
  if (cells.size() < kColumns) return std::nullopt;
  const std::optional<OpKind> op = ParseOpKind(cells[kOp]);
  const auto nodes = NumberIn(cells[kNodes]), ranks = NumberIn(cells[kRanks]);
  const auto bytes = NumberIn(cells[kBytes]), time = NumberIn(cells[kMicroseconds]);
  if (!op || !nodes || !ranks || !bytes) return std::nullopt;
  // Some sources tell a bandwidth and no time.
  std::optional<double> algbw = NumberIn(cells[kAlgbw]);
  if (const auto busbw = NumberIn(cells[kBusbw]); !algbw && busbw) {
    algbw = *busbw / BusFactor(Name(*op), static_cast<std::int64_t>(*ranks));
  }
  if (!time && !algbw) return std::nullopt;
  MeasuredPoint point;
  point.hardware = cells[kHardware];
  point.nodes = static_cast<std::int64_t>(*nodes);
  point.ranks = static_cast<std::int64_t>(*ranks);
  point.on = MachineOf(point.hardware, point.ranks, point.nodes);
  point.op = *op;
  point.bytes = Bytes(static_cast<std::int64_t>(*bytes));
  point.time = Seconds(time ? *time * 1e-6 : *bytes / (*algbw * 1e9));
  point.how = cells[kHow];
  point.source = cells[kSource];
  point.remark = cells[kDerived];
  if (!time) point.remark += (point.remark.empty() ? "" : "; ") + std::string("from its bandwidth");
  if (!cells[kUncertain].empty()) {
    point.remark += (point.remark.empty() ? "" : "; ") + cells[kUncertain];
  }
  return point;
}

}  // namespace

Result<MeasuredAnswer> Answer(const MeasuredQuestion& question) {
  if (!question.op.empty()) CHORUS_RETURN_IF_ERROR(OperationNamed(question.op).status());
  if (!question.on.empty()) {
    CHORUS_RETURN_IF_ERROR(About("--on", MachineNamed(question.on, Catalogue::BuiltIn()).status()));
  }
  MeasuredAnswer answer;
  std::string_view text = kMeasuredText;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::optional<MeasuredPoint> point = PointOf(Cells(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!point) continue;
    const bool asked = (question.op.empty() || Name(point->op) == question.op) &&
                       (question.on.empty() || point->on == question.on);
    if (asked) answer.points.push_back(*std::move(point));
  }
  return answer;
}

Json ToJson(const MeasuredAnswer& answer) {
  Json json = {{"points", Json::array()}};
  for (const MeasuredPoint& p : answer.points) {
    const BytesPerSecond algbw = p.bytes / p.time;
    json["points"].push_back(
        {{"hardware", p.hardware},
         {"on", p.on.empty() ? Json() : Json(p.on)},
         {"nodes", p.nodes},
         {"ranks", p.ranks},
         {"operation", Name(p.op)},
         {"bytes", p.bytes.value()},
         {"seconds", p.time.value()},
         {"algbw_bytes_per_second", algbw.value()},
         {"busbw_bytes_per_second", algbw.value() * BusFactor(Name(p.op), p.ranks)},
         {"how", p.how},
         {"source", p.source},
         {"remark", p.remark}});
  }
  return json;
}

}  // namespace answer
}  // namespace chorus
