// The reference meaning of a schedule: one thread carries out the steps of all ranks on real data.
//
// Whatever executes, proves or prices schedules is compared with this. It is written to be
// obviously right, not fast: each message is copied, each element is checked to have been written
// before it is read. T is any value type: double, std::int64_t, std::string (whose + shows the
// order of a sum). Accumulators and elements are both T; `finish` does the rounding.
// Thread safety: pure.
#pragma once

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
#include "chorus/schedule/rank_memory.h"

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

// One run of Interpret.
template <typename T>
class ReferenceRun {
 public:
  ReferenceRun(const Expansion& e, const Setting& setting, const Arithmetic<T>& arithmetic,
               const RankBlocks<T>& in)
      : e_(e), setting_(setting), arithmetic_(arithmetic) {
    for (const auto& blocks : in) {
      memory_.emplace_back(setting.block_elements, setting.tile_elements, setting.in_place, blocks);
    }
  }

  // 1. What the step takes in, operands or message; 2. what it makes of it; 3. where it puts it.
  Status Do(const Action& action) {
    const Step& step = e_.ranks[action.rank][action.step];
    std::vector<Cells> values;
    CHORUS_RETURN_IF_ERROR(Take(step, action, values));
    if (step.verb == Verb::kSend) {
      messages_[{KeyOf(step, action.rank), action.tile}] = std::move(values);
      return OkStatus();
    }
    if (step.verb == Verb::kReduce) {
      if (values[0].size() != values[1].size()) {
        return Wrong(step, action, "the operands differ in size");
      }
      for (std::size_t i = 0; i < values[0].size(); ++i) {
        values[0][i] = arithmetic_.op(*values[0][i], *values[1][i]);
      }
    }
    if (step.finish) {
      for (std::optional<T>& cell : values[0]) cell = arithmetic_.finish(*cell);
    }
    const std::size_t written = step.verb == Verb::kRecv ? step.chunks.size() : 1;
    for (std::size_t i = 0; i < written; ++i) {
      if (!memory_[action.rank].Write(step.chunks[i], action.tile, CopyOf(action), values[i])) {
        return Wrong(step, action, step.chunks[i].ToString() + " has no place for this");
      }
    }
    return OkStatus();
  }

  Result<RankBlocks<T>> Out() const {
    RankBlocks<T> out(e_.group_size);
    for (std::int64_t rank = 0; rank < e_.group_size; ++rank) {
      out[rank].resize(setting_.block_elements.size());
      for (std::int64_t b = 0; b < std::ssize(setting_.block_elements); ++b) {
        if (!OutHolds(e_.MemberOf(rank), b)) continue;
        for (const std::optional<T>& cell : memory_[rank].out(b)) {
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

 private:
  using Cells = typename RankMemory<T>::Cells;

  Status Take(const Step& step, const Action& action, std::vector<Cells>& values) {
    if (step.verb == Verb::kRecv) {
      values = std::move(messages_[{KeyOf(step, action.rank), action.tile}]);
      const bool same = values.size() == step.chunks.size();
      return same ? OkStatus() : Wrong(step, action, "the message has other chunks");
    }
    for (std::size_t i = step.verb == Verb::kSend ? 0 : 1; i < step.chunks.size(); ++i) {
      const Chunk& chunk = step.chunks[i];
      Cells cells = memory_[action.rank].Read(chunk, action.tile, CopyOf(action));
      for (std::optional<T>& cell : cells) {
        if (!cell.has_value()) {
          return Wrong(step, action, chunk.ToString() + " is read before it is written");
        }
        if (chunk.scaled) cell = arithmetic_.scale(*cell);
      }
      values.push_back(std::move(cells));
    }
    return OkStatus();
  }

  std::int64_t CopyOf(const Action& action) const {
    return action.tile % e_.frames[action.rank].tiles;
  }

  static Status Wrong(const Step& step, const Action& action, const std::string& why) {
    return InvalidArgument(step.ToString() + " (rank " + std::to_string(action.rank) + "): " + why);
  }

  const Expansion& e_;
  const Setting& setting_;
  const Arithmetic<T>& arithmetic_;
  std::vector<RankMemory<T>> memory_;                                           // by rank
  std::map<std::pair<MessageKey, std::int64_t>, std::vector<Cells>> messages_;  // by key and tile
};

// Carries out `e` on `in` and returns `out`; blocks that a rank does not hold are empty. Errors: as
// LinearOrder; memory that is read before it is written; a message of another size than its recv
// wants; a write into memory that the rank does not have. REQUIRES: in has e.group_size ranks with
// as many blocks as setting.block_elements, each empty or of the size given there.
template <typename T>
Result<RankBlocks<T>> Interpret(const Expansion& e, const Setting& setting,
                                const Arithmetic<T>& arithmetic, const RankBlocks<T>& in) {
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Action> order,
                          LinearOrder(e, TileCount(setting), setting.pick, setting.seed));
  ReferenceRun<T> run(e, setting, arithmetic, in);
  for (const Action& action : order) CHORUS_RETURN_IF_ERROR(run.Do(action));
  return run.Out();
}

}  // namespace chorus
