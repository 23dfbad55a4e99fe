// Speeds: what this host does, measured in about a second: what a catalogue can only assume.
#pragma once

#include <cstdint>

#include "chorus/base/status.h"
#include "chorus/base/units.h"

namespace chorus {

struct HostSpeeds {
  int cores = 1;             // that this process may use
  Seconds one_way;           // a cache line, from a core to another one
  BytesPerSecond hand_over;  // one core copies what another one has just written
  BytesPerSecond copy;       // two cores at once copy memory, more than their caches hold; each
  BytesPerSecond read;       // one core reads memory, far more than its caches hold
  FlopsPerSecond product = FlopsPerSecond(0);  // f32 matrix product, one core
};

// Bytes of what HostSpeeds::hand_over copies: about as many stay in caches.
inline constexpr std::int64_t kHandedOver = std::int64_t{4} << 20;

// Effect: runs two threads for about a second, on the first and the last core that this thread may
// use (both on the same if there is one only), with up to 300 MB of memory. Each figure is the
// best of twelve trials: what the host can do, whatever else it did during some of them. Errors:
// kResourceExhausted where a thread cannot be started.
Result<HostSpeeds> MeasureHostSpeeds();

}  // namespace chorus
