#include "chorus/cost/formula/timetable.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "chorus/cost/formula/moments.h"

namespace chorus {
namespace {

constexpr std::int64_t kMostMessages = std::int64_t{1} << 18;

bool IsPowerOfTwo(std::int64_t n) { return (n & (n - 1)) == 0; }

}  // namespace

Timetable::Timetable(const Wiring& wiring)
    : ranks_(wiring.ranks),
      node_size_(wiring.node_size),
      nodes_(wiring.nodes),
      fabric_(wiring.fabric),
      topology_(wiring.AsTopology()) {}

std::int64_t Timetable::LeastShift() const {
  if (!topology_.ok() || topology_->device_count() != ranks_) return ranks_;
  for (std::int64_t shift = 1; 2 * shift <= ranks_; ++shift) {
    if (ranks_ % shift == 0 && topology_->IsSymmetric(shift)) return shift;
  }
  return ranks_;
}

std::int64_t Timetable::FoldByShifts(std::int64_t least) {
  // Twice a shift that leaves the machine as it is does so too.
  const std::int64_t shift = std::lcm(LeastShift(), least);
  if (shift >= ranks_ || ranks_ % shift != 0) return ranks_;
  return period_ = shift;
}

// An exchange of whole nodes, or leaf switches, leaves the machine as it is, also where it is by
// bits of their number.
std::int64_t Timetable::FoldByBits() {
  const std::int64_t shift = LeastShift();
  const bool by_nodes = nodes_ > 1 && shift % node_size_ == 0;
  if (shift >= ranks_ || !by_nodes || !IsPowerOfTwo(shift) || !IsPowerOfTwo(ranks_)) return ranks_;
  return period_ = shift;
}

Status Timetable::Allows(std::string_view algorithm, std::int64_t messages) {
  CHORUS_RETURN_IF_ERROR(Fits(algorithm, messages));
  messages_.reserve(messages);
  after_.reserve(2 * messages);
  routes_.reserve(messages);
  route_ports_.reserve(2 * messages);
  return OkStatus();
}

Status Timetable::Fits(std::string_view algorithm, std::int64_t messages) const {
  CHORUS_RETURN_IF_ERROR(topology_.status());
  if (messages <= kMostMessages) return OkStatus();
  return Unsupported(
      fmt::format("{} of {} ranks has {} messages that overlap, more than the {} of a formula; "
                  "chorus simulate works it out",
                  algorithm, ranks_, messages, kMostMessages));
}

std::int32_t Timetable::PortFor(LinkId link) {
  if (period_ > 0) link = topology_->Representative(link, period_);
  const auto [number, is_new] = port_of_.Of(static_cast<std::uint64_t>(link));
  if (is_new) ports_.push_back({topology_->Link(link).bandwidth.value()});
  ++ports_[number].routes;
  return number;
}

std::int32_t Timetable::RouteFor(std::int64_t from, std::int64_t to) {
  // Often ranks one after another send as far as each other.
  const std::uint64_t key =
      static_cast<std::uint64_t>(to - from) << 32 ^ static_cast<std::uint64_t>(from);
  const auto [number, is_new] = route_of_.Of(key);
  if (!is_new) return number;
  links_.clear();
  topology_->AppendRoute(from, to, links_);
  Route& route = routes_.emplace_back();
  route.ports_begin = static_cast<std::int32_t>(route_ports_.size());
  for (const LinkId link : links_) route_ports_.push_back(PortFor(link));
  route.ports_end = static_cast<std::int32_t>(route_ports_.size());
  const Way way = WayAlong(*topology_, from, to, links_);
  auto found = std::find(ways_.rbegin(), ways_.rend(), way);
  if (found == ways_.rend()) {
    route.way = static_cast<std::int32_t>(ways_.size());
    ways_.push_back(way);
  } else {
    route.way = static_cast<std::int32_t>(ways_.rend() - found) - 1;
  }
  return number;
}

Timetable::Number Timetable::Add(Message message, std::span<const Number> after) {
  for (const Number other : after) {
    if (other != kNothing) after_.push_back(other);
  }
  message.after_end = static_cast<std::int32_t>(after_.size());
  messages_.push_back(message);
  return static_cast<Number>(messages_.size() - 1);
}

Timetable::Number Timetable::Send(std::int64_t from, std::int64_t to, double part,
                                  std::span<const Number> after) {
  // Too many: only counted, for the error.
  if (++asked_ > kMostMessages || !topology_.ok()) return kNothing;
  Message message;
  Route& route = routes_[RouteFor(from, to)];
  message.part = part;
  message.ports_begin = route.ports_begin;
  message.ports_end = route.ports_end;
  message.way = route.way;
  message.ahead = std::exchange(route.newest, static_cast<Number>(messages_.size()));
  return Add(message, after);
}

Timetable::Number Timetable::All(std::span<const Number> messages) {
  Number only = kNothing;
  std::int64_t count = 0;
  for (const Number number : messages) {
    if (number == kNothing) continue;
    only = number;
    ++count;
  }
  return count < 2 ? only : Add({}, messages);
}

void Timetable::Close() {
  std::vector<std::int32_t> shared_end(route_ports_.size() + 1);  // by ports_begin
  for (const Route& route : routes_) {
    const auto begin = route_ports_.begin() + route.ports_begin;
    const auto end = std::partition(begin, route_ports_.begin() + route.ports_end,
                                    [&](std::int32_t port) { return ports_[port].IsShared(); });
    shared_end[route.ports_begin] = static_cast<std::int32_t>(end - route_ports_.begin());
  }
  const auto count = static_cast<Number>(messages_.size());
  waiting_begin_.assign(messages_.size() + 1, 0);
  behind_.assign(messages_.size(), kNothing);
  for (Number i = 0; i < count; ++i) {
    Message& message = messages_[i];
    message.shared_end = message.IsSent() ? shared_end[message.ports_begin] : message.ports_begin;
    if (message.ahead >= 0) behind_[message.ahead] = i;
    for (const Number other : After(i)) ++waiting_begin_[other];
  }
  // Ends of the lists, moved down to their beginnings as the lists are filled.
  std::int32_t total = 0;
  for (std::int32_t& begin : waiting_begin_) begin = total += begin;
  waiting_.resize(total);
  for (Number i = count; i-- > 0;) {
    for (const Number other : After(i)) waiting_[--waiting_begin_[other]] = i;
  }
}

// Backwards from the message that ended last.
Phases Timetable::ChainOf(const Moments& moments, double bytes, bool counts_latency) const {
  struct Kind {
    Way way;
    double rounds = 0;
    double flows = 0;  // s
  };
  std::vector<Kind> kinds;
  for (Number number = moments.last; number >= 0; number = moments.of[number].last) {
    if (!messages_[number].IsSent()) continue;
    const Moment& moment = moments.of[number];
    const Way& way = WayOf(number);
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const Kind& other) { return other.way == way; });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {way});
    const double began = moment.last < 0 ? 0 : moments.of[moment.last].ended;
    double flows = moment.ended - began;
    if (!moment.queued) {
      kind->rounds += 1;
      if (counts_latency) flows -= way.link.latency.value();
    }
    if (flows > kSameMoment * moment.ended) kind->flows += flows;
  }
  Phases phases;
  for (const Kind& kind : kinds) {
    const double moved = kind.flows * kind.way.link.bandwidth.value();
    const double part = bytes == 0 ? 0 : moved / bytes;
    Phase phase = OverWay(kind.way, fmt::format("{:.4g}", part), kind.rounds, moved / kind.rounds);
    if (!counts_latency) phase.latency = Seconds(0);
    phase.link = "along the longest chain of messages";
    if (kind.way.between_nodes && node_size_ > 1) {
      phase.link += ", between nodes";
    } else if (fabric_ == Fabric::kTorus && kind.way.links > 1) {
      phase.link += fmt::format(", {} links each", kind.way.links);
    } else if (kinds.size() > 1 && nodes_ > 1) {
      phase.link += ", inside";
    }
    phases.phases.push_back(std::move(phase));
  }
  return phases;
}

Phases Timetable::At(double bytes, bool hides_latency) const {
  if (!hides_latency) return ChainOf(MomentsOf(*this, bytes, true), bytes, true);
  const Moments waits = MomentsOf(*this, 0, true);
  const Moments flows = MomentsOf(*this, bytes, false);
  if (waits.End() >= flows.End()) return ChainOf(waits, bytes, true);
  return ChainOf(flows, bytes, false);
}

Result<Phases> Listed(Timetable table, std::string_view algorithm) {
  CHORUS_RETURN_IF_ERROR(table.Made(algorithm));
  table.Close();
  Phases phases;
  phases.messages = std::make_shared<const Timetable>(std::move(table));
  return phases;
}

void SignalAll(Timetable& table, const Wiring& w, Timetable::Numbers came) {
  const std::int64_t named = std::ssize(came);
  for (std::int64_t k = 0; k < CeilLog2(w.ranks); ++k) {
    Timetable::Numbers next = came;
    for (std::int64_t r = 0; r < named; ++r) {
      const std::int64_t to = (r + (std::int64_t{1} << k)) % w.ranks;
      next[to % named] = table.All({came[to % named], table.Send(r, to, 0, {came[r]})});
    }
    came = std::move(next);
  }
}

}  // namespace chorus
