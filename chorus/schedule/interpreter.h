// The reference meaning of a schedule: one thread carries out the steps of all ranks on real data.
//
// Whatever executes, proves or prices schedules is compared with this. It is written to be
// obviously right, not fast: each message is copied, each element is checked to have been written
// before it is read. T is any value type: double, std::int64_t, std::string (whose + shows the
// order of a sum). Accumulators and elements are both T; `finish` does the rounding.
// Thread safety: pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/schedule/expansion.h"
#include "chorus/schedule/linear_order.h"

namespace chorus {

// [rank][block][element]; a block a rank does not hold is empty.
template <typename T>
using RankBlocks = std::vector<std::vector<std::vector<T>>>;

template <typename T>
struct Arithmetic {
  std::function<T(const T&, const T&)> op = [](const T& a, const T& b) { return a + b; };
  std::function<T(const T&)> scale = [](const T& x) { return x; };
  std::function<T(const T&)> finish = [](const T& x) { return x; };
};

struct Setting {
  std::vector<std::int64_t> block_elements;  // by block
  std::int64_t tile_elements = std::int64_t{1} << 62;
  bool in_place = false;  // in[b] and out[b] are the same memory
  Pick pick = Pick::kFirst;
  std::uint64_t seed = 0;  // of Pick::kRandom
};

// How often the body is carried out: max over blocks of ceil(elements / tile), at least 1.
std::int64_t TileCount(const Setting& setting);

// The memory of one rank. Cells are empty until written.
template <typename T>
class RankMemory {
 public:
  RankMemory(const Setting& setting, const std::vector<std::vector<T>>& in) : setting_(setting) {
    for (std::size_t b = 0; b < setting.block_elements.size(); ++b) {
      in_.emplace_back(in[b].begin(), in[b].end());
      out_.emplace_back(setting.block_elements[b]);
      if (setting.in_place && !in[b].empty()) out_[b] = in_[b];
    }
  }

  // The cells of tile `tile` of a chunk, or empty if the rank has no such memory.
  std::vector<std::optional<T>> Read(const Chunk& chunk, std::int64_t tile,
                                     std::int64_t copy) const {
    const auto [begin, count] = Extent(chunk.block, tile);
    if (!IsScratch(chunk.buffer)) {
      const bool out = chunk.buffer == BufferKind::kOut || setting_.in_place;
      const auto& cells = (out ? out_ : in_)[chunk.block];
      if (std::ssize(cells) < begin + count) return std::vector<std::optional<T>>(count);
      return {cells.begin() + begin, cells.begin() + begin + count};
    }
    std::vector<std::optional<T>> cells;
    const auto found = scratch_.find({chunk.buffer, chunk.slot, copy});
    if (found != scratch_.end()) cells = found->second;
    cells.resize(count);
    return cells;
  }

  void Write(const Chunk& chunk, std::int64_t tile, std::int64_t copy,
             const std::vector<std::optional<T>>& cells) {
    if (IsScratch(chunk.buffer)) {
      scratch_[{chunk.buffer, chunk.slot, copy}] = cells;
      return;
    }
    auto& block = (chunk.buffer == BufferKind::kOut || setting_.in_place ? out_ : in_)[chunk.block];
    std::copy(cells.begin(), cells.end(), block.begin() + Extent(chunk.block, tile).first);
  }

  // The first element of a block within a tile, and how many there are.
  std::pair<std::int64_t, std::int64_t> Extent(std::int64_t block, std::int64_t tile) const {
    const std::int64_t size = setting_.block_elements[block];
    // No product: a tile may be larger than any block.
    const std::int64_t begin =
        tile == 0 ? 0 : std::min(size, tile * std::min(setting_.tile_elements, size));
    return {begin, std::min(setting_.tile_elements, size - begin)};
  }

  const std::vector<std::optional<T>>& out(std::int64_t block) const { return out_[block]; }

 private:
  Setting setting_;
  std::vector<std::vector<std::optional<T>>> in_, out_;  // by block
  std::map<std::tuple<BufferKind, std::int64_t, std::int64_t>, std::vector<std::optional<T>>>
      scratch_;  // by buffer, slot, copy
};

// Carries out `e` on `in` and returns `out`; blocks that a rank does not hold are empty. Errors: as
// LinearOrder; memory that is read before it is written; a message of another size than its recv
// wants. REQUIRES: in has e.group_size ranks with as many blocks as setting.block_elements, each
// empty or of the size given there.
template <typename T>
Result<RankBlocks<T>> Interpret(const Expansion& e, const Setting& setting,
                                const Arithmetic<T>& arithmetic, const RankBlocks<T>& in) {
  using Cells = std::vector<std::optional<T>>;
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Action> order,
                          LinearOrder(e, TileCount(setting), setting.pick, setting.seed));
  std::vector<RankMemory<T>> memory;
  for (const auto& blocks : in) memory.emplace_back(setting, blocks);
  std::map<std::pair<MessageKey, std::int64_t>, std::vector<Cells>> messages;

  for (const Action& action : order) {
    const Step& step = e.ranks[action.rank][action.step];
    RankMemory<T>& mine = memory[action.rank];
    const std::int64_t copy = action.tile % e.frames[action.rank].tiles;
    const auto wrong = [&](const std::string& why) {
      return InvalidArgument(step.ToString() + " (rank " + std::to_string(action.rank) +
                             "): " + why);
    };
    // 1. What the step takes in: its operands, or the message.
    std::vector<Cells> taken;
    if (step.verb == Verb::kRecv) {
      taken = std::move(messages[{KeyOf(step, action.rank), action.tile}]);
      if (taken.size() != step.chunks.size()) return wrong("the message has other chunks");
    } else {
      for (std::size_t i = step.verb == Verb::kSend ? 0 : 1; i < step.chunks.size(); ++i) {
        Cells cells = mine.Read(step.chunks[i], action.tile, copy);
        for (std::optional<T>& cell : cells) {
          if (!cell.has_value()) {
            return wrong(step.chunks[i].ToString() + " is read before it is written");
          }
          if (step.chunks[i].scaled) cell = arithmetic.scale(*cell);
        }
        taken.push_back(std::move(cells));
      }
    }
    // 2. What it makes of it.
    if (step.verb == Verb::kSend) {
      messages[{KeyOf(step, action.rank), action.tile}] = std::move(taken);
      continue;
    }
    if (step.verb == Verb::kReduce) {
      if (taken[0].size() != taken[1].size()) return wrong("the operands differ in size");
      for (std::size_t i = 0; i < taken[0].size(); ++i) {
        taken[0][i] = arithmetic.op(*taken[0][i], *taken[1][i]);
      }
    }
    if (step.finish) {
      for (std::optional<T>& cell : taken[0]) cell = arithmetic.finish(*cell);
    }
    // 3. Where it puts it.
    const std::size_t written = step.verb == Verb::kRecv ? step.chunks.size() : 1;
    for (std::size_t i = 0; i < written; ++i) {
      const std::int64_t wanted = mine.Extent(step.chunks[i].block, action.tile).second;
      if (std::ssize(taken[i]) != wanted) return wrong("what is written has another size");
      mine.Write(step.chunks[i], action.tile, copy, taken[i]);
    }
  }

  RankBlocks<T> out(e.group_size);
  for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
    out[rank].resize(setting.block_elements.size());
    for (std::int64_t b = 0; b < std::ssize(setting.block_elements); ++b) {
      if (!OutHolds(e.op, e.frames[rank].own, rank, e.root, b)) continue;
      for (const std::optional<T>& cell : memory[rank].out(b)) {
        if (!cell.has_value()) {
          return InvalidArgument("rank " + std::to_string(rank) + " ends with out[" +
                                 std::to_string(b) + "] not written");
        }
        out[rank][b].push_back(*cell);
      }
    }
  }
  return out;
}

}  // namespace chorus
