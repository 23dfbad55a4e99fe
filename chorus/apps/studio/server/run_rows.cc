#include "chorus/apps/studio/server/run_rows.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace chorus::studio {
namespace {

using answer::Json;
using Event = Json::parse_event_t;

constexpr int kMostRowDepth = 64;  // what is deeper was written by something else

bool IsPoint(const Json& row) { return row.contains("step") && row.contains("loss_nats"); }

// Of `row` the members of `names`.
Json Only(const Json& row, std::initializer_list<const char*> names) {
  Json less = Json::object();
  for (const char* name : names) {
    if (const auto value = row.find(name); value != row.end()) less[name] = *value;
  }
  return less;
}

// At most kMostPoints of the points that come, evenly apart: when there are too many, every other
// one goes.
static_assert(kMostPoints % 2 == 0);  // then the last of one more stays

class EvenlyApart {
 public:
  using Numbered = std::pair<std::int64_t, Json>;  // the number of the row in the file

  void Add(std::int64_t number, Json point) {
    const std::int64_t index = count_++;
    if (index % every_ != 0) {
      last_ = {number, std::move(point)};
      return;
    }
    last_ = {-1, nullptr};
    kept_.emplace_back(number, std::move(point));
    if (kept_.size() <= kMostPoints) return;
    std::size_t to = 0;
    for (std::size_t from = 0; from < kept_.size(); from += 2) {
      if (to != from) kept_[to] = std::move(kept_[from]);
      ++to;
    }
    kept_.resize(to);
    every_ *= 2;
  }

  // The last one too, wherever it stands.
  void MoveTo(std::vector<Numbered>& all) {
    for (Numbered& one : kept_) all.push_back(std::move(one));
    if (last_.first >= 0) all.push_back(std::move(last_));
  }
  std::int64_t every() const { return every_; }

 private:
  std::vector<Numbered> kept_;
  Numbered last_{-1, nullptr};
  std::int64_t count_ = 0;
  std::int64_t every_ = 1;
};

class RowTaker {
 public:
  // Takes the rows of one document. False if `text` is none: what was taken of it is then wrong.
  bool Take(std::string_view text) {
    parts_ = 0;
    list_depth_ = 0;
    was_list_ = false;
    const auto watch = [this](int depth, Event event, Json& value) {
      return Watch(depth, event, value);
    };
    try {
      Json rest = Json::parse(text.begin(), text.end(), watch);
      if (was_list_) return true;
      if (rest.is_discarded()) {
        Skip();
      } else {
        AddRow(std::move(rest));
      }
    } catch (const Json::exception&) {
      return false;
    }
    return true;
  }
  void Skip() { ++skipped_; }
  void SkipUnread() {
    ++skipped_;
    ++unread_;
  }

  RunRows Rows() {
    losses_.MoveTo(rows_);
    held_out_.MoveTo(rows_);
    std::sort(rows_.begin(), rows_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    RunRows all;
    all.skipped = skipped_;
    all.unread = unread_;
    all.every = losses_.every();
    for (auto& [number, row] : rows_) all.rows.push_back(std::move(row));
    return all;
  }

 private:
  // Called for every part that was read; false throws it away.
  bool Watch(int depth, Event event, Json& value) {
    if (depth == 0 && event == Event::array_start) list_depth_ = 1;
    if (depth == 1 && event == Event::key) list_depth_ = value == "traceEvents" ? 2 : 0;
    if (list_depth_ > 0) was_list_ = true;
    const bool fits = depth <= kMostRowDepth && ++parts_ <= kMostParts;
    const bool ends =
        event == Event::object_end || event == Event::array_end || event == Event::value;
    if (list_depth_ == 0 || depth != list_depth_ || !ends) return fits;
    if (fits) {
      AddRow(std::move(value));
    } else {
      Skip();
    }
    parts_ = 0;
    return false;
  }

  void AddRow(Json row) {
    const std::int64_t number = number_++;
    if (row.is_object() && IsPoint(row)) {
      Json point =
          Only(row, {"step", "loss_nats", "held_out_loss_nats", "seconds", "tokens_per_second"});
      const bool held_out = point.contains("held_out_loss_nats");
      (held_out ? held_out_ : losses_).Add(number, std::move(point));
      return;
    }
    if (row.is_object() && row.contains("ph")) {
      // Most are instants, which no page draws.
      if (row["ph"] != "X" && row["ph"] != "M") return;
      Json args = row.contains("args") && row["args"].is_object()
                      ? Only(row["args"], {"name", "bytes", "algorithm"})
                      : Json::object();
      row = Only(row, {"name", "ph", "ts", "dur", "pid", "tid"});
      row["args"] = std::move(args);
      parts_ = 16;
    }
    if (rows_.size() >= kMostRows || kept_parts_ + parts_ > kMostParts) {
      Skip();
      return;
    }
    kept_parts_ += parts_;
    rows_.emplace_back(number, std::move(row));
  }

  std::vector<EvenlyApart::Numbered> rows_;
  EvenlyApart losses_;
  EvenlyApart held_out_;
  std::int64_t number_ = 0;
  std::int64_t skipped_ = 0;
  std::int64_t unread_ = 0;
  std::size_t parts_ = 0;       // of the row that is being read
  std::size_t kept_parts_ = 0;  // of those that are kept
  int list_depth_ = 0;          // above 0: what is so deep is a row
  bool was_list_ = false;
};

}  // namespace

RunRows ReadRows(std::string_view text) {
  RowTaker whole;
  if (whole.Take(text)) return whole.Rows();
  RowTaker lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (!lines.Take(line)) lines.SkipUnread();
  }
  return lines.Rows();
}

}  // namespace chorus::studio
