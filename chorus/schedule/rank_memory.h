// The memory of one rank while the reference interpreter runs: cells that know whether they were
// written. Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "chorus/schedule/step.h"

namespace chorus {

template <typename T>
class RankMemory {
 public:
  using Cells = std::vector<std::optional<T>>;

  // `in` by block, empty where the rank holds none; in place, in[b] and out[b] are the same cells.
  RankMemory(std::vector<std::int64_t> block_elements, std::int64_t tile_elements, bool in_place,
             const std::vector<std::vector<T>>& in)
      : block_elements_(std::move(block_elements)),
        tile_elements_(tile_elements),
        in_place_(in_place) {
    for (std::size_t b = 0; b < block_elements_.size(); ++b) {
      in_.emplace_back(in[b].begin(), in[b].end());
      out_.emplace_back(block_elements_[b]);
      if (in_place_ && !in[b].empty()) out_[b] = in_[b];
    }
  }

  // The cells of tile `tile` of a chunk; empty ones where the rank has no such memory. `copy` is
  // the copy of the scratch.
  Cells Read(const Chunk& chunk, std::int64_t tile, std::int64_t copy) const {
    const auto [begin, count] = Extent(chunk.block, tile);
    Cells cells(count);
    if (IsScratch(chunk.buffer)) {
      const auto found = scratch_.find({chunk.buffer, chunk.slot, copy});
      if (found != scratch_.end()) cells = found->second;
      cells.resize(count);
      return cells;
    }
    const Cells& block = (IsOut(chunk) ? out_ : in_)[chunk.block];
    if (std::ssize(block) >= begin + count) {
      std::copy_n(block.begin() + begin, count, cells.begin());
    }
    return cells;
  }

  // False if the rank has no such memory or `cells` are not as many as the tile of the block has.
  bool Write(const Chunk& chunk, std::int64_t tile, std::int64_t copy, const Cells& cells) {
    const auto [begin, count] = Extent(chunk.block, tile);
    if (std::ssize(cells) != count) return false;
    if (IsScratch(chunk.buffer)) {
      scratch_[{chunk.buffer, chunk.slot, copy}] = cells;
      return true;
    }
    Cells& block = (IsOut(chunk) ? out_ : in_)[chunk.block];
    if (std::ssize(block) < begin + count) return false;
    std::copy(cells.begin(), cells.end(), block.begin() + begin);
    return true;
  }

  const Cells& out(std::int64_t block) const { return out_[block]; }

 private:
  bool IsOut(const Chunk& chunk) const { return in_place_ || chunk.buffer == BufferKind::kOut; }

  // The first element of a block within a tile, and how many there are.
  std::pair<std::int64_t, std::int64_t> Extent(std::int64_t block, std::int64_t tile) const {
    const std::int64_t size = block_elements_[block];
    // The product is of sizes, not of the tile size, which may be larger than any block.
    const std::int64_t begin = std::min(size, tile * std::min(tile_elements_, size));
    return {begin, std::min(tile_elements_, size - begin)};
  }

  std::vector<std::int64_t> block_elements_;
  std::int64_t tile_elements_;
  bool in_place_;
  std::vector<Cells> in_, out_;                                                  // by block
  std::map<std::tuple<BufferKind, std::int64_t, std::int64_t>, Cells> scratch_;  // + slot, copy
};

}  // namespace chorus
