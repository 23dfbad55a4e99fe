// LayoutMap: numbers by layout, for one search after another.
//
// A table with open addressing: a layout is kept at its hash or in the next free place. Clear costs
// nothing: places remember in which round they were filled. Internal to the room. Thread safety:
// none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "chorus/shard/layout_code.h"

namespace chorus {

class LayoutMap {
 public:
  LayoutMap() : places_(64) {}

  void Clear() {
    size_ = 0;
    ++round_;
  }

  // The number of `layout`, and whether it has just got it: `number`.
  std::pair<int, bool> Insert(LayoutCode layout, int number) {
    if (2 * (size_ + 1) > places_.size()) Grow();
    Place& place = Find(layout.bits());
    if (place.round == round_) return {place.number, false};
    place = {layout.bits(), round_, number};
    ++size_;
    return {number, true};
  }

 private:
  struct Place {
    std::uint64_t layout = 0;
    std::uint64_t round = 0;  // filled if it is the map's
    int number = 0;
  };

  // Where a layout is or may be put.
  Place& Find(std::uint64_t layout) {
    std::uint64_t hash = layout * 0x9e3779b97f4a7c15U;
    std::size_t i = (hash ^ hash >> 32U) & (places_.size() - 1);
    while (places_[i].round == round_ && places_[i].layout != layout) {
      i = (i + 1) & (places_.size() - 1);
    }
    return places_[i];
  }
  void Grow() {
    std::vector<Place> old(2 * places_.size());
    old.swap(places_);
    for (const Place& place : old) {
      if (place.round == round_) Find(place.layout) = place;
    }
  }

  std::vector<Place> places_;  // a power of two
  std::uint64_t round_ = 1;
  std::size_t size_ = 0;
};

}  // namespace chorus
