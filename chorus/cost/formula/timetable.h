// Timetable: when messages that overlap end, worked out message by message.
//
// Most formulas are rounds that follow each other. Where the messages of several rounds or trees
// share a port at irregular moments there is no shorter form than the list of messages: who sends
// what to whom, after which. Links (here: ports) carry what is on them at once in even shares
// (max-min fair); what one rank sends to one other flows one after the other, in the order in which
// it was named, and a message's latency may pass while the one before it flows. The chain of
// messages that decides when the last one ends becomes Phases, one for each kind of way that its
// messages take.
//
//   0 -> 1, then 1 -> 2, V each, while 3 -> 2 has 2 V       port into 2:  ____3332222 3
//   latency L = 0: 3 -> 2 alone until V/W, then both at W/2: 1 -> 2 needs 2 V/W, all end at 3 V/W
//
// It is no simulation of a Schedule: the formulas name their messages themselves, and a test
// compares the two. Thread safety: none.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "chorus/cost/formula/phases.h"

namespace chorus {

class Timetable {
 public:
  using Number = std::int32_t;  // of a message, in the order in which they were added
  using Numbers = std::vector<Number>;

  // Both outlive it.
  Timetable(const Wiring& wiring, const Question& question);

  // The least s such that moving every rank by s, cyclically, leaves the machine as it is. A
  // formula that is alike for all ranks may name the messages of ranks 0 .. s - 1 only, if it
  // folds: each then stands for those of all ranks s, 2s, ... further. Else all ranks.
  std::int64_t Period() const;
  void Fold();

  // OkStatus if so many messages can be worked out in about a second. Errors: kUnsupported, naming
  // `algorithm`.
  Status Allows(std::string_view algorithm, std::int64_t messages) const;

  // A message of `bytes` that begins when all of `after` have ended. REQUIRES: members of `after`
  // were added before it.
  Number Send(std::int64_t from, std::int64_t to, double bytes, const std::vector<Number>& after);

  // The longest chain of messages, as phases of as many rounds. Where latency hides behind bytes
  // (model max): the longer of the longest chain of latencies alone and that of bytes alone.
  // Errors: as Allows; a machine that is none. Call it once.
  Result<Phases> Longest(std::string_view algorithm);

 private:
  struct Route {
    std::vector<std::int32_t> ports;
    Way way;
    Number newest = -1;  // the message added last
  };
  struct Message {
    std::int32_t route = 0;      // of routes_
    std::vector<Number> before;  // messages that wait for it
    std::int32_t waits = 0;      // how many it waits for
    Number last = -1;            // the one of them that ended last, or what it queued behind
    Number ahead = -1;           // the message before it from the same rank to the same
    Number behind = -1;          // the one after it
    double left = 0;             // bytes, when `since` was
    double rate = 0;             // B/s; 0 until its latency is over
    double since = 0;            // s
    double next_rate = -1;       // of a sharing out; negative: none yet
    double ended = 0;            // s
    std::uint32_t version = 0;   // of its next event
    bool queues = false;         // its latency was over before the message ahead had ended
    bool flows = false;
    bool done = false;
  };
  struct Port {
    double bandwidth = 0;          // B/s
    std::vector<Number> messages;  // that flow
    double left = 0;               // B/s, of a sharing out
    std::int32_t open = 0;         // messages without a rate
    bool changed = false;
    bool joined = false;
  };
  struct Event {
    double time = 0;  // s
    Number message = 0;
    std::uint32_t version = 0;
    bool operator>(const Event& other) const { return time > other.time; }
  };

  const std::vector<std::int32_t>& PortsOf(Number message) const {
    return routes_[messages_[message].route].ports;
  }
  double LatencyOf(const Message& message) const;
  std::int32_t PortFor(LinkId link);
  std::int32_t RouteFor(std::int64_t from, std::int64_t to);
  void Happens(double time, Number message);
  void Starts(Number number);
  void Ends(Number number);
  void Change(std::int32_t port);
  // Gives the messages of all changed ports, and of ports joined to them by messages, their rates.
  void ShareOut();
  void Fill(const std::vector<std::int32_t>& ports);
  // Works all messages out and returns when the last one ends.
  double WorkOut();
  Phases Chain() const;

  const Wiring& wiring_;
  const Question& question_;
  const Result<Topology> topology_;
  std::int64_t period_ = 0;  // 0: not folded
  std::int64_t asked_ = 0;   // messages, also those that are too many
  std::vector<Message> messages_;
  std::vector<Route> routes_;
  std::vector<Port> ports_;
  std::unordered_map<LinkId, std::int32_t> port_of_;
  std::unordered_map<std::uint64_t, std::int32_t> route_of_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::int32_t> changed_;
  double now_ = 0;
  Number last_ = -1;  // the message that ended last
  bool counts_latency_ = true;
  bool counts_bytes_ = true;
};

// Adds the rounds of a dissemination barrier: in round k rank r signals r + 2^k, when all that it
// waits for has come, at first `came[r]`.
void SignalAll(Timetable& table, const Wiring& wiring, std::vector<Timetable::Numbers> came);

inline void Append(Timetable::Numbers& to, const Timetable::Numbers& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace chorus
