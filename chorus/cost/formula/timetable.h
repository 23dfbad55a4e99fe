// Timetable: when messages that overlap end, worked out message by message.
//
// Most formulas are rounds that follow each other. Where the messages of several rounds or trees
// share a port at irregular moments there is no shorter form than the list of messages: who sends
// what to whom, after which. A port carries what is on it at once in even shares (max-min fair); a
// mesh has a port for every ordered pair of ranks. The chain of messages that decides when the
// last one ends becomes one Phase.
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

#include "chorus/cost/formula/formula.h"

namespace chorus {

class Timetable {
 public:
  using Number = std::int32_t;  // of a message, in the order in which they were added
  using Numbers = std::vector<Number>;

  // REQUIRES: all ranks in one node, or one a node; no torus (NeedsOneLevel). Both outlive it.
  Timetable(const Wiring& wiring, const Question& question);

  // A message of `bytes` that begins when all of `after` have ended. REQUIRES: members of `after`
  // were added before it.
  Number Send(std::int64_t from, std::int64_t to, double bytes, const std::vector<Number>& after);

  // The longest chain of messages, as a phase of as many rounds. Errors: kUnsupported, naming
  // `algorithm`, for more messages than can be worked out in about a second. Call it once.
  Result<Phases> Longest(std::string_view algorithm);

 private:
  struct Message {
    std::vector<std::int32_t> ports;  // one or two
    std::vector<Number> before;       // messages that wait for it
    std::int32_t waits = 0;           // how many it waits for
    Number last = -1;                 // the one of them that ended last
    double left = 0;                  // bytes, when `since` was
    double rate = 0;                  // B/s; 0 until its latency is over
    double since = 0;                 // s
    double next_rate = -1;            // of a sharing out; negative: none yet
    std::uint32_t version = 0;        // of its next event
    bool flows = false;
  };
  struct Port {
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

  std::int32_t PortFor(std::uint64_t key);
  void Happens(double time, Number message);
  void Starts(Number number);
  void Ends(Number number);
  void Change(std::int32_t port);
  // Gives the messages of all changed ports, and of ports joined to them by messages, their rates.
  void ShareOut();
  void Fill(const std::vector<std::int32_t>& ports);

  double latency_;    // s; 0 where it hides
  double bandwidth_;  // B/s, of a port
  bool apart_;        // each ordered pair of ranks has a port
  const Wiring& wiring_;
  const Question& question_;
  std::vector<Message> messages_;
  std::vector<Port> ports_;
  std::unordered_map<std::uint64_t, std::int32_t> port_of_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::int32_t> changed_;
  double now_ = 0;
  Number last_ = -1;   // the message that ended last
  double finish_ = 0;  // when it did, s
};

inline void Append(Timetable::Numbers& to, const Timetable::Numbers& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace chorus
