// The search behind PlanReshard: a shortest path over layouts.
//
// Internal to the room. A layout is one number (layout_code.h); paths are links to where they came
// from. Thread safety: none.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chorus/mesh/spec.h"
#include "chorus/shard/reshard.h"
#include "chorus/shard/tariff.h"

namespace chorus {

// What a shortest path is short in.
enum class ReshardAim : std::uint8_t { kPrice, kPeak };

// The question. `from` and `to` have equal dimensions, at most kMostReshardDims; axes and sizes are
// checked, at most kMostMovingAxes move, and every sum of `to` is one of `from`.
struct ReshardQuestion {
  const Spec& from;
  const Spec& to;
  DType dtype;
  const Mesh& mesh;
  const DimSizes& sizes;
  const Tariff& tariff;
  ReshardAim aim = ReshardAim::kPrice;
  std::optional<Bytes> most_memory = std::nullopt;
  double most_price = std::numeric_limits<double>::infinity();  // dearer ways are not looked at
  IdleAxes idle = IdleAxes::kBorrow;
};

class ReshardSearch {
 public:
  ReshardSearch();
  ~ReshardSearch();

  // Nothing only if memory or price do not allow it: without a limit every target is reached, by
  // gathering and reducing all and slicing then. `without_idle`: what was found by price where idle
  // axes are left, if that is known.
  std::optional<ReshardPlan> Find(const ReshardQuestion& question,
                                  const ReshardPlan* without_idle = nullptr);

  struct Memory;

 private:
  std::unique_ptr<Memory> memory_;  // from one question to the next, so that little is asked for
};

}  // namespace chorus
