#include "chorus/schedule/sum_order.h"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "chorus/schedule/linear_order.h"

namespace chorus {
namespace {

// x_first op ... op x_{first + count - 1}, added left to right; one alone is an input.
struct Stretch {
  std::int64_t first = 0;
  std::int64_t count = 1;
};

// Carries out one tile on Stretches. What is none is forgotten, so that who reads it finds nothing.
class OrderTracker {
 public:
  explicit OrderTracker(const Expansion& expansion) : e_(expansion) {}

  bool AllLeftToRight() {
    const auto order = LinearOrder(e_, 1, Pick::kFirst);
    if (!order.ok()) return false;
    for (const Action& action : *order) {
      const auto rank = static_cast<std::size_t>(action.rank);
      Do(action.rank, e_.ranks[rank][static_cast<std::size_t>(action.step)]);
    }
    for (std::int64_t rank = 0; rank < e_.group_size; ++rank) {
      const std::int64_t blocks = e_.frames[static_cast<std::size_t>(rank)].blocks;
      for (std::int64_t block = 0; block < blocks; ++block) {
        if (!OutHolds(e_.MemberOf(rank), block)) continue;
        const auto result = Read(rank, Chunk{BufferKind::kOut, 0, block, false});
        if (!result.has_value() || result->count != e_.group_size) return false;
      }
    }
    return true;
  }

 private:
  using Memory = std::tuple<std::int64_t, BufferKind, std::int64_t>;  // rank, buffer, slot or block
  using Content = std::optional<Stretch>;

  static Memory MemoryOf(std::int64_t rank, const Chunk& chunk) {
    return {rank, chunk.buffer, IsScratch(chunk.buffer) ? chunk.slot : chunk.block};
  }

  Content Read(std::int64_t rank, const Chunk& chunk) const {
    if (chunk.buffer == BufferKind::kIn) return Stretch{rank, 1};
    const auto found = memory_.find(MemoryOf(rank, chunk));
    return found == memory_.end() ? std::nullopt : found->second;
  }

  void Do(std::int64_t rank, const Step& step) {
    switch (step.verb) {
      case Verb::kSend:
        for (const Chunk& chunk : step.chunks) {
          messages_[KeyOf(step, rank)].push_back(Read(rank, chunk));
        }
        return;
      case Verb::kRecv:
        for (std::size_t i = 0; i < step.chunks.size(); ++i) {
          memory_[MemoryOf(rank, step.chunks[i])] = messages_[KeyOf(step, rank)][i];
        }
        return;
      case Verb::kCopy:
        memory_[MemoryOf(rank, step.dst())] = Read(rank, step.a());
        return;
      case Verb::kReduce:
        break;
    }
    const Content a = Read(rank, step.a());
    const Content b = Read(rank, step.b());
    // a op (b op c) is not (a op b) op c.
    const bool follows =
        a.has_value() && b.has_value() && a->first == 0 && b->count == 1 && b->first == a->count;
    Content& dst = memory_[MemoryOf(rank, step.dst())];
    dst = follows ? Content(Stretch{0, a->count + 1}) : std::nullopt;
  }

  const Expansion& e_;
  std::map<Memory, Content> memory_;
  std::map<MessageKey, std::vector<Content>> messages_;
};

}  // namespace

bool AddsLeftToRight(const Expansion& expansion) {
  return Reduces(expansion.op) && !IsScan(expansion.op) && OrderTracker(expansion).AllLeftToRight();
}

}  // namespace chorus
