#include "chorus/shard/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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

  // The plan as it is. Of a way that does not fit, no more than its peak or less.
  Result<ProductWay> MakePlain(const ChainPlan& plan) {
    const Bytes at_least = AtLeast(plan);
    if (!IsTooMuch(at_least)) return Make(plan);
    ProductWay way;
    way.plan = plan;
    way.peak = at_least;
    return way;
  }

  // Of a way that does not fit, no more than its peak.
  Result<ProductWay> Make(const ChainPlan& plan) {
    ProductWay way;
    way.plan = plan;
    CHORUS_ASSIGN_OR_RETURN(way.program, ProgramOf(product_, plan, dtype_));
    way.peak = MostMemory(way.program, mesh_, sizes_);
    if (!Fits(way)) return way;
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
        if (IsTooMuch(AtLeast(plan, s, loop))) continue;
        CHORUS_ASSIGN_OR_RETURN(ProductWay way, Make(WithLoop(plan, s, loop)));
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

  // `plan` with operands that come panel by panel, each step alone and all that can: of each the
  // fewest panels that fit.
  Result<std::vector<ProductWay>> Streamed(const ChainPlan& plan) {
    std::vector<ProductWay> found;
    std::vector<std::vector<PanelStream>> streams;
    std::vector<std::pair<std::size_t, std::size_t>> asked;  // step, the first of one dimension
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      streams.push_back(StreamsOf(plan.steps[s].plan, mesh_, sizes_));
      for (std::size_t k = 0; k < streams[s].size(); ++k) {
        if (k == 0 || streams[s][k].dim != streams[s][k - 1].dim) asked.emplace_back(s, k);
      }
    }
    for (const auto& [s, first] : asked) {
      std::vector<PanelStream> of_dim;
      for (const PanelStream& stream : streams[s]) {
        if (stream.dim == streams[s][first].dim) of_dim.push_back(stream);
      }
      for (const PanelStream& stream : of_dim) {
        if (IsTooMuch(AtLeast(plan, s, stream))) continue;
        Result<ProductWay> made = Make(WithStream(plan, s, stream));
        if (HasNoPrice(made.status())) continue;
        CHORUS_ASSIGN_OR_RETURN(ProductWay way, std::move(made));
        if (!Fits(way)) continue;
        found.push_back(std::move(way));
        break;
      }
    }
    if (found.empty() && plan.steps.size() > 1) {
      ChainPlan all = plan;
      for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        if (!streams[s].empty()) all = WithStream(all, s, streams[s].back());
      }
      Result<ProductWay> made = Make(all);
      if (HasNoPrice(made.status())) return found;
      CHORUS_ASSIGN_OR_RETURN(ProductWay way, std::move(made));
      if (Fits(way)) found.push_back(std::move(way));
    }
    return found;
  }

  // `plan` with its first stream of panels that are blocks, if it has one that needs less memory.
  Result<std::optional<ProductWay>> StreamedByBlocks(const ProductWay& plain) {
    for (std::size_t s = 0; s < plain.plan.steps.size(); ++s) {
      const ComputePlan& how = plain.plan.steps[s].plan;
      for (const PanelStream& stream : StreamsOf(how, mesh_, sizes_)) {
        if (stream.panels != PanelsOfBlocks(how, stream.dim, mesh_)) continue;
        Result<ProductWay> made = Make(WithStream(plain.plan, s, stream));
        if (HasNoPrice(made.status())) continue;
        CHORUS_ASSIGN_OR_RETURN(ProductWay way, std::move(made));
        if (way.peak < plain.peak) return std::optional<ProductWay>(std::move(way));
      }
    }
    return std::optional<ProductWay>();
  }

  Seconds Elapsed(const ProductWay& way) const {
    if (way.time) return way.time->Elapsed();
    return TimelineOf(way.program, TimesBy(tariff_, way.program, mesh_, sizes_), true).total;
  }

  Status CannotOverlap() const {
    return Unsupported(fmt::format(
        "{} cannot be overlapped: no way gathers an operand last or scatters its result first",
        product_.ToString()));
  }

  // What to say where no way of `plans` fits: the least that one of them needs, by whatever of its
  // panels or chunks.
  Status DoesNotFit(const std::vector<ChainPlan>& plans) {
    std::optional<Bytes> least;
    const auto look_at = [&](const ChainPlan& plan) -> Status {
      CHORUS_ASSIGN_OR_RETURN(const StepProgram program, ProgramOf(product_, plan, dtype_));
      if (least && PeakMemory(program, mesh_, sizes_, 0).peak >= *least) return OkStatus();
      const Bytes peak = MostMemory(program, mesh_, sizes_);
      if (least && peak >= *least) return OkStatus();
      if (limits_.placement != nullptr) {
        const Status timed = TimeOf(program, *limits_.placement, sizes_).status();
        if (HasNoPrice(timed)) return OkStatus();
        CHORUS_RETURN_IF_ERROR(timed);
      }
      least = peak;
      return OkStatus();
    };
    const auto may_be_less = [&](Bytes at_least) { return !least || at_least < *least; };
    for (const ChainPlan& plan : plans) {
      if (!limits_.overlap && may_be_less(AtLeast(plan))) CHORUS_RETURN_IF_ERROR(look_at(plan));
      ChainPlan all = plan;
      for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        std::vector<PanelStream> streams;
        if (!limits_.overlap) streams = StreamsOf(plan.steps[s].plan, mesh_, sizes_);
        for (const PanelStream& stream : streams) {
          if (!may_be_less(AtLeast(plan, s, stream))) continue;
          CHORUS_RETURN_IF_ERROR(look_at(WithStream(plan, s, stream)));
        }
        if (!streams.empty()) all = WithStream(all, s, streams.back());
        for (const ChunkLoop& loop : LoopsOf(plan.steps[s].plan, mesh_, sizes_)) {
          if (!may_be_less(AtLeast(plan, s, loop))) continue;
          CHORUS_RETURN_IF_ERROR(look_at(WithLoop(plan, s, loop)));
        }
      }
      if (plan.steps.size() > 1 && !limits_.overlap) CHORUS_RETURN_IF_ERROR(look_at(all));
    }
    if (!least) return CannotOverlap();
    const std::string product = product_.ToString();
    const std::int64_t most = limits_.most_memory->value();
    if (limits_.overlap) {
      return InvalidArgument(
          fmt::format("{} cannot be overlapped within {} bytes a rank; the way that needs "
                      "least takes {}",
                      product, most, least->value()));
    }
    return InvalidArgument(
        fmt::format("{} cannot be done within {} bytes a rank; the way that needs "
                    "least takes {}",
                    product, most, least->value()));
  }

 private:
  // A way that is not asked for is left out where a collective of it has no formula, as a broadcast
  // on a torus.
  static bool HasNoPrice(const Status& status) { return status.code() == StatusCode::kUnsupported; }
  bool IsTooMuch(Bytes needed) const {
    return limits_.most_memory && needed > *limits_.most_memory;
  }
  Bytes BytesOf(const Spec& spec) const {
    return Bytes(LocalShape(spec, mesh_, sizes_, 0).elements() * SizeOf(dtype_));
  }
  // What rank 0 holds of one of so many parts of dimension `dim`, at least.
  Bytes LeastPart(const Spec& spec, const std::string& dim, std::int64_t parts) const {
    const int d = spec.FindDim(dim);
    const std::int64_t length = d < 0 ? 0 : LocalShape(spec, mesh_, sizes_, 0)[d];
    return length == 0 ? Bytes(0) : Bytes(BytesOf(spec).value() / length * (length / parts));
  }
  // What rank 0 holds at the end of a product at least, `held` (k) of operand k if it has moved.
  template <typename Held>
  Bytes AtLeast(const ChainPlan& plan, std::size_t step, const Held& held) const {
    const ComputePlan& how = plan.steps[step].plan;
    Bytes bytes;
    for (const Spec& operand : product_.operands) bytes += BytesOf(operand);
    for (std::size_t k = 0; k < how.operands.size(); ++k) {
      if (!how.operand_moves[k].moves.empty()) bytes += held(k);
    }
    return bytes;
  }
  Bytes AtLeast(const ChainPlan& plan) const {
    Bytes most;
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const ComputePlan& how = plan.steps[s].plan;
      const auto all = [&](std::size_t k) { return BytesOf(how.operands[k]); };
      most = std::max(most, AtLeast(plan, s, all) + BytesOf(how.result));
    }
    return most;
  }
  Bytes AtLeast(const ChainPlan& plan, std::size_t step, const PanelStream& stream) const {
    const ComputePlan& how = plan.steps[step].plan;
    const auto held = [&](std::size_t k) {
      return ComesInPanels(how, stream.dim, k)
                 ? LeastPart(how.operands[k], stream.dim, stream.panels)
                 : BytesOf(how.operands[k]);
    };
    return AtLeast(plan, step, held) + BytesOf(how.result);
  }
  Bytes AtLeast(const ChainPlan& plan, std::size_t step, const ChunkLoop& loop) const {
    const ComputePlan& how = plan.steps[step].plan;
    const Move& move = MoveOf(how, loop.of);
    if (loop.of == ChunkLoop::Of::kResult) {  // at the end all chunks and what they are added to
      const auto all = [&](std::size_t k) { return BytesOf(how.operands[k]); };
      return AtLeast(plan, step, all) + BytesOf(move.result) + BytesOf(move.result);
    }
    const std::size_t looped = loop.of == ChunkLoop::Of::kLeft ? 0 : 1;
    const auto held = [&](std::size_t k) {
      const Spec& operand = how.operands[k];
      return k == looped ? LeastPart(operand, move.dim, std::int64_t{loop.turns} * loop.parts)
                         : BytesOf(operand);
    };
    return AtLeast(plan, step, held) + BytesOf(how.result);
  }

  static ChainPlan WithLoop(const ChainPlan& plan, std::size_t step, const ChunkLoop& loop) {
    ChainPlan looped = plan;
    looped.steps[step].loop = loop;
    looped.rule += "; " + ToString(loop, plan.steps[step].plan);
    return looped;
  }
  static ChainPlan WithStream(const ChainPlan& plan, std::size_t step, const PanelStream& stream) {
    ChainPlan streamed = plan;
    const ComputePlan& how = plan.steps[step].plan;
    streamed.steps[step].stream = stream;
    streamed.rule += "; " + ToString(stream, how);
    for (std::size_t k = 0; k < 2; ++k) {
      if (ComesInPanels(how, stream.dim, k)) streamed.cost.collectives += stream.panels - 1;
    }
    return streamed;
  }

  const Product& product_;
  const Mesh& mesh_;
  const DimSizes& sizes_;
  const DType dtype_;
  const Tariff& tariff_;
  const WayLimits& limits_;
};

bool HasLoop(const ChainPlan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const ChainStep& step) { return step.loop.has_value(); });
}

bool HasStream(const ChainPlan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const ChainStep& step) { return step.stream.has_value(); });
}

}  // namespace

Result<std::vector<ProductWay>> WaysOf(const Product& product, const std::vector<ChainPlan>& plans,
                                       const Mesh& mesh, const DimSizes& sizes, DType dtype,
                                       const Tariff& tariff, const WayLimits& limits) {
  if (limits.overlap && plans[0].cost.collectives == 0) {
    return Unsupported(
        fmt::format("{} moves nothing, so there is nothing to overlap", product.ToString()));
  }
  WayMaker maker(product, mesh, sizes, dtype, tariff, limits);
  std::vector<ProductWay> ways;
  std::size_t streamed = 0;
  for (const ChainPlan& plan : plans) {
    CHORUS_ASSIGN_OR_RETURN(ProductWay way, maker.MakePlain(plan));
    std::vector<ProductWay> more;
    if (streamed == kStreamedWays) {
      // no more of them
    } else if (!maker.Fits(way) && limits.overlap) {
      CHORUS_ASSIGN_OR_RETURN(more, maker.Looped(plan));
    } else if (!maker.Fits(way)) {
      CHORUS_ASSIGN_OR_RETURN(more, maker.Streamed(plan));
      if (more.empty()) {
        CHORUS_ASSIGN_OR_RETURN(more, maker.Looped(plan));
      }
    } else if (limits.streams) {
      CHORUS_ASSIGN_OR_RETURN(std::optional<ProductWay> one, maker.StreamedByBlocks(way));
      if (one) more.push_back(*std::move(one));
    }
    if (maker.Fits(way)) ways.push_back(std::move(way));
    streamed += more.empty() ? 0 : 1;
    std::move(more.begin(), more.end(), std::back_inserter(ways));
  }
  if (ways.empty() && limits.most_memory) return maker.DoesNotFit(plans);
  const auto sort = [&ways, &limits, &tariff] {
    if (limits.placement == nullptr) {
      std::stable_sort(ways.begin(), ways.end(), [&](const ProductWay& a, const ProductWay& b) {
        return Price(a.plan.cost, tariff) < Price(b.plan.cost, tariff);
      });
      return;
    }
    std::stable_sort(ways.begin(), ways.end(), [](const ProductWay& a, const ProductWay& b) {
      return std::make_pair(a.time->Elapsed(), a.sent) < std::make_pair(b.time->Elapsed(), b.sent);
    });
  };
  sort();
  if (limits.placement == nullptr && !limits.overlap) return ways;
  std::size_t looped = 0;
  for (std::size_t i = 0; i < ways.size() && looped < kLoopedWays; ++i) {
    if (HasStream(ways[i].plan) || HasLoop(ways[i].plan)) continue;
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
    return limits.most_memory ? maker.DoesNotFit(plans) : maker.CannotOverlap();
  }
  if (limits.placement == nullptr) {
    std::stable_sort(ways.begin(), ways.end(), [&](const ProductWay& a, const ProductWay& b) {
      return maker.Elapsed(a) < maker.Elapsed(b);
    });
  }
  return ways;
}

}  // namespace chorus
