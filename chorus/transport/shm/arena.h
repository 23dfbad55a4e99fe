// Arena: the memory of one rank that other processes can map, without a name in any file system.
//
// One sparse memfd with a large range of addresses, mapped by its owner and once by every peer; so
// any allocation made later is known to all by its offset alone. Pages get memory when they are
// handed out (an error then, not a SIGBUS at first touch) and lose it when given back.
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "chorus/base/status.h"

namespace chorus {

// A file descriptor that is closed at the end. -1: none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Take()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // The caller closes it from now on.
  int Take();
  void Reset();

 private:
  int fd_ = -1;
};

// A shared mapping of a whole arena.
class Mapping {
 public:
  static Result<Mapping> Of(int fd);
  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

// Has the pages of a mapped range in this process's page table, where the kernel can (Linux 5.14).
// REQUIRES: `data` on a page boundary.
void PrefaultPages(std::byte* data, std::int64_t bytes);

class Arena {
 public:
  // `bytes` is the range of addresses, not memory.
  static Result<Arena> Create(std::int64_t bytes);

  // Zeroed, on a page boundary. Errors: kResourceExhausted with both numbers.
  // REQUIRES: bytes > 0.
  Result<std::byte*> Allocate(std::int64_t bytes);
  // REQUIRES: from Allocate, not given back before.
  void Free(std::byte* data);

  int fd() const { return fd_.get(); }
  std::byte* base() const { return mapping_.data(); }
  std::int64_t bytes() const { return mapping_.bytes(); }
  bool Contains(const void* data, std::int64_t bytes) const;

 private:
  Arena(Descriptor fd, Mapping mapping);

  Descriptor fd_;
  Mapping mapping_;
  std::map<std::int64_t, std::int64_t> free_;  // offset -> bytes; neighbours are joined
  std::map<std::int64_t, std::int64_t> used_;  // offset -> bytes
};

}  // namespace chorus
