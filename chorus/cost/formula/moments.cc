#include "chorus/cost/formula/moments.h"

#include <algorithm>

#include "chorus/cost/formula/clock.h"

namespace chorus {
namespace {

using Number = Timetable::Number;

// Whether a message's flow begins while another's is on one of its ports; ports of one route only
// are left out, since there messages queue.
class Meetings {
 public:
  explicit Meetings(const Timetable& table) : table_(table), busy_(table.ports().size()) {}

  // True if the message meets one that was added before. Messages are added in any order of time:
  // all that a port remembers is when the first began and the last ended, so one in between counts
  // as met.
  bool Add(Number number, const Moment& moment) {
    if (moment.ended <= moment.flows) return false;
    bool meets = false;
    for (const std::int32_t port : table_.SharedPortsOf(number)) {
      Busy& busy = busy_[port];
      if (busy.end == 0) {
        busy = {moment.flows, moment.ended};
      } else if (moment.flows >= busy.end * (1 - kSameMoment)) {
        busy.end = moment.ended;
      } else if (moment.ended <= busy.begin * (1 + kSameMoment)) {
        busy.begin = moment.flows;
      } else {
        meets = true;
        busy = {std::min(busy.begin, moment.flows), std::max(busy.end, moment.ended)};
      }
    }
    return meets;
  }

 private:
  struct Busy {
    double begin = 0;
    double end = 0;  // 0: nothing yet
  };
  const Timetable& table_;
  std::vector<Busy> busy_;
};

// Messages from `begin` on as if each had its ports for itself. Returns one past the last that
// meets another, `begin` if none does.
Number InOrder(const Timetable& table, double bytes, bool counts_latency, Number begin,
               Moments& moments) {
  Meetings meetings(table);
  for (Number i = 0; i < begin; ++i) {
    if (table.messages()[i].IsSent()) meetings.Add(i, moments.of[i]);
  }
  Number met = begin;
  const auto count = static_cast<Number>(table.messages().size());
  for (Number i = begin; i < count; ++i) {
    const Timetable::Message& message = table.messages()[i];
    Moment moment;
    for (const Number other : table.After(i)) {
      const double ended = moments.of[other].ended;
      if (moment.last < 0 || ended > moment.ended * (1 + kSameMoment)) moment.last = other;
      moment.ended = std::max(moment.ended, ended);
    }
    if (message.IsSent()) {
      const LinkSpec& link = table.WayOf(i).link;
      moment.flows = moment.ended + (counts_latency ? link.latency.value() : 0);
      if (message.ahead >= 0) {
        const double free = moments.of[message.ahead].ended;
        if (free > moment.flows * (1 + kSameMoment)) {
          moment.flows = free;
          moment.last = message.ahead;
          moment.queued = true;
        }
      }
      moment.ended = moment.flows + message.part * bytes / link.bandwidth.value();
      if (meetings.Add(i, moment)) met = i + 1;
    }
    moments.of[i] = moment;
  }
  return met;
}

}  // namespace

Moments MomentsOf(const Timetable& table, double bytes, bool counts_latency) {
  const auto count = static_cast<Number>(table.messages().size());
  Moments moments;
  moments.of.resize(count);
  Number begin = 0;
  for (int tries = 0; begin < count; ++tries) {
    const Number met = InOrder(table, bytes, counts_latency, begin, moments);
    if (met == begin) break;
    begin = met > count / 4 || tries == 2 ? count : met;
    ByEvents(table, bytes, counts_latency, begin, moments);
  }
  for (Number i = 0; i < count; ++i) {
    if (moments.last < 0 || moments.of[i].ended > moments.End()) moments.last = i;
  }
  return moments;
}

}  // namespace chorus
