#include "chorus/tensor/array_memory.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace chorus {
namespace {

constexpr std::size_t kAlignment = 64;

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

ArrayMemory::~ArrayMemory() {
  for (const auto& [capacity, data] : free_) {
    ::operator delete(data, std::align_val_t(kAlignment));
  }
}

ArrayMemory::Piece ArrayMemory::Allocate(std::int64_t bytes) {
  Piece piece;
  piece.memory_ = this;
  piece.size_ = bytes;
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  if (bytes == 0) return piece;

  const auto wanted = (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  // The smallest kept piece that fits, unless a quarter of it or more would lie idle. Steps repeat,
  // so after the first one nearly every request finds a piece of just its size.
  const auto kept = free_.lower_bound(wanted);
  if (kept != free_.end() && kept->first - wanted <= kept->first / 4) {
    piece.capacity_ = kept->first;
    piece.data_ = kept->second;
    free_.erase(kept);
  } else {
    piece.capacity_ = wanted;
    piece.data_ = ::operator new(wanted, std::align_val_t(kAlignment));
  }
  // All bits set is a NaN in f32 and f64, and -1 as a token.
  if (poison_) std::memset(piece.data_, 0xFF, piece.capacity_);
  return piece;
}

void ArrayMemory::Release(void* data, std::int64_t size, std::size_t capacity) {
  used_ -= size;
  if (data != nullptr) free_.emplace(capacity, data);
}

}  // namespace chorus
