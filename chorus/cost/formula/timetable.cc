#include "chorus/cost/formula/timetable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chorus {
namespace {

constexpr std::int64_t kMostMessages = std::int64_t{1} << 18;
constexpr double kRounding = 1e-13;  // times that differ by less are one

}  // namespace

Timetable::Timetable(const Wiring& wiring, const Question& question)
    : wiring_(wiring), question_(question), topology_(wiring.AsTopology()) {}

std::int64_t Timetable::Period() const {
  if (!topology_.ok() || topology_->device_count() != wiring_.ranks) return wiring_.ranks;
  for (std::int64_t shift = 1; shift < wiring_.ranks; ++shift) {
    if (wiring_.ranks % shift == 0 && topology_->IsSymmetric(shift)) return shift;
  }
  return wiring_.ranks;
}

void Timetable::Fold() {
  if (const std::int64_t period = Period(); period < wiring_.ranks) period_ = period;
}

Status Timetable::Allows(std::string_view algorithm, std::int64_t messages) const {
  if (messages <= kMostMessages) return OkStatus();
  return Unsupported(
      fmt::format("{} of {} ranks has {} messages that overlap, more than the {} of a formula; "
                  "chorus simulate works it out",
                  algorithm, wiring_.ranks, messages, kMostMessages));
}

double Timetable::LatencyOf(const Message& message) const {
  return counts_latency_ ? routes_[message.route].way.link.latency.value() : 0;
}

std::int32_t Timetable::PortFor(LinkId link) {
  if (period_ > 0) link = topology_->Representative(link, period_);
  const auto [found, is_new] = port_of_.emplace(link, static_cast<std::int32_t>(ports_.size()));
  if (is_new) ports_.emplace_back().bandwidth = topology_->Link(link).bandwidth.value();
  return found->second;
}

std::int32_t Timetable::RouteFor(std::int64_t from, std::int64_t to) {
  const std::uint64_t key = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to);
  const auto [found, is_new] = route_of_.emplace(key, static_cast<std::int32_t>(routes_.size()));
  if (!is_new) return found->second;
  std::vector<LinkId> links;
  topology_->AppendRoute(from, to, links);
  Route& route = routes_.emplace_back();
  for (const LinkId link : links) route.ports.push_back(PortFor(link));
  route.way = WayBetween(*topology_, from, to);
  return found->second;
}

Timetable::Number Timetable::Send(std::int64_t from, std::int64_t to, double bytes,
                                  const std::vector<Number>& after) {
  // Too many: only counted, for the error.
  if (++asked_ > kMostMessages || !topology_.ok()) return 0;
  const auto number = static_cast<Number>(messages_.size());
  Message& message = messages_.emplace_back();
  message.route = RouteFor(from, to);
  message.left = bytes;
  message.ahead = std::exchange(routes_[message.route].newest, number);
  if (message.ahead >= 0) messages_[message.ahead].behind = number;
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
  if (message.ahead >= 0 && !messages_[message.ahead].done) {
    message.queues = true;
    return;
  }
  if (message.left == 0 || !counts_bytes_) return Ends(number);
  message.flows = true;
  message.since = now_;
  for (const std::int32_t port : PortsOf(number)) {
    ports_[port].messages.push_back(number);
    Change(port);
  }
}

void Timetable::Ends(Number number) {
  if (messages_[number].flows) {
    for (const std::int32_t port : PortsOf(number)) {
      std::vector<Number>& there = ports_[port].messages;
      there.erase(std::find(there.begin(), there.end(), number));
      Change(port);
    }
  }
  last_ = number;
  messages_[number].ended = now_;
  messages_[number].done = true;
  if (const Number behind = messages_[number].behind; behind >= 0 && messages_[behind].queues) {
    messages_[behind].last = number;
    Happens(now_, behind);
  }
  for (const Number next : messages_[number].before) {
    if (--messages_[next].waits > 0) continue;
    messages_[next].last = number;
    Happens(now_ + LatencyOf(messages_[next]), next);
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
        for (const std::int32_t port : PortsOf(number)) {
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
    ports_[port].left = ports_[port].bandwidth;
    ports_[port].open = static_cast<std::int32_t>(ports_[port].messages.size());
    least.emplace(ports_[port].left / ports_[port].open, port);
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
      for (const std::int32_t other : PortsOf(flowing)) {
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

double Timetable::WorkOut() {
  now_ = 0;
  last_ = -1;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (messages_[i].waits == 0) Happens(LatencyOf(messages_[i]), static_cast<Number>(i));
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
  return last_ < 0 ? 0 : messages_[last_].ended;  // events that are out of date may come later
}

Result<Phases> Timetable::Longest(std::string_view algorithm) {
  if (!topology_.ok()) return topology_.status();
  CHORUS_RETURN_IF_ERROR(Allows(algorithm, asked_));
  if (!question_.hides_latency) {
    WorkOut();
    return Chain();
  }
  const std::vector<Message> as_asked = messages_;
  counts_bytes_ = false;
  const double latencies = WorkOut();
  const Phases waits = Chain();
  messages_ = as_asked;
  counts_bytes_ = true;
  counts_latency_ = false;
  return latencies >= WorkOut() ? waits : Chain();
}

// Backwards from the message that ended last.
Phases Timetable::Chain() const {
  struct Kind {
    Way way;
    double rounds = 0;
    double flows = 0;  // s
  };
  std::vector<Kind> kinds;
  for (Number number = last_; number >= 0; number = messages_[number].last) {
    const Message& message = messages_[number];
    const Way& way = routes_[message.route].way;
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const Kind& other) { return other.way == way; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {way});
    const double began = message.last < 0 ? 0 : messages_[message.last].ended;
    double flows = message.ended - began;
    if (!message.queues) {
      kind->rounds += 1;
      flows -= LatencyOf(message);
    }
    if (flows > kRounding * message.ended) kind->flows += flows;
  }
  Phases phases;
  for (const Kind& kind : kinds) {
    const double bytes = kind.flows * kind.way.link.bandwidth.value();
    const double part = question_.bytes == 0 ? 0 : bytes / question_.bytes;
    Phase phase = OverWay(kind.way, fmt::format("{:.4g}", part), kind.rounds, bytes / kind.rounds);
    if (!counts_latency_) phase.latency = Seconds(0);
    phase.link = "along the longest chain of messages";
    if (kind.way.between_nodes && wiring_.node_size > 1) {
      phase.link += ", between nodes";
    } else if (wiring_.fabric == Fabric::kTorus && kind.way.links > 1) {
      phase.link += fmt::format(", {} links each", kind.way.links);
    } else if (kinds.size() > 1 && wiring_.nodes > 1) {
      phase.link += ", inside";
    }
    phases.phases.push_back(std::move(phase));
  }
  return phases;
}

void SignalAll(Timetable& table, const Wiring& w, std::vector<Timetable::Numbers> came) {
  for (std::int64_t k = 0; k < CeilLog2(w.ranks); ++k) {
    std::vector<Timetable::Numbers> next = came;
    for (std::int64_t r = 0; r < w.ranks; ++r) {
      const std::int64_t to = (r + (std::int64_t{1} << k)) % w.ranks;
      next[to].push_back(table.Send(r, to, 0, came[r]));
    }
    came = std::move(next);
  }
}

}  // namespace chorus
