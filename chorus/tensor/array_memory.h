// ArrayMemory: where one rank's arrays live, counted to the byte.
//
// It counts what a program counts: bytes of elements, without alignment or overhead, so that the
// peak here can be compared with the peak that was predicted. Freed memory is kept and handed out
// again: the first touch of a fresh page costs far more than moving the bytes that go into it.
// Thread safety: none; one rank, one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/probe/memory.h"

namespace chorus {

class ArrayMemory {
 public:
  // A piece of memory, given back when it is destroyed. Lifetime: within its memory's.
  class Piece {
   public:
    Piece() = default;  // nothing, 0 bytes
    Piece(Piece&& other) noexcept { Swap(other); }
    Piece& operator=(Piece&& other) noexcept {
      Piece taken(std::move(other));
      Swap(taken);
      return *this;
    }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    ~Piece();

    // 64-byte aligned; null for 0 bytes.
    void* data() const { return data_; }
    std::int64_t size() const { return size_; }  // bytes that are counted
    // Counts `bytes` of it from now on, its content being undefined then. REQUIRES: not more than
    // were reserved.
    void Use(std::int64_t bytes);

   private:
    friend class ArrayMemory;
    void Swap(Piece& other) noexcept;

    ArrayMemory* memory_ = nullptr;
    void* data_ = nullptr;
    std::int64_t size_ = 0;
    std::size_t capacity_ = 0;
  };

  // Memory on a page boundary that lives as long as the pointer; null where there is none.
  using Source = std::function<std::shared_ptr<void>(std::int64_t bytes)>;

  // `poison`: fill memory with a pattern that reads as NaN before handing it out, so that a test
  // sees a value that is read before it is written. `reachable`, if not empty, is where larger
  // pieces come from, so that other ranks can read and write them in collectives. No more than
  // `limit` is given out.
  explicit ArrayMemory(bool poison = false, Source reachable = nullptr, Bytes limit = HostMemory())
      : poison_(poison), reachable_(std::move(reachable)), limit_(limit) {}
  ArrayMemory(const ArrayMemory&) = delete;
  ArrayMemory& operator=(const ArrayMemory&) = delete;
  ~ArrayMemory();

  // Memory of undefined content. REQUIRES: bytes >= 0. Errors: kResourceExhausted, naming the bytes
  // asked for, those in use here and the limit, where there is not so much: what is larger than the
  // host is refused before a page of it is touched.
  Result<Piece> Allocate(std::int64_t bytes);
  // A piece with room for `bytes`, of which none are counted before Piece::Use. So a run has all
  // its memory before it begins, and what it uses at a time is counted. Errors: as Allocate, where
  // the host has none; CheckRoom is for the limit.
  Result<Piece> Reserve(std::int64_t bytes);
  // Error, as of Allocate, if `bytes` more would be beyond the limit.
  Status CheckRoom(std::int64_t bytes) const;

  Bytes limit() const { return limit_; }
  Bytes used() const { return Bytes(used_); }  // of all pieces that live
  Bytes peak() const { return Bytes(peak_); }  // the most used() since ResetPeak
  void ResetPeak() { peak_ = used_; }

 private:
  void Release(void* data, std::int64_t size, std::size_t capacity);
  void* FreshMemory(std::size_t bytes);  // null if there is none
  void DropKept();
  Status Refused(std::int64_t bytes) const;

  const bool poison_;
  const Source reachable_;
  const Bytes limit_;
  std::int64_t used_ = 0;
  std::int64_t peak_ = 0;
  std::multimap<std::size_t, void*> free_;         // by capacity
  std::map<void*, std::shared_ptr<void>> blocks_;  // of `reachable_`, by address
};

}  // namespace chorus
