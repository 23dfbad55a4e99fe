#include "chorus/collective/kept_memory.h"

#include <algorithm>
#include <bit>
#include <new>

namespace chorus {
namespace {

static_assert(KeptMemory::kSmallest << 8 == KeptMemory::kLargest);

bool IsKept(std::size_t bytes, std::size_t alignment) {
  return bytes <= KeptMemory::kLargest && alignment <= alignof(std::max_align_t);
}

// Which list blocks of so many bytes are in; those of list i have kSmallest << i.
std::size_t ListOf(std::size_t bytes) {
  const std::size_t lines = (std::max<std::size_t>(bytes, 1) - 1) / KeptMemory::kSmallest;
  return static_cast<std::size_t>(std::bit_width(lines));
}

}  // namespace

KeptMemory::~KeptMemory() {
  for (Block* block : free_) {
    while (block != nullptr) ::operator delete(std::exchange(block, block->next));
  }
}

void* KeptMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (!IsKept(bytes, alignment)) return ::operator new(bytes, std::align_val_t(alignment));
  const std::size_t list = ListOf(bytes);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (free_[list] != nullptr) return std::exchange(free_[list], free_[list]->next);
  }
  return ::operator new(kSmallest << list);
}

void KeptMemory::do_deallocate(void* p, std::size_t bytes, std::size_t alignment) {
  if (!IsKept(bytes, alignment)) return ::operator delete(p, std::align_val_t(alignment));
  const std::lock_guard<std::mutex> lock(mutex_);
  Block*& first = free_[ListOf(bytes)];
  first = new (p) Block{first};
}

}  // namespace chorus
