#include "chorus/schedule/interpreter.h"

#include <algorithm>

namespace chorus {

std::int64_t TileCount(const Setting& setting) {
  std::int64_t tiles = 1;
  for (std::int64_t elements : setting.block_elements) {
    if (elements > 0) tiles = std::max(tiles, (elements - 1) / setting.tile_elements + 1);
  }
  return tiles;
}

}  // namespace chorus
