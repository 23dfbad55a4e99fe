// Timetable: when messages that overlap end, worked out message by message.
//
// Most formulas are rounds that follow each other. Where the messages of several rounds or trees
// share a port at irregular moments there is no shorter form than the list of messages: who sends
// what part of V to whom, after which. The list is made once; when each message ends is worked out
// from it for every V (moments.h), and the chain of messages that decides when the last one ends
// becomes Phases, one for each kind of way that its messages take.
//
//   0 -> 1, then 1 -> 2, V each, while 3 -> 2 has 2 V       port into 2:  ____3332222 3
//   latency L = 0: 3 -> 2 alone until V/W, then both at W/2: 1 -> 2 needs 2 V/W, all end at 3 V/W
//
// It is no simulation of a Schedule: the formulas name their messages themselves, and a test
// compares the two. Thread safety: a value; At may be called by several threads at once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "chorus/cost/formula/dense_index.h"
#include "chorus/cost/formula/phases.h"

namespace chorus {

struct Moments;

class Timetable {
 public:
  using Number = std::int32_t;  // of a message, in the order in which they were added
  using Numbers = std::vector<Number>;
  static constexpr Number kNothing = -1;  // in place of a message: nothing is waited for

  explicit Timetable(const Wiring& wiring);

  // Where all ranks do alike: names the messages of ranks 0 .. returned - 1 only; each then stands
  // for those of all ranks s, 2s, ... further, cyclically, where s is the least shift that leaves
  // the machine as it is and is a multiple of `least`. All ranks if there is none. Call it before
  // the first message.
  std::int64_t FoldByShifts(std::int64_t least = 1);
  // The same where ranks pair by the bits of their numbers: each stands for all ranks whose number
  // differs by a multiple of s in those bits. All ranks unless there are 2^n.
  std::int64_t FoldByBits();

  // OkStatus if so many messages can be listed and worked out in a fraction of a second. Errors:
  // kUnsupported, naming `algorithm`.
  Status Allows(std::string_view algorithm, std::int64_t messages);

  // A message of `part` of V that begins when all of `after` have ended. REQUIRES: members of
  // `after` were added before it; ranks of a folded table as FoldBy... says, `to` any rank.
  Number Send(std::int64_t from, std::int64_t to, double part, std::span<const Number> after);
  Number Send(std::int64_t from, std::int64_t to, double part,
              std::initializer_list<Number> after) {
    return Send(from, to, part, std::span<const Number>(after.begin(), after.size()));
  }
  // Stands for all of them, where many messages wait for the same. REQUIRES: as Send.
  Number All(std::span<const Number> messages);
  Number All(std::initializer_list<Number> messages) {
    return All(std::span<const Number>(messages.begin(), messages.size()));
  }

  // Of V = `bytes`: the longest chain of messages, as phases of as many rounds. Where latency hides
  // behind bytes (model max): the longer of the longest chain of latencies alone and that of bytes
  // alone. REQUIRES: Made() is ok.
  Phases At(double bytes, bool hides_latency) const;
  // Errors: as Allows, of the messages that were added; a machine that is none.
  Status Made(std::string_view algorithm) const { return Fits(algorithm, asked_); }

  // After the last message: what has to be known of all of them.
  void Close();

  // What is below is for moments.h. REQUIRES: closed.
  struct Message {
    double part = 0;               // of V
    Number ahead = kNothing;       // the message before it from the same rank to the same
    std::int32_t after_end = 0;    // of after_
    std::int32_t ports_begin = 0;  // of route_ports_
    std::int32_t ports_end = 0;    // the same: it is no message, but stands for others
    std::int32_t shared_end = 0;   // those before are shared
    std::int32_t way = 0;          // of ways_
    bool IsSent() const { return ports_begin < ports_end; }
  };
  struct Port {
    double bandwidth = 0;  // B/s
    // That take it, one of a folded table perhaps twice. Only where there are several may messages
    // be on it at once: those of one route follow each other.
    std::int32_t routes = 0;
    bool IsShared() const { return routes > 1; }
  };
  const std::vector<Message>& messages() const { return messages_; }
  const std::vector<Port>& ports() const { return ports_; }
  std::span<const Number> After(Number number) const {
    const std::int32_t begin = number == 0 ? 0 : messages_[number - 1].after_end;
    return {after_.data() + begin, after_.data() + messages_[number].after_end};
  }
  // The shared ones of its ports, and after Close what waits for it and what is behind it on its
  // route; kNothing if nothing is.
  std::span<const std::int32_t> SharedPortsOf(Number number) const {
    const Message& message = messages_[number];
    return {route_ports_.data() + message.ports_begin, route_ports_.data() + message.shared_end};
  }
  std::span<const Number> WaitingFor(Number number) const {
    return {waiting_.data() + waiting_begin_[number], waiting_.data() + waiting_begin_[number + 1]};
  }
  Number Behind(Number number) const { return behind_[number]; }
  // REQUIRES: the message is sent.
  const Way& WayOf(Number number) const { return ways_[messages_[number].way]; }

 private:
  struct Route {
    std::int32_t ports_begin = 0;  // of route_ports_
    std::int32_t ports_end = 0;
    std::int32_t way = 0;
    Number newest = kNothing;  // the message added last
  };
  std::int64_t LeastShift() const;
  Status Fits(std::string_view algorithm, std::int64_t messages) const;
  Number Add(Message message, std::span<const Number> after);
  std::int32_t PortFor(LinkId link);
  Phases ChainOf(const Moments& moments, double bytes, bool counts_latency) const;
  std::int32_t RouteFor(std::int64_t from, std::int64_t to);

  std::int64_t ranks_;
  std::int64_t node_size_;
  std::int64_t nodes_;
  Fabric fabric_;
  Result<Topology> topology_;
  std::int64_t period_ = 0;  // 0: not folded
  std::int64_t asked_ = 0;   // messages, also those that are too many
  std::vector<Message> messages_;
  std::vector<Number> after_;
  std::vector<Number> waiting_;              // the other way round, by what they wait for
  std::vector<std::int32_t> waiting_begin_;  // of waiting_; one more for the end
  std::vector<Number> behind_;
  std::vector<Route> routes_;
  std::vector<std::int32_t> route_ports_;
  std::vector<Way> ways_;
  std::vector<Port> ports_;
  DenseIndex port_of_;
  DenseIndex route_of_;
  std::vector<LinkId> links_;  // of one route, kept for its memory
};

// What a formula returns of a table that is complete. Errors: as Timetable::Made.
Result<Phases> Listed(Timetable table, std::string_view algorithm);

// Adds the rounds of a dissemination barrier: in round k rank r signals r + 2^k, when all that it
// waits for has come, at first `came[r]`, for r of all ranks that are named.
void SignalAll(Timetable& table, const Wiring& wiring, Timetable::Numbers came);

}  // namespace chorus
