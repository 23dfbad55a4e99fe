// The search behind PlanReshard: a shortest path over layouts.
//
// Internal to the room. A layout is written down in a few bytes: only the axes that move, numbered,
// dimension after dimension, then those that are still a sum. Paths are links to where they came
// from. Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chorus/mesh/spec.h"
#include "chorus/shard/reshard.h"
#include "chorus/shard/tariff.h"

namespace chorus {

// What a shortest path is short in.
enum class ReshardAim : std::uint8_t { kPrice, kPeak };

// The question. `from` and `to` have equal dimensions, axes and sizes are checked, and every sum of
// `to` is one of `from`.
struct ReshardQuestion {
  const Spec& from;
  const Spec& to;
  DType dtype;
  const Mesh& mesh;
  const DimSizes& sizes;
  const Tariff& tariff;
  ReshardAim aim = ReshardAim::kPrice;
  std::optional<Bytes> most_memory;
};

// Nothing only if memory does not allow it: without a limit every target is reached, by gathering
// and reducing all and slicing then.
std::optional<Reshard> FindReshard(const ReshardQuestion& question);

// What operand, result and workspace of a move take on rank 0, as WorkspaceBytes and PeakMemory
// (account.h) count it; an all_reduce works in place.
Bytes MemoryOfMove(const Spec& before, const Move& move, DType dtype, const Mesh& mesh,
                   const DimSizes& sizes);

}  // namespace chorus
