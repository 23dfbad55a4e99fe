#include "chorus/cost/formula/clock.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <span>
#include <utility>

namespace chorus {
namespace {

using Number = Timetable::Number;

// What happens, in the order of time. Many messages do the same at the same time, so those whose
// time is equal are one entry of a heap.
class Happenings {
 public:
  struct Event {
    Number message = 0;
    std::uint32_t version = 0;
  };

  bool empty() const { return heap_.empty(); }
  double NextTime() const { return heap_.front().first; }

  void Add(double time, Event event) {
    std::int32_t& last = at_[std::bit_cast<std::uint64_t>(time) * 0x9e3779b97f4a7c15u >> 54];
    if (last >= 0 && lists_[last].time == time) return lists_[last].events.push_back(event);
    if (free_.empty()) {
      free_.push_back(static_cast<std::int32_t>(lists_.size()));
      lists_.emplace_back();
    }
    last = free_.back();
    free_.pop_back();
    lists_[last].time = time;
    lists_[last].events.push_back(event);
    heap_.emplace_back(time, last);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  // Moves the events of the earliest time to `events`.
  void TakeNext(std::vector<Event>& events) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const std::int32_t list = heap_.back().second;
    heap_.pop_back();
    events.clear();
    events.swap(lists_[list].events);
    lists_[list].time = -1;
    free_.push_back(list);
  }

 private:
  struct List {
    double time = -1;  // s; negative: free
    std::vector<Event> events;
  };
  std::vector<List> lists_;
  std::vector<std::int32_t> free_;
  std::vector<std::pair<double, std::int32_t>> heap_;                   // time, list
  std::vector<std::int32_t> at_ = std::vector<std::int32_t>(1024, -1);  // the newest list, by time
};

class Clock {
 public:
  Clock(const Timetable& table, double bytes, bool counts_latency, Number count, Moments& moments)
      : table_(table),
        counts_latency_(counts_latency),
        moments_(moments),
        flights_(count),
        ports_(table.ports().size()) {
    for (Number i = 0; i < count; ++i) {
      flights_[i].left = table.messages()[i].part * bytes;
      flights_[i].waits = static_cast<std::int32_t>(table.After(i).size());
      moments.of[i] = {};
    }
    // Of each route one message flows, and one has ended that is still on the list.
    std::int32_t places = 0;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      ports_[i].begin = places;
      places += 2 * table.ports()[i].routes;
    }
    on_ports_.resize(places);
  }

  void Run() {
    for (Number i = 0; i < Count(); ++i) {
      if (flights_[i].waits == 0) Ready(i);
    }
    while (!events_.empty()) {
      now_ = events_.NextTime();
      while (!events_.empty() && events_.NextTime() <= now_ * (1 + kSameMoment)) {
        events_.TakeNext(batch_);
        for (const Happenings::Event event : batch_) {
          if (flights_[event.message].version != event.version) continue;
          if (flights_[event.message].flows) {
            End(event.message);
          } else {
            Start(event.message);
          }
        }
      }
      ShareOut();
    }
  }

 private:
  // A message, as it is at one moment.
  struct Flight {
    std::int32_t waits = 0;     // how many it waits for
    std::uint32_t version = 0;  // of its next event
    double left = 0;            // bytes, when `since` was
    double rate = 0;            // B/s; 0 until its latency is over
    double since = 0;           // s
    double next_rate = -1;      // of a sharing out; negative: none yet
    bool flows = false;
    bool done = false;
  };
  // One that is shared.
  struct Port {
    std::int32_t begin = 0;  // of on_ports_: messages that flow, and that did until this moment
    std::int32_t count = 0;
    double left = 0;        // B/s, of a sharing out
    std::int32_t open = 0;  // messages without a rate
    bool changed = false;
    bool joined = false;
  };

  Number Count() const { return static_cast<Number>(flights_.size()); }
  std::span<const Number> On(const Port& port) const {
    return {on_ports_.data() + port.begin, static_cast<std::size_t>(port.count)};
  }
  double Narrowest(Number number) const { return table_.WayOf(number).link.bandwidth.value(); }

  void Happens(double time, Number message) {
    events_.Add(time, {message, ++flights_[message].version});
  }

  void Change(std::int32_t port) {
    if (ports_[port].changed) return;
    ports_[port].changed = true;
    changed_.push_back(port);
  }

  // It waits for nothing more.
  void Ready(Number number) {
    if (!table_.messages()[number].IsSent()) return Done(number);
    const double latency = counts_latency_ ? table_.WayOf(number).link.latency.value() : 0;
    Happens(now_ + latency, number);
  }

  // Its latency is over.
  void Start(Number number) {
    Flight& flight = flights_[number];
    const Number ahead = table_.messages()[number].ahead;
    if (ahead >= 0 && !flights_[ahead].done) {
      moments_.of[number].queued = true;
      return;
    }
    moments_.of[number].flows = now_;
    if (flight.left == 0) return Done(number);
    flight.flows = true;
    flight.since = now_;
    const std::span<const std::int32_t> shared = table_.SharedPortsOf(number);
    if (shared.empty()) return SetRate(number, Narrowest(number));
    for (const std::int32_t number_of_port : shared) {
      Port& port = ports_[number_of_port];
      on_ports_[port.begin + port.count++] = number;
      Change(number_of_port);
    }
  }

  void End(Number number) {
    flights_[number].flows = false;
    for (const std::int32_t port : table_.SharedPortsOf(number)) Change(port);
    Done(number);
  }

  void Done(Number number) {
    Flight& flight = flights_[number];
    moments_.of[number].ended = now_;
    flight.done = true;
    const Number behind = table_.Behind(number);
    if (behind >= 0 && behind < Count() && moments_.of[behind].queued) {
      moments_.of[behind].last = number;
      Happens(now_, behind);
    }
    for (const Number next : table_.WaitingFor(number)) {
      if (next >= Count()) break;  // they are in order
      if (--flights_[next].waits > 0) continue;
      moments_.of[next].last = number;
      Ready(next);
    }
  }

  // Gives the messages of all changed ports, and of ports joined to them by messages, their rates.
  void ShareOut() {
    for (const std::int32_t number : changed_) {
      Port& port = ports_[number];
      Number* const begin = on_ports_.data() + port.begin;
      Number* const end =
          std::remove_if(begin, begin + port.count, [&](Number m) { return !flights_[m].flows; });
      port.count = static_cast<std::int32_t>(end - begin);
    }
    for (const std::int32_t first : changed_) {
      if (ports_[first].joined || ports_[first].count == 0) continue;
      if (const Number alone = On(ports_[first]).front(); IsAlone(alone)) {
        SetRate(alone, Narrowest(alone));
        continue;
      }
      // All ports that messages join to this one.
      const std::size_t begin = joined_.size();
      joined_.push_back(first);
      ports_[first].joined = true;
      for (std::size_t i = begin; i < joined_.size(); ++i) {
        for (const Number number : On(ports_[joined_[i]])) {
          flights_[number].next_rate = -1;
          for (const std::int32_t port : table_.SharedPortsOf(number)) {
            if (ports_[port].joined) continue;
            ports_[port].joined = true;
            joined_.push_back(port);
          }
        }
      }
      Fill({joined_.data() + begin, joined_.data() + joined_.size()});
    }
    for (const std::int32_t port : joined_) ports_[port].joined = false;
    for (const std::int32_t port : changed_) ports_[port].changed = false;
    joined_.clear();
    changed_.clear();
  }

  // No other is on its ports.
  bool IsAlone(Number number) const {
    const auto ports = table_.SharedPortsOf(number);
    return std::all_of(ports.begin(), ports.end(),
                       [&](std::int32_t port) { return ports_[port].count == 1; });
  }

  // The port with the least share for each of its messages settles them, then the next one: shares
  // of the others only grow meanwhile, so an entry that is out of date is put back. A message that
  // cannot take its share, as another link of its way is too narrow, is settled before the others.
  void Fill(std::span<const std::int32_t> ports) {
    shares_.clear();
    for (const std::int32_t number : ports) {
      Port& port = ports_[number];
      port.left = table_.ports()[number].bandwidth;
      port.open = port.count;
      shares_.emplace_back(port.left / port.open, number);
    }
    std::make_heap(shares_.begin(), shares_.end(), std::greater<>());
    while (!shares_.empty()) {
      std::pop_heap(shares_.begin(), shares_.end(), std::greater<>());
      const auto [share, number] = shares_.back();
      shares_.pop_back();
      Port& port = ports_[number];
      if (port.open == 0) continue;
      const double now = port.left / port.open;
      bool is_least = now <= share * (1 + kSameMoment);
      if (is_least) {
        for (const Number flowing : On(port)) {
          if (flights_[flowing].next_rate >= 0 || Narrowest(flowing) >= share) continue;
          Settle(flowing, Narrowest(flowing));
          is_least = false;
        }
      }
      if (!is_least) {
        if (port.open == 0) continue;
        shares_.emplace_back(port.left / port.open, number);
        std::push_heap(shares_.begin(), shares_.end(), std::greater<>());
        continue;
      }
      for (const Number flowing : On(port)) Settle(flowing, share);
    }
  }

  void Settle(Number number, double share) {
    Flight& flight = flights_[number];
    if (flight.next_rate >= 0) return;
    flight.next_rate = share;
    for (const std::int32_t port : table_.SharedPortsOf(number)) {
      ports_[port].left -= share;
      --ports_[port].open;
    }
    SetRate(number, share);
  }

  void SetRate(Number number, double rate) {
    Flight& flight = flights_[number];
    if (flight.rate == rate) return;
    flight.left = std::max(0.0, flight.left - flight.rate * (now_ - flight.since));
    flight.since = now_;
    flight.rate = rate;
    Happens(now_ + flight.left / rate, number);
  }

  const Timetable& table_;
  const bool counts_latency_;
  Moments& moments_;
  std::vector<Flight> flights_;
  std::vector<Port> ports_;
  std::vector<Number> on_ports_;
  Happenings events_;
  std::vector<Happenings::Event> batch_;
  std::vector<std::int32_t> changed_;
  std::vector<std::int32_t> joined_;
  std::vector<std::pair<double, std::int32_t>> shares_;  // a heap
  double now_ = 0;
};

}  // namespace

void ByEvents(const Timetable& table, double bytes, bool counts_latency, Number count,
              Moments& moments) {
  Clock(table, bytes, counts_latency, count, moments).Run();
}

}  // namespace chorus
