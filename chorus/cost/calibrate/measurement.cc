#include "chorus/cost/calibrate/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

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

bool ReadNumber(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
}

// The columns in which time, algbw and busbw stand differ between releases: the header says where
// the first time is. Without one it is the sixth, as since 2.13.
constexpr std::size_t kTimeColumn = 5;

class LogReader {
 public:
  LogReader(const std::string& origin, const LogDefaults& defaults)
      : origin_(origin), defaults_(defaults), op_(defaults.op) {}

  Status ReadLine(std::string_view line) {
    ++number_;
    const std::vector<std::string_view> words = WordsOf(line);
    if (words.empty()) return OkStatus();
    if (words[0].front() == '#') {
      ReadComment(line, words);
      return OkStatus();
    }
    double bytes = 0;
    if (!ReadNumber(words[0], bytes) || bytes != std::floor(bytes)) return OkStatus();
    return ReadRow(words, bytes);
  }

  Result<std::vector<Measurement>> Take() && {
    if (!found_.empty()) return std::move(found_);
    return InvalidArgument(fmt::format(
        "{}: there is no row of measurements; give a log of nccl-tests or of chorus bench",
        origin_));
  }

 private:
  void ReadComment(std::string_view line, const std::vector<std::string_view>& words) {
    constexpr std::string_view kStarting = "Collective test starting:";
    if (const std::size_t at = line.find(kStarting); at != std::string_view::npos) {
      const auto rest = WordsOf(line.substr(at + kStarting.size()));
      if (!rest.empty() && !OperationOfName(rest[0]).empty()) op_ = OperationOfName(rest[0]);
      ranks_ = 0;
      hosts_.clear();
    }
    // "#  Rank  0 Group  0 Pid  1234 on  host07 device  0 [0x07] NVIDIA A100"
    if (words.size() < 3 || words[1] != "Rank") return;
    ++ranks_;
    const auto on = std::find(words.begin(), words.end(), "on");
    if (on != words.end() && on + 1 != words.end()) hosts_.insert(std::string(*(on + 1)));
  }

  Status ReadRow(const std::vector<std::string_view>& words, double bytes) {
    double microseconds = 0;
    if (words.size() <= kTimeColumn + 2 || !ReadNumber(words[kTimeColumn], microseconds)) {
      return Refuse("this row is cut off; it has size, count, type, redop, root, time, algbw, ...");
    }
    const std::int64_t ranks = ranks_ > 0 ? ranks_ : defaults_.ranks;
    if (op_.empty()) {
      return Refuse("the log does not say of which operation it is; add --op all_reduce");
    }
    if (ranks < 1) return Refuse("the log does not say how many ranks ran; add --ranks 8");
    const auto hosts = static_cast<std::int64_t>(hosts_.size());
    const std::int64_t nodes = hosts > 1 ? hosts : std::max<std::int64_t>(defaults_.nodes, 1);
    if (bytes > 0 && microseconds > 0) {
      found_.push_back({op_, ranks, nodes, bytes, microseconds * 1e-6});
    }
    return OkStatus();
  }

  Status Refuse(std::string_view why) const {
    return InvalidArgument(fmt::format("{}:{}: {}", origin_, number_, why));
  }

  const std::string& origin_;
  const LogDefaults& defaults_;
  std::string op_;
  std::int64_t ranks_ = 0;
  std::set<std::string> hosts_;
  std::int64_t number_ = 0;
  std::vector<Measurement> found_;
};

}  // namespace

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

Result<std::vector<Measurement>> ParseNcclTestsLog(std::string_view text, const std::string& origin,
                                                   const LogDefaults& defaults) {
  LogReader reader(origin, defaults);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    CHORUS_RETURN_IF_ERROR(reader.ReadLine(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return std::move(reader).Take();
}

std::vector<Measurement> Medians(const std::vector<Measurement>& measurements) {
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, double>;
  std::map<Key, std::vector<double>> seconds;
  std::vector<Measurement> medians;
  for (const Measurement& m : measurements) {
    std::vector<double>& all = seconds[{m.op, m.ranks, m.nodes, m.bytes}];
    if (all.empty()) medians.push_back(m);
    all.push_back(m.seconds);
  }
  for (Measurement& m : medians) {
    std::vector<double>& all = seconds[{m.op, m.ranks, m.nodes, m.bytes}];
    std::sort(all.begin(), all.end());
    const std::size_t middle = all.size() / 2;
    m.seconds = all.size() % 2 == 1 ? all[middle] : (all[middle - 1] + all[middle]) / 2;
  }
  return medians;
}

}  // namespace chorus
