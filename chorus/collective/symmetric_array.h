// SymmetricArray: memory of a rank that the other ranks of its job can reach.
//
//   auto x = group.Allocate<float>(n);       // collective: all ranks of the group call it
//   group.AllReduce(*x);                     // larger calls then move each byte once
//
// Collectives whose buffers are in such memory on every rank load from and store into the buffers
// of peers, with no copy in between; any part of an array will do, and groups other than the one
// that allocated it. Where only some ranks bring such memory the call works all the same.
//
// Move-only owner of its memory. When it ends, the memory may be used again at once: no operation
// of this rank may be under way on it. Thread safety: as of a vector. Compiles as C++17.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace chorus {

template <typename T>
class SymmetricArray {
 public:
  SymmetricArray() = default;
  // Takes over memory from Group::AllocateReachable. REQUIRES: room for `size` elements.
  SymmetricArray(std::shared_ptr<void> memory, std::int64_t size)
      : memory_(std::move(memory)), size_(size) {}
  SymmetricArray(SymmetricArray&&) noexcept = default;
  SymmetricArray& operator=(SymmetricArray&&) noexcept = default;

  T* data() { return static_cast<T*>(memory_.get()); }
  const T* data() const { return static_cast<const T*>(memory_.get()); }
  std::int64_t size() const { return size_; }
  T& operator[](std::int64_t i) { return data()[i]; }
  const T& operator[](std::int64_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  std::shared_ptr<void> memory_;
  std::int64_t size_ = 0;
};

}  // namespace chorus
