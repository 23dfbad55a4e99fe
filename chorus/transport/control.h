// ControlBlock: what a rank shows every other rank of the job, one per rank, in shared memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "chorus/transport/doorbell.h"

namespace chorus {

struct ControlBlock {
  Doorbell bell;
  // Proves to a peer that it sees this very memory: it was told the number by other means.
  std::atomic<std::uint64_t> token{0};
  // Set by the owner when it leaves; all that it sent is then in its peers' memory.
  std::atomic<std::uint32_t> left{0};
  // The cores that the owner may run on, a bit each.
  std::array<std::atomic<std::uint64_t>, 16> cores{};
};

}  // namespace chorus
