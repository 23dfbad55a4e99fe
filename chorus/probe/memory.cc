#include "chorus/probe/memory.h"

#include <unistd.h>

#include <cstdint>

namespace chorus {

Bytes HostMemory() {
  static const Bytes kMemory(static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) *
                             static_cast<std::int64_t>(sysconf(_SC_PAGESIZE)));
  return kMemory;
}

}  // namespace chorus
