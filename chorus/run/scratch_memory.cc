#include "chorus/run/scratch_memory.h"

#include <new>

namespace chorus {
namespace {

constexpr std::align_val_t kLineAlignment{64};

}  // namespace

void ScratchMemory::Deleter::operator()(std::byte* p) const {
  ::operator delete(p, kLineAlignment);
}

std::byte* ScratchMemory::Reserve(std::int64_t bytes) {
  if (bytes > bytes_) {
    data_.reset();
    data_.reset(
        static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kLineAlignment)));
    bytes_ = bytes;
  }
  return data_.get();
}

}  // namespace chorus
