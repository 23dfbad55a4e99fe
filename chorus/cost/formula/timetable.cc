#include "chorus/cost/formula/timetable.h"

#include <fmt/format.h>

#include <algorithm>

#include "chorus/cost/formula/phases.h"

namespace chorus {
namespace {

constexpr std::size_t kMostMessages = std::size_t{1} << 18;
constexpr double kRounding = 1e-13;  // times that differ by less are one

}  // namespace

Timetable::Timetable(const Wiring& wiring, const Question& question)
    : latency_(question.hides_latency ? 0 : wiring.RingLink().latency.value()),
      bandwidth_(wiring.RingLink().bandwidth.value()),
      apart_(wiring.fabric == Fabric::kMesh && wiring.nodes == 1),
      wiring_(wiring),
      question_(question) {}

std::int32_t Timetable::PortFor(std::uint64_t key) {
  const auto [found, is_new] = port_of_.emplace(key, static_cast<std::int32_t>(ports_.size()));
  if (is_new) ports_.emplace_back();
  return found->second;
}

Timetable::Number Timetable::Send(std::int64_t from, std::int64_t to, double bytes,
                                  const std::vector<Number>& after) {
  const auto number = static_cast<Number>(messages_.size());
  // Too many: only counted, for the error.
  Message& message = messages_.emplace_back();
  if (messages_.size() > kMostMessages) return number;
  const auto sender = static_cast<std::uint64_t>(from), receiver = static_cast<std::uint64_t>(to);
  if (apart_) {
    message.ports = {PortFor(sender << 32 | receiver)};
  } else {
    message.ports = {PortFor(2 * sender), PortFor(2 * receiver + 1)};
  }
  message.left = bytes;
  message.waits = static_cast<std::int32_t>(after.size());
  for (const Number other : after) messages_[other].before.push_back(number);
  return number;
}

void Timetable::Happens(double time, Number message) {
  events_.push({time, message, ++messages_[message].version});
}

void Timetable::Change(std::int32_t port) {
  if (ports_[port].changed) return;
  ports_[port].changed = true;
  changed_.push_back(port);
}

// Its latency is over.
void Timetable::Starts(Number number) {
  Message& message = messages_[number];
  if (message.left == 0) return Ends(number);
  message.flows = true;
  message.since = now_;
  for (const std::int32_t port : message.ports) {
    ports_[port].messages.push_back(number);
    Change(port);
  }
}

void Timetable::Ends(Number number) {
  if (messages_[number].flows) {
    for (const std::int32_t port : messages_[number].ports) {
      std::vector<Number>& there = ports_[port].messages;
      there.erase(std::find(there.begin(), there.end(), number));
      Change(port);
    }
  }
  last_ = number;
  finish_ = now_;
  for (const Number next : messages_[number].before) {
    if (--messages_[next].waits > 0) continue;
    messages_[next].last = number;
    Happens(now_ + latency_, next);
  }
}

void Timetable::ShareOut() {
  std::vector<std::int32_t> all, ports;
  for (const std::int32_t first : changed_) {
    if (ports_[first].joined || ports_[first].messages.empty()) continue;
    // All ports that messages join to this one.
    ports.assign(1, first);
    ports_[first].joined = true;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      for (const Number number : ports_[ports[i]].messages) {
        messages_[number].next_rate = -1;
        for (const std::int32_t port : messages_[number].ports) {
          if (ports_[port].joined) continue;
          ports_[port].joined = true;
          ports.push_back(port);
        }
      }
    }
    Fill(ports);
    all.insert(all.end(), ports.begin(), ports.end());
  }
  for (const std::int32_t port : all) ports_[port].joined = false;
  for (const std::int32_t port : changed_) ports_[port].changed = false;
  changed_.clear();
}

// The port with the least share for each of its messages settles them, then the next one: shares of
// the others only grow meanwhile, so an entry that is out of date is put back.
void Timetable::Fill(const std::vector<std::int32_t>& ports) {
  using Entry = std::pair<double, std::int32_t>;  // share, port
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> least;
  for (const std::int32_t port : ports) {
    ports_[port].left = bandwidth_;
    ports_[port].open = static_cast<std::int32_t>(ports_[port].messages.size());
    least.emplace(bandwidth_ / ports_[port].open, port);
  }
  while (!least.empty()) {
    const auto [share, number] = least.top();
    least.pop();
    Port& port = ports_[number];
    if (port.open == 0) continue;
    const double now = port.left / port.open;
    if (now > share * (1 + kRounding)) {
      least.emplace(now, number);
      continue;
    }
    for (const Number flowing : port.messages) {
      Message& message = messages_[flowing];
      if (message.next_rate >= 0) continue;
      message.next_rate = share;
      for (const std::int32_t other : message.ports) {
        ports_[other].left -= share;
        --ports_[other].open;
      }
      if (message.rate == share) continue;
      message.left = std::max(0.0, message.left - message.rate * (now_ - message.since));
      message.since = now_;
      message.rate = share;
      Happens(now_ + message.left / share, flowing);
    }
  }
}

Result<Phases> Timetable::Longest(std::string_view algorithm) {
  if (messages_.size() > kMostMessages) {
    return Unsupported(
        fmt::format("{} of {} ranks has {} messages that overlap, more than the {} of a formula; "
                    "chorus simulate works it out",
                    algorithm, wiring_.ranks, messages_.size(), kMostMessages));
  }
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].waits == 0) Happens(latency_, static_cast<Number>(i));
  }
  while (!events_.empty()) {
    now_ = events_.top().time;
    while (!events_.empty() && events_.top().time <= now_ * (1 + kRounding)) {
      const Event event = events_.top();
      events_.pop();
      if (messages_[event.message].version != event.version) continue;
      if (messages_[event.message].flows) {
        Ends(event.message);
      } else {
        Starts(event.message);
      }
    }
    ShareOut();
  }
  double rounds = 0;
  for (Number number = last_; number >= 0; number = messages_[number].last) ++rounds;
  if (rounds == 0) return Phases{};
  const double bytes = std::max(0.0, finish_ - rounds * latency_) * bandwidth_;  // along the chain
  const double part = question_.bytes == 0 ? 0 : bytes / question_.bytes;
  Phase phase = OverRing(wiring_, fmt::format("{:.4g}", part), rounds, bytes / rounds);
  phase.link = "along the longest chain of messages";
  return Phases{{std::move(phase)}};
}

}  // namespace chorus
