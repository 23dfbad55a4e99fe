#include "chorus/transport/shm/process_memory.h"

#include <fmt/format.h>
#include <sys/uio.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

namespace chorus {

// The kernel tells the number that the process has in this process's namespace, or -1.
ProcessMemory ProcessMemory::Of(int pidfd) {
  ProcessMemory memory;
  std::ifstream info(fmt::format("/proc/self/fdinfo/{}", pidfd));
  for (std::string name; info >> name;) {
    if (name != "Pid:") continue;
    info >> memory.pid_;
    break;
  }
  return memory;
}

bool ProcessMemory::Holds(std::uint64_t address, std::uint64_t value) {
  if (!holds_.has_value()) {
    std::uint64_t read = ~value;
    holds_ = pid_ > 0 && Read(address, &read, sizeof(read)).ok() && read == value;
  }
  return *holds_;
}

Status ProcessMemory::Read(std::uint64_t address, void* dst, std::int64_t bytes) const {
  for (std::int64_t done = 0; done < bytes;) {
    const auto left = static_cast<std::size_t>(bytes - done);
    const iovec to = {static_cast<std::byte*>(dst) + done, left};
    // NOLINTNEXTLINE: an address of the other process.
    const iovec from = {reinterpret_cast<void*>(address + static_cast<std::uint64_t>(done)), left};
    const ssize_t read = process_vm_readv(pid_, &to, 1, &from, 1, 0);
    if (read > 0) {
      done += read;
    } else if (errno == ESRCH) {
      return Status(StatusCode::kPeerLost, "its process has ended");
    } else if (errno != EINTR) {
      return Unsupported(
          fmt::format("{} bytes: {}", bytes, std::generic_category().message(errno)));
    }
  }
  return OkStatus();
}

}  // namespace chorus
