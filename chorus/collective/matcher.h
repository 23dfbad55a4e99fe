// Matcher: which message goes to which receive, by MPI's rules.
//
//   arrivals (messages nobody has asked for yet)     receives (that nothing has come for yet)
//     from 0 tag 7 | from 2 tag 1 | from 0 tag 7       from any tag 7 | from 1 any tag
//
// A receive takes the oldest arrival that fits it; an arrival goes to the oldest receive that it
// fits. So of two messages from one rank that both fit a receive the first one sent is taken first,
// if arrivals of one source are given in the order in which they were sent.
//
// Of the two lists no pair fits, which is what makes a look at one of them enough. Cost: linear in
// what waits. Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <list>
#include <memory_resource>
#include <optional>
#include <utility>

#include "chorus/collective/group.h"

namespace chorus {

// Whether a receive for (source, tag), each of which may be any, takes a message of (from, with).
// Any tag means any that a user can give: below kAnyTag are those of the group itself.
constexpr bool Fits(int source, int tag, int from, int with) {
  return (source == kAnySource || source == from) && (tag == kAnyTag ? with >= 0 : tag == with);
}

// Receive and Arrival have members source and tag; they are kept by value.
template <typename Receive, typename Arrival>
class Matcher {
 public:
  // What waits is kept in `memory`, which must outlive this.
  explicit Matcher(std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : receives_(memory), arrivals_(memory) {}

  // The arrival that `receive` takes, which is then no longer kept; or nothing, and the receive is
  // kept.
  std::optional<Arrival> Post(Receive receive) {
    for (auto it = arrivals_.begin(); it != arrivals_.end(); ++it) {
      if (!Fits(receive.source, receive.tag, it->source, it->tag)) continue;
      std::optional<Arrival> found(std::move(*it));
      arrivals_.erase(it);
      return found;
    }
    receives_.push_back(std::move(receive));
    return std::nullopt;
  }

  // The receive that takes `arrival`, or nothing, and the arrival is kept (moved from).
  std::optional<Receive> Arrive(Arrival& arrival) {
    for (auto it = receives_.begin(); it != receives_.end(); ++it) {
      if (!Fits(it->source, it->tag, arrival.source, arrival.tag)) continue;
      std::optional<Receive> found(std::move(*it));
      receives_.erase(it);
      return found;
    }
    arrivals_.push_back(std::move(arrival));
    return std::nullopt;
  }

  // The message that a receive for (source, tag) would take, or nullptr; it stays.
  const Arrival* Find(int source, int tag) const {
    for (const Arrival& arrival : arrivals_) {
      if (Fits(source, tag, arrival.source, arrival.tag)) return &arrival;
    }
    return nullptr;
  }

  const std::pmr::list<Receive>& receives() const { return receives_; }
  const std::pmr::list<Arrival>& arrivals() const { return arrivals_; }
  void Clear() {
    receives_.clear();
    arrivals_.clear();
  }

 private:
  std::pmr::list<Receive> receives_;  // oldest first
  std::pmr::list<Arrival> arrivals_;  // oldest first
};

}  // namespace chorus
