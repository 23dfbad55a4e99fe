#include "chorus/shard/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chorus/program/account.h"
#include "chorus/shard/traffic.h"

namespace chorus {

Result<std::vector<ProductWay>> WaysOf(const Product& product, const std::vector<ChainPlan>& plans,
                                       const Mesh& mesh, const DimSizes& sizes, DType dtype,
                                       const WayLimits& limits) {
  std::vector<ProductWay> ways;
  std::optional<Bytes> least;
  for (const ChainPlan& plan : plans) {
    ProductWay way;
    way.plan = plan;
    CHORUS_ASSIGN_OR_RETURN(way.program, ProgramOf(product, plan, dtype));
    way.peak = PeakMemory(way.program, mesh, sizes, 0).peak;
    least = least ? std::min(*least, way.peak) : way.peak;
    if (limits.most_memory && way.peak > *limits.most_memory) continue;
    way.sent = MostSent(way.program, mesh, sizes);
    way.flops = ProductFlops(way.program, mesh, sizes, 0);
    if (limits.placement != nullptr) {
      CHORUS_ASSIGN_OR_RETURN(way.time, TimeOf(way.program, *limits.placement, sizes));
    }
    ways.push_back(std::move(way));
  }
  if (ways.empty() && least) {
    return InvalidArgument(
        fmt::format("{} cannot be done within {} bytes a rank; the way that needs "
                    "least takes {}",
                    product.ToString(), limits.most_memory->value(), least->value()));
  }
  if (limits.placement != nullptr) {
    std::stable_sort(ways.begin(), ways.end(), [](const ProductWay& a, const ProductWay& b) {
      return std::make_pair(a.time->OneAfterAnother(), a.sent) <
             std::make_pair(b.time->OneAfterAnother(), b.sent);
    });
  }
  return ways;
}

}  // namespace chorus
