// Pages of memory for tests: shared by forked processes, and protected so that a copy faults.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace chorus {

// Zeroed, on a page boundary; of this process, or shared with those that it forks later. Null if
// there is none.
inline std::byte* MapTestPages(std::size_t bytes, bool shared) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}
inline void UnmapTestPages(void* memory, std::size_t bytes) { munmap(memory, bytes); }

// Whether this process may touch the pages: if not, doing so raises SIGSEGV. Safe in a handler.
inline void AllowTestPages(void* memory, std::size_t bytes, bool allowed) {
  mprotect(memory, bytes, allowed ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}  // namespace chorus
