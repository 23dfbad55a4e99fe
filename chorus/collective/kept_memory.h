// KeptMemory: memory for small things that are made and dropped with every call, kept for the next.
//
//   auto memory = std::make_shared<KeptMemory>();
//   auto state = MakeKept<State>(memory, ...);     // a shared_ptr; counter and State in one block
//   std::pmr::list<int> list(memory.get());
//
// A block that is given back waits, in the list of its size, for whoever wants as much: so a group
// that has made a call once asks the heap for nothing when it makes it again. What is larger than
// kLargest is not kept. Blocks go back to the heap when the KeptMemory ends.
//
// Thread safety: any thread. Lifetime: what MakeKept makes keeps the memory alive; containers do
// not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <utility>

namespace chorus {

class KeptMemory final : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t kSmallest = 64;
  static constexpr std::size_t kLargest = std::size_t{16} << 10;

  KeptMemory() = default;
  ~KeptMemory() override;
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

 private:
  struct Block {
    Block* next;
  };

  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::mutex mutex_;
  std::array<Block*, 9> free_{};  // of 64 B, 128 B, ... 16 KiB; guarded by mutex_
};

// An allocator that owns its memory together with others.
template <typename T>
class KeptAllocator {
 public:
  using value_type = T;

  explicit KeptAllocator(std::shared_ptr<KeptMemory> memory) : memory_(std::move(memory)) {}
  template <typename U>
  KeptAllocator(const KeptAllocator<U>& other) : memory_(other.memory()) {}  // NOLINT: as rebound

  T* allocate(std::size_t n) {
    return static_cast<T*>(memory_->allocate(n * sizeof(T), alignof(T)));
  }
  void deallocate(T* p, std::size_t n) { memory_->deallocate(p, n * sizeof(T), alignof(T)); }
  const std::shared_ptr<KeptMemory>& memory() const { return memory_; }

  friend bool operator==(const KeptAllocator& a, const KeptAllocator& b) {
    return a.memory_ == b.memory_;
  }

 private:
  std::shared_ptr<KeptMemory> memory_;
};

template <typename T, typename... Args>
std::shared_ptr<T> MakeKept(const std::shared_ptr<KeptMemory>& memory, Args&&... args) {
  return std::allocate_shared<T>(KeptAllocator<T>(memory), std::forward<Args>(args)...);
}

// Bytes of any value.
inline std::shared_ptr<std::byte[]> MakeKeptBytes(const std::shared_ptr<KeptMemory>& memory,
                                                  std::int64_t bytes) {
  return std::allocate_shared_for_overwrite<std::byte[]>(KeptAllocator<std::byte>(memory),
                                                         static_cast<std::size_t>(bytes));
}

}  // namespace chorus
