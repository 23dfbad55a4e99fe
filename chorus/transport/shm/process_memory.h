// ProcessMemory: the memory of another process, read by way of the kernel.
//
// The kernel copies straight from the other's pages, so neither side needs shared memory, but looks
// up every page on the way. Containers and hardened kernels forbid it, which only a real read
// tells. Thread safety: const functions from any thread, Holds from one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "chorus/base/status.h"

namespace chorus {

class ProcessMemory {
 public:
  // Of no process: Holds nothing.
  ProcessMemory() = default;
  // Of the process that the descriptor names.
  static ProcessMemory Of(int pidfd);

  // Whether `value` is read at `address`. The first answer is kept.
  bool Holds(std::uint64_t address, std::uint64_t value);
  // kPeerLost if the process has ended; kUnsupported with the kernel's reason if it will not.
  Status Read(std::uint64_t address, void* dst, std::int64_t bytes) const;

 private:
  pid_t pid_ = -1;
  std::optional<bool> holds_;
};

}  // namespace chorus
