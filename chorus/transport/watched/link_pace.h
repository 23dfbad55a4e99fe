// LinkPace: makes the channels of shared memory like links that are slow: for benches and tests.
//
//   sender     | says when, 64 B | header | payload ...      all of it at once, as to a network
//   card link                           |==========|              bytes / bandwidth, one message
//   after
//                                                            another
//   receiver                           |==========|          later by the latency: no byte is seen
//                                                            before
//
// Every channel is a link of its own, in each direction. Nobody spins for the link: time passes
// while both ranks do something else, and who sleeps is woken when the next byte is due. For that
// the transport shows its ranks no other way than channels, and channels should have room for what
// is under way (JoinOptions::channel_bytes). Thread safety: as channels.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "chorus/transport/links.h"
#include "chorus/transport/transport.h"

namespace chorus {

struct LinkPace {
  double bytes_per_second = 0;
  std::chrono::nanoseconds latency{0};
};

// When the next byte is due on any link of a rank; told by receivers, asked by who sleeps.
class NextArrival {
 public:
  using Clock = Transport::Clock;

  void Tell(Clock::time_point time) {
    const std::int64_t at = time.time_since_epoch().count();
    std::int64_t known = at_.load();
    while (at < known && !at_.compare_exchange_weak(known, at)) {
    }
  }
  // The earliest told of since the last call.
  Clock::time_point Take() { return Clock::time_point(Clock::duration(at_.exchange(kNever))); }

 private:
  static constexpr std::int64_t kNever = Clock::duration::max().count();
  std::atomic<std::int64_t> at_{kNever};
};

// `inner` must outlive them.
std::unique_ptr<MessageSender> PaceSender(MessageSender* inner);
std::unique_ptr<MessageReceiver> PaceReceiver(MessageReceiver* inner, const LinkPace& pace,
                                              NextArrival* next);

// The ranks of a job must all have the same pace. REQUIRES: bytes_per_second > 0, latency >= 0;
// groups joined with it use neither stages nor lanes (PacedJoin).
std::unique_ptr<Transport> PaceTransport(std::unique_ptr<Transport> inner, const LinkPace& pace);

}  // namespace chorus
