#include "chorus/tensor/array_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace chorus {
namespace {

constexpr std::size_t kAlignment = 64;
// Smaller pieces are copied so fast that being reachable gains nothing, and each takes whole pages.
constexpr std::size_t kLeastReachable = std::size_t{64} << 10;

}  // namespace

ArrayMemory::Piece::~Piece() {
  if (memory_ != nullptr) memory_->Release(data_, size_, capacity_);
}

void ArrayMemory::Piece::Swap(Piece& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
}

ArrayMemory::~ArrayMemory() { DropKept(); }

void ArrayMemory::DropKept() {
  for (const auto& [capacity, data] : free_) {
    if (blocks_.erase(data) == 0) ::operator delete(data, std::align_val_t(kAlignment));
  }
  free_.clear();
}

Status ArrayMemory::Refused(std::int64_t bytes) const {
  return ResourceExhausted(
      fmt::format("there is no memory for {} bytes more ({}): the arrays of this rank hold {}, and "
                  "{} {} in all",
                  bytes, ToString(Bytes(bytes)), ToString(used()),
                  limit_ == HostMemory() ? "the host has" : "may hold", ToString(limit_)));
}

Status ArrayMemory::CheckRoom(std::int64_t bytes) const {
  return bytes > limit_.value() - used_ ? Refused(bytes) : OkStatus();
}

Result<ArrayMemory::Piece> ArrayMemory::Allocate(std::int64_t bytes) {
  CHORUS_RETURN_IF_ERROR(CheckRoom(bytes));
  CHORUS_ASSIGN_OR_RETURN(Piece piece, Reserve(bytes));
  piece.Use(bytes);
  return piece;
}

Result<ArrayMemory::Piece> ArrayMemory::Reserve(std::int64_t bytes) {
  Piece piece;
  piece.memory_ = this;
  if (bytes == 0) return piece;

  const auto wanted = (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  // The smallest kept piece that fits, unless a quarter of it or more would lie idle. Steps repeat,
  // so after the first one nearly every request finds a piece of just its size.
  const auto kept = free_.lower_bound(wanted);
  if (kept != free_.end() && kept->first - wanted <= kept->first / 4) {
    piece.capacity_ = kept->first;
    piece.data_ = kept->second;
    free_.erase(kept);
    return piece;
  }
  piece.data_ = FreshMemory(wanted);
  if (piece.data_ == nullptr && !free_.empty()) {
    DropKept();
    piece.data_ = FreshMemory(wanted);
  }
  if (piece.data_ == nullptr) return Refused(bytes);
  piece.capacity_ = wanted;
  return piece;
}

void ArrayMemory::Piece::Use(std::int64_t bytes) {
  memory_->used_ += bytes - size_;
  memory_->peak_ = std::max(memory_->peak_, memory_->used_);
  size_ = bytes;
  // All bits set is a NaN in f32 and f64, and -1 as a token.
  if (memory_->poison_ && bytes > 0) std::memset(data_, 0xFF, capacity_);
}

void* ArrayMemory::FreshMemory(std::size_t bytes) {
  if (reachable_ != nullptr && bytes >= kLeastReachable) {
    std::shared_ptr<void> block = reachable_(static_cast<std::int64_t>(bytes));
    if (block != nullptr) {
      void* const data = block.get();
      blocks_.emplace(data, std::move(block));
      return data;
    }
  }
  return ::operator new(bytes, std::align_val_t(kAlignment), std::nothrow);
}

void ArrayMemory::Release(void* data, std::int64_t size, std::size_t capacity) {
  used_ -= size;
  if (data != nullptr) free_.emplace(capacity, data);
}

}  // namespace chorus
