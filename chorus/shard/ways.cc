#include "chorus/shard/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chorus/program/account.h"
#include "chorus/shard/traffic.h"

namespace chorus {
namespace {

// Makes ways of plans for one question.
class WayMaker {
 public:
  WayMaker(const Product& product, const Mesh& mesh, const DimSizes& sizes, DType dtype,
           const Tariff& tariff, const WayLimits& limits)
      : product_(product),
        mesh_(mesh),
        sizes_(sizes),
        dtype_(dtype),
        tariff_(tariff),
        limits_(limits) {}

  Result<ProductWay> Make(const ChainPlan& plan) {
    ProductWay way;
    way.plan = plan;
    CHORUS_ASSIGN_OR_RETURN(way.program, ProgramOf(product_, plan, dtype_));
    way.peak = PeakMemory(way.program, mesh_, sizes_, 0).peak;
    least_ = least_ ? std::min(*least_, way.peak) : way.peak;
    way.sent = MostSent(way.program, mesh_, sizes_);
    way.flops = ProductFlops(way.program, mesh_, sizes_, 0);
    if (limits_.placement != nullptr) {
      CHORUS_ASSIGN_OR_RETURN(way.time, TimeOf(way.program, *limits_.placement, sizes_));
    }
    return way;
  }

  bool Fits(const ProductWay& way) const {
    return !limits_.most_memory || way.peak <= *limits_.most_memory;
  }

  // `plan` by its loops: for each product and each collective of it the fastest that fits.
  Result<std::vector<ProductWay>> Looped(const ChainPlan& plan) {
    std::vector<ProductWay> fastest;
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      std::optional<ChunkLoop::Of> of;
      Seconds least;
      for (const ChunkLoop& loop : LoopsOf(plan.steps[s].plan, mesh_, sizes_)) {
        ChainPlan looped = plan;
        looped.steps[s].loop = loop;
        looped.rule += "; " + ToString(loop, plan.steps[s].plan);
        CHORUS_ASSIGN_OR_RETURN(ProductWay way, Make(looped));
        if (!Fits(way)) continue;
        const Seconds time = Elapsed(way);
        if (of == loop.of && time >= least) continue;
        if (of != loop.of) fastest.emplace_back();
        fastest.back() = std::move(way);
        of = loop.of;
        least = time;
      }
    }
    return fastest;
  }

  Seconds Elapsed(const ProductWay& way) const {
    if (way.time) return way.time->Elapsed();
    return TimelineOf(way.program, TimesBy(tariff_, way.program, mesh_, sizes_), true).total;
  }

  Status DoesNotFit() const {
    return InvalidArgument(
        fmt::format("{} cannot be done within {} bytes a rank; the way that needs "
                    "least takes {}",
                    product_.ToString(), limits_.most_memory->value(), least_->value()));
  }

 private:
  const Product& product_;
  const Mesh& mesh_;
  const DimSizes& sizes_;
  const DType dtype_;
  const Tariff& tariff_;
  const WayLimits& limits_;
  std::optional<Bytes> least_;  // of all ways looked at
};

bool HasLoop(const ChainPlan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const ChainStep& step) { return step.loop.has_value(); });
}

}  // namespace

Result<std::vector<ProductWay>> WaysOf(const Product& product, const std::vector<ChainPlan>& plans,
                                       const Mesh& mesh, const DimSizes& sizes, DType dtype,
                                       const Tariff& tariff, const WayLimits& limits) {
  WayMaker maker(product, mesh, sizes, dtype, tariff, limits);
  std::vector<ProductWay> ways;
  for (const ChainPlan& plan : plans) {
    CHORUS_ASSIGN_OR_RETURN(ProductWay way, maker.Make(plan));
    if (maker.Fits(way)) ways.push_back(std::move(way));
  }
  if (ways.empty() && limits.most_memory) return maker.DoesNotFit();
  const auto sort = [&ways, &limits] {
    if (limits.placement == nullptr) return;
    std::stable_sort(ways.begin(), ways.end(), [](const ProductWay& a, const ProductWay& b) {
      return std::make_pair(a.time->Elapsed(), a.sent) < std::make_pair(b.time->Elapsed(), b.sent);
    });
  };
  sort();
  if (limits.placement == nullptr && !limits.overlap) return ways;
  if (limits.overlap && ways[0].sent == Bytes(0)) {
    return InvalidArgument(
        fmt::format("{} moves nothing, so there is nothing to overlap", product.ToString()));
  }
  const bool have_loops = std::any_of(plans.begin(), plans.end(), HasLoop);  // asked before
  std::size_t looped = 0;
  for (std::size_t i = 0; i < ways.size() && looped < kLoopedWays && !have_loops; ++i) {
    CHORUS_ASSIGN_OR_RETURN(std::vector<ProductWay> more, maker.Looped(ways[i].plan));
    if (more.empty()) continue;
    looped += 1;
    ways.insert(ways.begin() + static_cast<std::ptrdiff_t>(i) + 1, more.begin(), more.end());
    i += more.size();
  }
  sort();
  if (!limits.overlap) return ways;
  ways.erase(std::remove_if(ways.begin(), ways.end(),
                            [](const ProductWay& way) { return !HasLoop(way.plan); }),
             ways.end());
  if (ways.empty()) {
    return InvalidArgument(fmt::format(
        "{} cannot be overlapped: no way{} gathers an operand last or scatters its result first",
        product.ToString(), limits.most_memory ? " within the memory" : ""));
  }
  if (limits.placement == nullptr) {
    std::stable_sort(ways.begin(), ways.end(), [&](const ProductWay& a, const ProductWay& b) {
      return maker.Elapsed(a) < maker.Elapsed(b);
    });
  }
  return ways;
}

}  // namespace chorus
