// PacedJoin: joins ranks of one host as if slow links were between them; for benches and tests.
//
//   auto group = Join(PacedJoin({.rank = 0, .size = 2}, {1e9, std::chrono::microseconds(20)}));
//
// All that ranks say to each other in collectives and messages goes by channels that deliver no
// sooner than a link of that bandwidth and latency would (transport/watched/link_pace.h), in each
// direction of each pair and for each group its own. That a rank has left is seen at once, so a
// rank should stay for a latency after its last word. Needs C++20. Thread safety: pure.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "chorus/collective/group.h"
#include "chorus/transport/watched/link_pace.h"

namespace chorus {

// Of `options` the ways and `wrap` are set, and channels are long: there is always something on the
// link while ranks look now and then only. REQUIRES: pace.bytes_per_second > 0.
inline JoinOptions PacedJoin(JoinOptions options, const LinkPace& pace) {
  options.use_lanes = false;
  options.use_mapped = false;
  options.use_stages = false;
  options.use_reads = false;
  options.channel_bytes = std::max<std::int64_t>(options.channel_bytes, std::int64_t{4} << 20);
  options.wrap = [pace](std::unique_ptr<Transport> inner) {
    return PaceTransport(std::move(inner), pace);
  };
  return options;
}

}  // namespace chorus
