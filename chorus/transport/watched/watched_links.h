// The Links of a WatchedTransport. Not for users of the room.
#pragma once

#include <cstdint>
#include <memory>

#include "chorus/transport/links.h"
#include "chorus/transport/watched/link_pace.h"
#include "chorus/transport/watched/watched_transport.h"

namespace chorus {

// Where channels have a pace, and when something is due on one of them.
struct PacedLink {
  LinkPace pace;
  NextArrival next;
};

// `serial` is the group_serial of its points; `pace` may be null: as fast as they are.
std::unique_ptr<Links> WatchLinks(std::unique_ptr<Links> inner,
                                  std::shared_ptr<const TransportWatcher> watcher,
                                  std::uint64_t serial, std::shared_ptr<PacedLink> pace);

}  // namespace chorus
