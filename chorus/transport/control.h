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
  // Where the owner itself sees the token.
  std::uint64_t token_address = 0;
  // Set by the owner when it leaves; all that it sent is then in its peers' memory.
  std::atomic<std::uint32_t> left{0};
  // The cores that the owner may run on, a bit each.
  std::array<std::atomic<std::uint64_t>, 16> cores{};
  // 1: the owner lets its stores be ordered, and orders those of others before it sleeps.
  std::atomic<std::uint32_t> orders_stores{0};
  // The core the owner last waited on, where ranks have to share cores; -1: it has not yet.
  std::atomic<std::int32_t> core{-1};
};

}  // namespace chorus
