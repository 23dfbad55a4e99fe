#include "chorus/schedule/expansion.h"

#include <fmt/format.h>

namespace chorus {

Result<Expansion> Expand(const Schedule& schedule, std::int64_t group_size, std::int64_t root) {
  Expansion e;
  e.op = schedule.op();
  e.order = schedule.order();
  e.group_size = group_size;
  e.root = root;
  for (std::int64_t rank = 0; rank < std::max<std::int64_t>(group_size, 1); ++rank) {
    CHORUS_ASSIGN_OR_RETURN(Frame frame, schedule.FrameFor(group_size, rank, root));
    CHORUS_ASSIGN_OR_RETURN(std::vector<Step> steps, schedule.ForRank(group_size, rank, root));
    if (rank > 0 && frame.blocks != e.frames[0].blocks) {
      return InvalidArgument(
          fmt::format("rank 0 has {} blocks and rank {} has {}; all ranks must have the same",
                      e.frames[0].blocks, rank, frame.blocks));
    }
    e.frames.push_back(frame);
    e.ranks.push_back(std::move(steps));
  }
  return e;
}

MessageKey KeyOf(const Step& step, std::int64_t rank) {
  const bool send = step.verb == Verb::kSend;
  return {send ? rank : step.peer, send ? step.peer : rank, step.message};
}

}  // namespace chorus
