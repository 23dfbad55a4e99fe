// Moments: when each message of a timetable ends, for one size.
//
// Links (here: ports) carry what is on them at once in even shares (max-min fair); what one rank
// sends to one other flows one after the other, in the order in which it was named, and a message's
// latency may pass while the one before it flows.
//
// Where no two messages are on a port at once each flows at the pace of its narrowest link, and one
// pass over the list tells all. So that is tried first, and what it says is checked port by port.
// Where messages do meet, those up to the last one that meets another are worked out event by event
// (clock.h), and the pass goes on behind them. Thread safety: pure.
#pragma once

#include <vector>

#include "chorus/cost/formula/timetable.h"

namespace chorus {

inline constexpr double kSameMoment = 1e-13;  // times that differ by less, relatively, are one

struct Moment {
  double flows = 0;                              // s: its first byte is under way
  double ended = 0;                              // s
  Timetable::Number last = Timetable::kNothing;  // what it waited for longest
  bool queued = false;  // that was the message ahead: its latency was over before
};

struct Moments {
  std::vector<Moment> of;
  Timetable::Number last = Timetable::kNothing;  // the message that ends last
  double End() const { return last < 0 ? 0 : of[last].ended; }
};

Moments MomentsOf(const Timetable& table, double bytes, bool counts_latency);

}  // namespace chorus
