// DenseIndex: numbers keys in the order in which they are first seen. Thread safety: a value.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace chorus {

class DenseIndex {
 public:
  // The number of a key, and whether it is new. REQUIRES: key < 2^64 - 1, fewer than 2^31 keys.
  std::pair<std::int32_t, bool> Of(std::uint64_t key) {
    if (2 * (count_ + 1) > slots_.size()) Grow();
    std::size_t at = Place(key);
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].key == key) return {slots_[at].number, false};
    slots_[at] = {key, static_cast<std::int32_t>(count_)};
    return {static_cast<std::int32_t>(count_++), true};
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kEmpty;
    std::int32_t number = 0;
  };
  // Keys that follow each other are asked for one after another, so eight of them lie side by side.
  // Eights may have a pattern in any of their bits: the finisher of splitmix64 spreads them.
  std::size_t Place(std::uint64_t key) const {
    std::uint64_t eight = key >> 3;
    eight = (eight ^ eight >> 30) * 0xbf58476d1ce4e5b9u;
    eight = (eight ^ eight >> 27) * 0x94d049bb133111ebu;
    return ((eight ^ eight >> 31) << 3 | (key & 7)) & (slots_.size() - 1);
  }
  void Grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key == kEmpty) continue;
      std::size_t at = Place(slot.key);
      while (slots_[at].key != kEmpty) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;  // 2^n of them, at most half full
  std::size_t count_ = 0;
};

}  // namespace chorus
