// Agenda: what will happen, by time. Things of one time are handed out together.
//
// Many ranks do the same thing at the same time, so there are far fewer times than events: a tree
// of times with a list each is faster than a heap of events. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace chorus {

struct Event {
  enum class Kind : std::uint8_t {
    kLatencyIsOver,  // the latency of a message is over
    kArrives,        // a flow ends, if its rate is still the one this was worked out with
    kLocalEnds,      // a reduce or copy ends
    kStarts,         // a call begins
  };
  Kind kind = Kind::kLatencyIsOver;
  std::uint32_t version = 0;  // of the flow, of kArrives
  std::int64_t what = 0;      // a step, a flow or a call
};

class Agenda {
 public:
  bool empty() const { return times_.empty(); }

  void Add(double time, Event event) {
    if (last_ == times_.end() || last_->first != time) last_ = times_.try_emplace(time).first;
    last_->second.push_back(event);
  }

  // Moves all events of the first time, and of times that differ from it by rounding only, into
  // `events`, and returns that time. REQUIRES: !empty().
  double TakeFirst(std::vector<Event>& events) {
    // Ten thousand times the rounding of one addition, and far below anything that is asked for.
    constexpr double kRounding = 1e-13;
    events.clear();
    const double now = times_.begin()->first;
    const double same = now + now * kRounding;
    while (!times_.empty() && times_.begin()->first <= same) {
      std::vector<Event>& list = times_.begin()->second;
      if (events.empty()) {
        events.swap(list);
      } else {
        events.insert(events.end(), list.begin(), list.end());
      }
      times_.erase(times_.begin());
    }
    last_ = times_.end();
    return now;
  }

 private:
  using Times = std::map<double, std::vector<Event>>;
  Times times_;
  Times::iterator last_ = times_.end();  // where the last event was added
};

}  // namespace chorus
