#include "chorus/schedule/bytes.h"

#include <fmt/format.h>

namespace chorus {

Result<Bytes> BytesSent(const Schedule& schedule, std::int64_t group_size, std::int64_t rank,
                        std::int64_t root, const std::vector<std::int64_t>& block_elements,
                        const WireSizes& sizes) {
  CHORUS_ASSIGN_OR_RETURN(const Frame frame, schedule.FrameFor(group_size, rank, root));
  if (frame.blocks != std::ssize(block_elements)) {
    return InvalidArgument(fmt::format("{} block sizes are given, {} {} has {} blocks",
                                       block_elements.size(), schedule.name(), Name(schedule.op()),
                                       frame.blocks));
  }
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Step> steps, schedule.ForRank(group_size, rank, root));
  Bytes sent;
  for (const Step& step : steps) {
    if (step.verb != Verb::kSend) continue;
    for (const Chunk& chunk : step.chunks) {
      const bool accumulators = HoldsAccumulators(chunk.buffer);
      sent +=
          Bytes(block_elements[chunk.block] * (accumulators ? sizes.accumulator : sizes.element));
    }
  }
  return sent;
}

}  // namespace chorus
