#include "chorus/apps/cli/tune_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <sstream>
#include <utility>

namespace chorus::cli {
namespace {

// Another algorithm must be this much faster than the built-in one.
constexpr double kClearly = 0.95;

using TunedPlace = std::pair<OpKind, std::int64_t>;             // operation, ranks
using BySize = std::map<Bytes, std::vector<const TunedTime*>>;  // of one place

std::map<TunedPlace, BySize> ByPlace(const std::vector<TunedTime>& times) {
  std::map<TunedPlace, BySize> groups;
  for (const TunedTime& time : times) groups[{time.op, time.ranks}][time.bytes].push_back(&time);
  return groups;
}

const Algorithm* Fastest(const TunedPlace& place, Bytes bytes,
                         const std::vector<const TunedTime*>& times) {
  const Algorithm* const rule = &ChooseAlgorithm(place.first, place.second, bytes);
  const TunedTime* best = times.front();
  const TunedTime* built_in = nullptr;
  for (const TunedTime* time : times) {
    if (time->us < best->us) best = time;
    if (time->algorithm == rule) built_in = time;
  }
  if (built_in != nullptr && best->us > kClearly * built_in->us) return rule;
  return best->algorithm;
}

// The power of two nearest to the geometric mean.
Bytes Between(Bytes low, Bytes high) {
  const double middle = (std::log2(std::max(1.0, static_cast<double>(low.value()))) +
                         std::log2(std::max(1.0, static_cast<double>(high.value())))) /
                        2;
  return Bytes(std::int64_t{1} << static_cast<int>(std::lround(middle)));
}

// Up to here the built-in rule is asked for each power of two.
constexpr std::int64_t kFarthest = std::int64_t{1} << 40;

// Whether measuring ended before `largest`: the sizes of an operation are rounded to its blocks.
bool EndsBefore(Bytes last, Bytes largest) { return last.value() < largest.value() / 2; }

}  // namespace

std::vector<const Algorithm*> Candidates(OpKind op, int n) {
  if (n < 2 || op == OpKind::kBarrier) return {};
  std::vector<const Algorithm*> candidates;
  for (const Algorithm* algorithm : AlgorithmsFor(op)) {
    if (algorithm->Fits(n).ok()) candidates.push_back(algorithm);
  }
  if (candidates.size() < 2) candidates.clear();
  return candidates;
}

std::vector<std::string> Unmeasured(const std::vector<TunedTime>& times,
                                    const std::vector<int>& ranks, Bytes largest) {
  const std::map<TunedPlace, BySize> groups = ByPlace(times);
  std::vector<std::string> lines;
  for (const int n : ranks) {
    for (const OpKind op : kAllOpKinds) {
      if (Candidates(op, n).empty()) continue;
      const auto group = groups.find({op, n});
      if (group == groups.end()) {
        lines.push_back(fmt::format("{} on {} ranks: not at all", Name(op), n));
      } else if (const Bytes last = group->second.rbegin()->first; EndsBefore(last, largest)) {
        lines.push_back(fmt::format("{} on {} ranks: to {}", Name(op), n, ToString(last)));
      }
    }
  }
  return lines;
}

std::string ToLine(const TunedTime& time) {
  return fmt::format("{} {} {} {} {:.4f}", Name(time.op), time.ranks, time.bytes.value(),
                     time.algorithm->name, time.us);
}

Result<TunedTime> ParseLine(const std::string& line) {
  std::istringstream words(line);
  std::string op;
  std::string algorithm;
  std::int64_t bytes = 0;
  TunedTime time;
  words >> op >> time.ranks >> bytes >> algorithm >> time.us;
  const std::optional<OpKind> kind = ParseOpKind(op);
  if (words.fail() || !kind) return Internal(fmt::format("'{}' is no measured time", line));
  time.op = *kind;
  time.bytes = Bytes(bytes);
  for (const Algorithm* known : AlgorithmsFor(*kind)) {
    if (known->name == algorithm) time.algorithm = known;
  }
  if (time.algorithm == nullptr) return Internal(fmt::format("'{}' is no measured time", line));
  return time;
}

Result<Choices> ChooseFastest(const std::vector<TunedTime>& times, Bytes largest) {
  std::vector<Choices::Row> rows;
  for (const auto& [place, by_size] : ByPlace(times)) {
    const Algorithm* current = nullptr;
    Bytes before;
    for (const auto& [bytes, measured] : by_size) {
      const Algorithm* const fastest = Fastest(place, bytes, measured);
      if (fastest != current) {
        const Bytes from = current == nullptr ? Bytes(0) : Between(before, bytes);
        rows.push_back({place.first, place.second, from, Unowned(*fastest)});
      }
      current = fastest;
      before = bytes;
    }
    if (!EndsBefore(before, largest)) continue;
    for (std::int64_t from = Between(before, Bytes(4 * before.value())).value(); from <= kFarthest;
         from *= 2) {
      const Algorithm* const rule = &ChooseAlgorithm(place.first, place.second, Bytes(from));
      if (rule != current) {
        rows.push_back({place.first, place.second, Bytes(from), Unowned(*rule)});
      }
      current = rule;
    }
  }
  return Choices::Create(rows);
}

std::string TuningText(const std::string& head, const Choices& choices,
                       const std::vector<TunedTime>& times) {
  std::string out = head + "\n" + choices.ToString() + "\n# Measured, us:\n";
  for (const auto& [place, by_size] : ByPlace(times)) {
    for (const auto& [bytes, measured] : by_size) {
      out += fmt::format("# {}.{} {:>8}:", Name(place.first), place.second, ToString(bytes));
      for (const TunedTime* time : measured) {
        out += fmt::format(" {} {:.4g}", time->algorithm->name, time->us);
      }
      out += "\n";
    }
  }
  return out;
}

}  // namespace chorus::cli
