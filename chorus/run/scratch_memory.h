// ScratchMemory: memory for scratch slots, kept from call to call, for fresh pages cost more than
// moving their bytes. Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace chorus {

class ScratchMemory {
 public:
  // At least `bytes`, on a multiple of 64. Contents are not kept.
  std::byte* Reserve(std::int64_t bytes);
  // Slots begin on lines of 64 bytes.
  static constexpr std::int64_t RoundUpToLine(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  struct Deleter {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Deleter> data_;
  std::int64_t bytes_ = 0;
};

}  // namespace chorus
