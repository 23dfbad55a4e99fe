#include "chorus/schedule/rounds.h"

#include <algorithm>
#include <map>

#include "chorus/schedule/linear_order.h"

namespace chorus {

Result<std::vector<std::vector<std::int64_t>>> Rounds(const Expansion& expansion) {
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Action> order, LinearOrder(expansion, 1, Pick::kFirst));
  std::vector<std::vector<std::int64_t>> rounds(expansion.group_size);
  for (std::int64_t rank = 0; rank < expansion.group_size; ++rank) {
    rounds[rank].resize(expansion.ranks[rank].size());
  }
  std::map<MessageKey, std::int64_t> sent;
  for (const Action& action : order) {
    const Step& step = expansion.ranks[action.rank][action.step];
    std::int64_t round = 0;
    for (std::int64_t i : step.after) round = std::max(round, rounds[action.rank][i]);
    if (step.verb == Verb::kSend) sent[KeyOf(step, action.rank)] = ++round;
    if (step.verb == Verb::kRecv) round = std::max(round, sent[KeyOf(step, action.rank)]);
    rounds[action.rank][action.step] = round;
  }
  return rounds;
}

}  // namespace chorus
