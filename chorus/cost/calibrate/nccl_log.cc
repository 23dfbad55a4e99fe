#include "chorus/cost/calibrate/nccl_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "chorus/base/counted.h"

namespace chorus {
namespace {

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (true) {
    at = line.find_first_not_of(" \t\r", at);
    if (at == std::string_view::npos) return words;
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
}

// Also nan and infinities: what they are worth is not decided here.
bool ReadNumber(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

// A number of ranks, or none of them that can be.
std::int64_t WholeOf(double value) {
  constexpr double kMost = 1e15;
  return std::abs(value) < kMost ? static_cast<std::int64_t>(value)
                                 : std::numeric_limits<std::int64_t>::max();
}

// Where a row has what: releases before 2.8 have no root, and before 2.13 an error in place of the
// number of wrong elements.
struct Columns {
  std::optional<std::size_t> root = 4;
  std::size_t time = 5;
  std::optional<std::size_t> wrong = 8;
  bool algorithm = false;  // the last one, of chorus bench
};

// Of "#  size  count  type  redop  root  time  algbw  busbw #wrong  time ..."; none if it is not
// that line.
std::optional<Columns> ColumnsOf(std::vector<std::string_view> words) {
  if (!words.empty() && words[0] == "#") words.erase(words.begin());
  const auto time = std::find(words.begin(), words.end(), "time");
  if (words.empty() || words[0] != "size" || time == words.end()) return std::nullopt;
  Columns columns;
  columns.time = static_cast<std::size_t>(time - words.begin());
  columns.wrong.reset();
  const auto root = std::find(words.begin(), time, "root");
  columns.root.reset();
  if (root != time) columns.root = static_cast<std::size_t>(root - words.begin());
  const std::size_t after = columns.time + 3;
  if (after < words.size() && words[after] == "#wrong") columns.wrong = after;
  columns.algorithm = words.back() == "algorithm";
  return columns;
}

class LogReader {
 public:
  LogReader(const std::string& origin, const LogDefaults& defaults)
      : origin_(origin), defaults_(defaults) {}

  Status ReadLine(std::string_view line) {
    ++number_;
    const std::vector<std::string_view> words = WordsOf(line);
    if (words.empty()) return OkStatus();
    if (words[0].front() == '#') {
      ReadComment(line, words);
      return OkStatus();
    }
    const char first = words[0].front();
    const bool negative =
        first == '-' && words[0].size() > 1 && words[0][1] >= '0' && words[0][1] <= '9';
    if (negative || (first >= '0' && first <= '9')) return ReadRow(words);
    return OkStatus();
  }

  MeasurementLog Take() && { return std::move(log_); }

 private:
  void ReadComment(std::string_view line, const std::vector<std::string_view>& words) {
    constexpr std::string_view kStarting = "Collective test starting:";
    if (const std::size_t at = line.find(kStarting); at != std::string_view::npos) {
      const auto rest = WordsOf(line.substr(at + kStarting.size()));
      if (!rest.empty()) {
        op_ = OperationOfName(rest[0]);
        program_ = rest[0].substr(0, rest[0].rfind("_perf"));
      }
      ranks_ = 0;
      ranks_on_.clear();
    }
    if (const std::optional<Columns> columns = ColumnsOf(words)) columns_ = *columns;
    // "#  Rank  0 Group  0 Pid  1234 on  host07 device  0 [0x07] NVIDIA A100"
    if (words.size() < 3 || words[1] != "Rank") return;
    ++ranks_;
    const auto on = std::find(words.begin(), words.end(), "on");
    if (on != words.end() && on + 1 != words.end()) ++ranks_on_[std::string(*(on + 1))];
  }

  Status ReadRow(const std::vector<std::string_view>& words) {
    const std::string place = fmt::format("{}:{}", origin_, number_);
    if (op_.empty() && !program_.empty()) {
      return InvalidArgument(fmt::format(
          "{}: the log is of {}, which Chorus does not predict; leave it out", place, program_));
    }
    double bytes = 0, microseconds = 0, wrong = 0, root = -1;
    if (!ReadNumber(words[0], bytes)) {
      log_.LeaveOut("its first word is no size", place);
      return OkStatus();
    }
    if (words.size() <= columns_.time + 2) {
      log_.LeaveOut("it is cut off: a row has size, count, type, redop, root, time, algbw, ...",
                    place);
      return OkStatus();
    }
    if (!ReadNumber(words[columns_.time], microseconds)) {
      log_.LeaveOut("its time is no number", place);
      return OkStatus();
    }
    if (columns_.root && (!ReadNumber(words[*columns_.root], root) || root != std::floor(root))) {
      log_.LeaveOut("its root is no whole number", place);
      return OkStatus();
    }
    if (columns_.wrong && *columns_.wrong < words.size()) {
      const std::string_view text = words[*columns_.wrong];
      if (text != "N/A" && !ReadNumber(text, wrong)) {
        log_.LeaveOut("its #wrong is no number", place);
        return OkStatus();
      }
    }
    const auto hosts = static_cast<std::int64_t>(ranks_on_.size());
    CHORUS_RETURN_IF_ERROR(CheckHosts(place));
    const bool named = columns_.algorithm && words.back()[0] >= 'a' && words.back()[0] <= 'z';
    const std::string algorithm(named ? words.back() : std::string_view());
    // Containers may all have one name: one host says nothing.
    CHORUS_RETURN_IF_ERROR(
        CheckAgrees(defaults_, {op_, ranks_, hosts > 1 ? hosts : 0, algorithm}, place));
    const std::string& op = op_.empty() ? defaults_.op : op_;
    const std::int64_t ranks = ranks_ > 0 ? ranks_ : defaults_.ranks;
    if (op.empty()) {
      return InvalidArgument(
          place + ": the log does not say of which operation it is; add --op all_reduce");
    }
    if (ranks < 1) {
      return InvalidArgument(place + ": the log does not say how many ranks ran; add --ranks 8");
    }
    const std::int64_t nodes = hosts > 1 ? hosts : std::max<std::int64_t>(defaults_.nodes, 1);
    log_.Take({op, ranks, nodes, bytes, microseconds * 1e-6,
               algorithm.empty() ? defaults_.algorithm : algorithm, origin_,
               hosts > 1 ? MostOnAHost() : 0, WholeOf(root)},
              wrong, place);
    return OkStatus();
  }

  std::int64_t MostOnAHost() const {
    std::int64_t most = 1;
    for (const auto& [host, ranks] : ranks_on_) most = std::max(most, ranks);
    return most;
  }

  // Ranks fill nodes of one size one after another, the last one perhaps in part.
  Status CheckHosts(const std::string& place) const {
    const std::int64_t most = MostOnAHost();
    const auto hosts = static_cast<std::int64_t>(ranks_on_.size());
    if (hosts <= 1 || (ranks_ + most - 1) / most == hosts) return OkStatus();
    std::vector<std::int64_t> counts;
    for (const auto& [host, ranks] : ranks_on_) counts.push_back(ranks);
    std::sort(counts.rbegin(), counts.rend());
    return InvalidArgument(
        fmt::format("{}: its {} lie {} on {} hosts, but nodes are filled one after another; "
                    "measure with as many on each",
                    place, Counted(ranks_, "rank"), fmt::join(counts, " + "), hosts));
  }

  const std::string& origin_;
  const LogDefaults& defaults_;
  std::string op_;
  std::string program_;  // "sendrecv" of sendrecv_perf
  Columns columns_;
  std::int64_t ranks_ = 0;
  std::map<std::string, std::int64_t> ranks_on_;  // by host
  std::int64_t number_ = 0;
  MeasurementLog log_;
};

}  // namespace

Status CheckAgrees(const LogDefaults& given, const LogDefaults& log, const std::string& place) {
  const auto differ = [&](const std::string& said, std::string_view option, const auto& value) {
    return InvalidArgument(
        fmt::format("{}: the log says {}, but {} {} is given; leave it out, or read this log for "
                    "itself",
                    place, said, option, value));
  };
  if (!given.op.empty() && !log.op.empty() && given.op != log.op) {
    return differ(log.op, "--op", given.op);
  }
  if (given.ranks > 0 && log.ranks > 0 && given.ranks != log.ranks) {
    return differ(Counted(log.ranks, "rank"), "--ranks", given.ranks);
  }
  if (given.nodes > 0 && log.nodes > 0 && given.nodes != log.nodes) {
    return differ(Counted(log.nodes, "node"), "--nodes", given.nodes);
  }
  if (!given.algorithm.empty() && !log.algorithm.empty() && given.algorithm != log.algorithm) {
    return differ(log.algorithm, "--algorithm", given.algorithm);
  }
  return OkStatus();
}

Result<MeasurementLog> ParseNcclTestsLog(std::string_view text, const std::string& origin,
                                         const LogDefaults& defaults) {
  LogReader reader(origin, defaults);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    CHORUS_RETURN_IF_ERROR(reader.ReadLine(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return std::move(reader).Take();
}

}  // namespace chorus
