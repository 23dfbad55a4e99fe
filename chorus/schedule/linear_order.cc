#include "chorus/schedule/linear_order.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "chorus/base/random.h"

namespace chorus {
namespace {

// Kahn's algorithm over nodes (tile, rank, step), numbered in this order.
class Sequencer {
 public:
  Sequencer(const Expansion& e, std::int64_t tiles, Pick pick, std::uint64_t seed)
      : e_(e), tiles_(tiles), pick_(pick), random_(seed, "linear order") {
    for (const std::vector<Step>& steps : e.ranks) {
      first_.push_back(per_tile_);
      per_tile_ += static_cast<std::int64_t>(steps.size());
    }
  }

  Result<std::vector<Action>> Run() {
    CHORUS_RETURN_IF_ERROR(Connect());
    std::vector<Action> order;
    while (!ready_.empty()) {
      const std::int64_t node = ready_.begin()->second;
      ready_.erase(ready_.begin());
      order.push_back(ActionOf(node));
      Done(order.back(), node);
    }
    const std::int64_t total = per_tile_ * tiles_;
    if (static_cast<std::int64_t>(order.size()) == total) return order;
    for (std::int64_t node = 0; node < total; ++node) {
      if (waits_[node] == 0) continue;
      const Action stuck = ActionOf(node);
      return InvalidArgument(
          fmt::format("step {} of rank {} can never begin: it waits, in the "
                      "end, for itself",
                      e_.ranks[stuck.rank][stuck.step].label, stuck.rank));
    }
    return Internal("linear order lost a step");
  }

 private:
  std::int64_t Node(std::int64_t tile, std::int64_t rank, std::int64_t step) const {
    return tile * per_tile_ + first_[rank] + step;
  }

  Action ActionOf(std::int64_t node) const {
    const std::int64_t in_tile = node % per_tile_;
    std::int64_t rank = e_.group_size - 1;
    while (first_[rank] > in_tile) --rank;
    return {node / per_tile_, rank, in_tile - first_[rank]};
  }

  void AddEdge(std::int64_t from, std::int64_t to) {
    next_[from].push_back(to);
    ++waits_[to];
  }

  // Builds the edges of all tiles. Everything but the tile number is the same for each of them.
  Status Connect() {
    const std::int64_t total = per_tile_ * tiles_;
    next_.resize(total);
    waits_.resize(total);
    remaining_.assign(tiles_ * e_.group_size, 0);
    std::map<MessageKey, std::pair<std::int64_t, std::int64_t>> sends;  // rank, step
    std::map<MessageKey, std::int64_t> recvs;
    for (std::int64_t rank = 0; rank < e_.group_size; ++rank) {
      for (std::int64_t i = 0; i < std::ssize(e_.ranks[rank]); ++i) {
        const Step& step = e_.ranks[rank][i];
        bool fresh = true;
        if (step.verb == Verb::kSend) fresh = sends.insert({KeyOf(step, rank), {rank, i}}).second;
        if (step.verb == Verb::kRecv) fresh = recvs.insert({KeyOf(step, rank), i}).second;
        if (!fresh) return Unmatched(rank, step, "there is a second of the same number");
      }
    }
    for (const auto& [key, send] : sends) {
      const Step& step = e_.ranks[send.first][send.second];
      if (!recvs.contains(key)) return Unmatched(send.first, step, "nobody receives it");
    }
    for (std::int64_t rank = 0; rank < e_.group_size; ++rank) {
      for (std::int64_t i = 0; i < std::ssize(e_.ranks[rank]); ++i) {
        const Step& step = e_.ranks[rank][i];
        const auto send = step.verb == Verb::kRecv ? sends.find(KeyOf(step, rank)) : sends.end();
        if (step.verb == Verb::kRecv && send == sends.end()) {
          return Unmatched(rank, step, "nobody sends it");
        }
        for (std::int64_t t = 0; t < tiles_; ++t) {
          for (std::int64_t before : step.after) AddEdge(Node(t, rank, before), Node(t, rank, i));
          if (send != sends.end()) {
            AddEdge(Node(t, send->second.first, send->second.second), Node(t, rank, i));
          }
        }
      }
    }
    for (std::int64_t t = 0; t < tiles_; ++t) {
      for (std::int64_t rank = 0; rank < e_.group_size; ++rank) {
        remaining_[t * e_.group_size + rank] = std::ssize(e_.ranks[rank]);
        const bool later = t >= e_.frames[rank].tiles;  // waits for the tile that frees its scratch
        for (std::int64_t i = 0; later && i < std::ssize(e_.ranks[rank]); ++i) {
          ++waits_[Node(t, rank, i)];
        }
      }
    }
    for (std::int64_t node = 0; node < total; ++node) {
      if (waits_[node] == 0) MakeReady(node);
    }
    return OkStatus();
  }

  static Status Unmatched(std::int64_t rank, const Step& step, std::string_view why) {
    return InvalidArgument(fmt::format("{} (rank {}): {}", step.ToString(), rank, why));
  }

  void MakeReady(std::int64_t node) {
    std::int64_t key = node;
    if (pick_ == Pick::kLast) key = -node;
    if (pick_ == Pick::kRandom) {
      key = static_cast<std::int64_t>(random_.Bits(static_cast<std::uint64_t>(node)) >> 1);
    }
    ready_.insert({key, node});
  }

  void Release(std::int64_t node) {
    if (--waits_[node] == 0) MakeReady(node);
  }

  // The last step of a tile on a rank frees the scratch that a later tile waits for.
  void Done(const Action& action, std::int64_t node) {
    for (std::int64_t next : next_[node]) Release(next);
    if (--remaining_[action.tile * e_.group_size + action.rank] > 0) return;
    const std::int64_t freed = action.tile + e_.frames[action.rank].tiles;
    if (freed >= tiles_) return;
    for (std::int64_t i = 0; i < std::ssize(e_.ranks[action.rank]); ++i) {
      Release(Node(freed, action.rank, i));
    }
  }

  const Expansion& e_;
  const std::int64_t tiles_;
  const Pick pick_;
  const RandomStream random_;
  std::int64_t per_tile_ = 0;        // nodes of one tile
  std::vector<std::int64_t> first_;  // by rank: its first node in a tile
  std::vector<std::vector<std::int64_t>> next_;
  std::vector<std::int64_t> waits_;      // by node: how many must end before it begins
  std::vector<std::int64_t> remaining_;  // by (tile, rank): steps not yet done
  std::set<std::pair<std::int64_t, std::int64_t>> ready_;
};

}  // namespace

Result<std::vector<Action>> LinearOrder(const Expansion& expansion, std::int64_t tiles, Pick pick,
                                        std::uint64_t seed) {
  return Sequencer(expansion, tiles, pick, seed).Run();
}

}  // namespace chorus
