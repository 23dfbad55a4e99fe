#include "chorus/collective/flight.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "chorus/collective/call.h"
#include "chorus/collective/member_name.h"

namespace chorus {
namespace {

using Records = std::vector<std::vector<OperationRecord>>;

OperationRecord::State StateOf(const CallRecord& record) {
  using State = OperationRecord::State;
  if (record.state == CallRecord::State::kRefused) return State::kRefused;
  if (record.state == CallRecord::State::kFailed) return State::kFailed;
  if (record.end == CallRecord::End::kFailed) return State::kFailed;
  if (record.end == CallRecord::End::kOk) return State::kFinished;
  return record.state == CallRecord::State::kPosted ? State::kPosted : State::kStarted;
}

std::string_view NameOf(OperationRecord::State state) {
  constexpr std::string_view kNames[] = {"posted", "started", "finished", "failed", "refused"};
  return kNames[static_cast<std::size_t>(state)];
}

OperationRecord FromCall(const Links& links, int rank, const CallRecord& call) {
  OperationRecord record;
  record.number = call.sequence;
  record.call = NameOfPacked(call.what);
  const std::string detail = DescribePacked(call.what, call.count);
  if (!detail.empty()) record.call += " " + detail;
  record.algorithm = links.LabelOf(rank, call.label);
  record.fingerprint = call.fingerprint;
  record.state = StateOf(call);
  record.started = std::chrono::nanoseconds(call.started);
  record.ended = std::chrono::nanoseconds(call.ended);
  return record;
}

const OperationRecord* Find(const std::vector<OperationRecord>& records, std::uint64_t number) {
  const auto at = std::lower_bound(
      records.begin(), records.end(), number,
      [](const OperationRecord& record, std::uint64_t n) { return record.number < n; });
  return at != records.end() && at->number == number ? &*at : nullptr;
}

// Whether the rank has come to `number`, as far as what is kept says.
bool HasCome(const std::vector<OperationRecord>& records, std::uint64_t number) {
  return !records.empty() && records.back().number >= number;
}

// "started 200.3 ms ago", "finished".
std::string Standing(const OperationRecord& record, std::chrono::nanoseconds now) {
  const bool is_over = record.state != OperationRecord::State::kPosted &&
                       record.state != OperationRecord::State::kStarted;
  const std::chrono::nanoseconds when = is_over ? record.ended : record.started;
  if (when.count() == 0) return std::string(NameOf(record.state));
  return fmt::format("{} {:.1f} ms ago", NameOf(record.state),
                     std::chrono::duration<double, std::milli>(now - when).count());
}

}  // namespace

std::vector<OperationRecord> ReadRecords(const Links& links, int rank, std::size_t most) {
  std::uint64_t last = links.Published(rank);
  while (links.Record(rank, last + 1).state == CallRecord::State::kPosted) ++last;
  std::vector<OperationRecord> records;
  const std::uint64_t kept = std::min({std::uint64_t{most}, last, std::uint64_t{Links::kRecords}});
  for (std::uint64_t number = last - kept + 1; number <= last; ++number) {
    const CallRecord call = links.Record(rank, number);
    if (call.state != CallRecord::State::kNone) records.push_back(FromCall(links, rank, call));
  }
  return records;
}

std::uint64_t FirstDifference(const Records& records) {
  // 1. What was called, as far back as every rank remembers.
  std::uint64_t first = 1;
  std::uint64_t last = 0;
  for (const auto& each : records) {
    if (each.empty()) continue;
    first = std::max(first, each.front().number);
    last = std::max(last, each.back().number);
  }
  for (std::uint64_t number = first; number <= last; ++number) {
    const OperationRecord* seen = nullptr;
    for (const auto& each : records) {
      const OperationRecord* const record = Find(each, number);
      if (record == nullptr) continue;
      if (record->state == OperationRecord::State::kRefused) return number;
      if (seen != nullptr && seen->fingerprint != record->fingerprint) return number;
      seen = record;
    }
  }
  // 2. How far they have come: the first that somebody has not begun.
  std::uint64_t least = last;
  for (const auto& each : records) {
    least = std::min(least, each.empty() ? 0 : each.back().number);
  }
  return least < last ? least + 1 : 0;
}

std::string MergeRecords(std::string_view group, const Records& records,
                         std::chrono::nanoseconds now, std::size_t rows) {
  const std::uint64_t difference = FirstDifference(records);
  std::uint64_t last = 0;
  for (const auto& each : records) last = std::max(last, each.empty() ? 0 : each.back().number);
  // A few rows after the difference; most before it.
  if (difference > 0) last = std::min(last, difference + rows / 4);
  const std::uint64_t first = last < rows ? 1 : last - rows + 1;
  std::string text = fmt::format("flight recorder of group {}, #{} to #{}", group, first, last);
  if (difference > 0) text += fmt::format("; ranks differ from #{} on", difference);
  text += "\n";
  for (std::uint64_t number = first; number <= last; ++number) {
    // Ranks of which the same is to be said, in the order of the first of them.
    std::vector<std::pair<std::string, std::vector<int>>> groups;
    std::map<std::string, std::size_t> places;
    std::map<std::string, std::string> standing;
    for (int rank = 0; rank < static_cast<int>(records.size()); ++rank) {
      const auto& own = records[static_cast<std::size_t>(rank)];
      const OperationRecord* const record = Find(own, number);
      std::string key = HasCome(own, number) ? "no longer kept" : "not called";
      std::string said;
      if (record != nullptr) {
        key = record->call;
        if (!record->algorithm.empty()) key += fmt::format(" ({})", record->algorithm);
        key += fmt::format(": {}", NameOf(record->state));
        said = Standing(*record, now).substr(NameOf(record->state).size());
      }
      const auto [place, is_new] = places.emplace(key, groups.size());
      if (is_new) groups.emplace_back(key, std::vector<int>());
      groups[place->second].second.push_back(rank);
      // Of several ranks, the time of the first that has one.
      if (standing[key].empty()) standing[key] = said;
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto& [key, ranks] = groups[g];
      const std::string label = g == 0 ? fmt::format("#{}", number) : "";
      const bool is_all = ranks.size() == records.size() && ranks.size() > 1;
      text += fmt::format("{} {:<6}{}: {}{}\n", number == difference && g == 0 ? '>' : ' ', label,
                          is_all ? "all ranks" : NameMembers(ranks), key, standing[key]);
    }
  }
  return text;
}

}  // namespace chorus
