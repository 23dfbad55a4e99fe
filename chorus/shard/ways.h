// Ways: every plan of a product as a program, with what it sends, computes, holds and takes.
//
// Numbers are those of rank 0, whose blocks are the largest, and of the busiest rank where blocks
// change ranks (MostSent): bytes as the runtime counts them, peak as its allocator does. Thread
// safety: pure.
#pragma once

#include <optional>
#include <vector>

#include "chorus/shard/product.h"

namespace chorus {

// The ways of `plans`, best first: by the time that they take on a machine, else as `plans` are
// ordered; what is alike in that by bytes sent. On a machine, or where limits.overlap asks for it,
// the best kLoopedWays of them that can are also done by loops over chunks (chunk_loop.h), each
// collective by the number of chunks and directions that takes least time, by the machine, else by
// the tariff. Where limits.most_memory leaves out what gathers whole operands, the cheapest
// kStreamedWays of those that then fit gather panel by panel (panel_stream.h), in as few panels as
// fit, or are done by a loop over chunks; limits.streams asks for the first in panels of a block
// each. Errors: as TimeOf; no way within the memory, with the least that would do; where
// limits.overlap asks for one, no way with a loop, or none needed.
inline constexpr std::size_t kLoopedWays = 4;
inline constexpr std::size_t kStreamedWays = 4;
Result<std::vector<ProductWay>> WaysOf(const Product& product, const std::vector<ChainPlan>& plans,
                                       const Mesh& mesh, const DimSizes& sizes, DType dtype,
                                       const Tariff& tariff, const WayLimits& limits);

}  // namespace chorus
