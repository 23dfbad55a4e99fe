// Bytes of a schedule, exactly: counted from its sends, for blocks of any sizes.
//
// The tiles of a block add up to the block, so the number of tiles does not matter.
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/schedule/schedule.h"

namespace chorus {

// What an element and an accumulator weigh on the wire, in bytes: {2, 4} for bf16, {4, 4} for f32.
struct WireSizes {
  std::int64_t element = 0;
  std::int64_t accumulator = 0;
};

// What one rank sends, all messages together. Errors: as Schedule::ForRank; another number of
// block sizes than the schedule has blocks.
Result<Bytes> BytesSent(const Schedule& schedule, std::int64_t group_size, std::int64_t rank,
                        std::int64_t root, const std::vector<std::int64_t>& block_elements,
                        const WireSizes& sizes);

}  // namespace chorus
