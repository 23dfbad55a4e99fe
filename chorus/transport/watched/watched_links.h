// The Links of a WatchedTransport. Not for users of the room.
#pragma once

#include <cstdint>
#include <memory>

#include "chorus/transport/links.h"
#include "chorus/transport/watched/watched_transport.h"

namespace chorus {

// `serial` is the group_serial of its points.
std::unique_ptr<Links> WatchLinks(std::unique_ptr<Links> inner,
                                  std::shared_ptr<const TransportWatcher> watcher,
                                  std::uint64_t serial);

}  // namespace chorus
