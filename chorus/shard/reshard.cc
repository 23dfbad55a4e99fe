#include "chorus/shard/reshard.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace chorus {
namespace {

std::size_t CommonPrefix(const AxisNames& a, const AxisNames& b) {
  const auto pair = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(pair.first - a.begin());
}

// What a shortest path is short in.
enum class Aim : std::uint8_t { kPrice, kPeak };

// A shortest path (Dijkstra) over specs. States are few: axes that move times dimensions.
class Search {
 public:
  Search(const Spec& from, const Spec& to, DType dtype, const Mesh& mesh, const DimSizes& sizes,
         const Tariff& tariff, Aim aim, std::optional<Bytes> most_memory)
      : to_(to),
        dtype_(dtype),
        mesh_(mesh),
        sizes_(sizes),
        tariff_(tariff),
        aim_(aim),
        most_memory_(most_memory) {
    for (std::size_t d = 0; d < from.dims().size(); ++d) {
      const AxisNames& before = from.dims()[d].axes;
      const AxisNames& after = to.dims()[d].axes;
      const auto kept = static_cast<std::ptrdiff_t>(CommonPrefix(before, after));
      moving_.insert(before.begin() + kept, before.end());
      moving_.insert(after.begin() + kept, after.end());
    }
    for (const std::string& axis : from.partial()) {
      if (!to.IsPartial(axis)) moving_.insert(axis);
    }
    Reach(from, Reshard());
  }

  // Nothing only if memory does not allow it: without a limit every target without new sums is
  // reached, by gathering and reducing all and slicing then.
  std::optional<Reshard> Run() {
    while (!open_.empty()) {
      const auto first = open_.begin();
      Reshard path = first->second.second;
      const Spec here = first->second.first;
      const std::string text = here.ToString();
      open_.erase(first);
      if (!done_.insert(text).second) continue;
      if (here.SameLayout(to_)) return path;
      Expand(here, path);
    }
    return std::nullopt;
  }

 private:
  // Cheapest first, then fewest steps, then by text so that the choice never depends on chance.
  using Key = std::tuple<double, std::size_t, std::string>;

  void Reach(const Spec& spec, Reshard path) {
    std::string text = spec.ToString();
    if (done_.count(text) > 0) return;
    const double length =
        aim_ == Aim::kPrice ? Price(path.cost, tariff_) : static_cast<double>(path.peak.value());
    Key key(length, path.moves.size(), std::move(text));
    open_.emplace(std::move(key), std::make_pair(spec, std::move(path)));
  }

  void Take(const Spec& here, const Reshard& path, Move move) {
    Reshard next = path;
    if (IsCollective(move.kind)) {
      const Spec& joined = move.kind == ProgramOpKind::kAllGather ? move.result : here;
      const std::int64_t elements = LocalShape(joined, mesh_, sizes_, 0).elements();
      const std::int64_t n = mesh_.GroupSize(move.axes);
      next.cost = next.cost + Cost{LeastBytesSent(move.kind, n, elements, dtype_), Flops(0), 1};
    }
    next.peak = std::max(next.peak, MemoryOf(here, move));
    if (most_memory_ && next.peak > *most_memory_) return;
    const Spec there = move.result;
    next.moves.push_back(std::move(move));
    Reach(there, std::move(next));
  }

  // As WorkspaceBytes and PeakMemory (account.h) count it.
  Bytes MemoryOf(const Spec& here, const Move& move) const {
    const Shape before = LocalShape(here, mesh_, sizes_, 0);
    const Shape after = LocalShape(move.result, mesh_, sizes_, 0);
    std::int64_t elements = before.elements();
    if (move.kind != ProgramOpKind::kAllReduce) elements += after.elements();
    const bool gathers = move.kind == ProgramOpKind::kAllGather;
    if (gathers || move.kind == ProgramOpKind::kReduceScatter) {
      const Shape& joined = gathers ? after : before;
      const bool packs =
          joined.elements(0, here.FindDim(move.dim)) > 1 && mesh_.GroupSize(move.axes) > 1;
      if (packs) elements += joined.elements();
    }
    return Bytes(elements * SizeOf(dtype_));
  }

  void Expand(const Spec& here, const Reshard& path) {
    for (const SpecDim& dim : here.dims()) {
      Gather(here, path, dim);
      for (const AxisNames& axes : Appendable(here, dim)) Append(here, path, dim, axes);
    }
    AxisNames pending;
    for (const std::string& axis : here.partial()) {
      if (to_.IsPartial(axis)) continue;
      pending.push_back(axis);
      Reduce(here, path, {axis});
    }
    if (pending.size() > 1) Reduce(here, path, pending);
  }

  void Gather(const Spec& here, const Reshard& path, const SpecDim& dim) {
    for (std::size_t kept = dim.axes.size(); kept-- > 0 && moving_.count(dim.axes[kept]) > 0;) {
      const auto cut = dim.axes.begin() + static_cast<std::ptrdiff_t>(kept);
      Result<Spec> result = here.WithAxes(dim.name, AxisNames(dim.axes.begin(), cut));
      if (!result.ok()) continue;
      Take(here, path,
           {ProgramOpKind::kAllGather, dim.name, AxisNames(cut, dim.axes.end()), *result});
    }
  }

  // Runs of axes that may become the minor axes of `dim` next: one that moves and splits nothing
  // yet, or several if the target goes on so.
  std::vector<AxisNames> Appendable(const Spec& here, const SpecDim& dim) const {
    const auto splits = [&here](const std::string& axis) {
      return here.Uses(axis) && !here.IsPartial(axis);
    };
    std::vector<AxisNames> runs;
    for (const std::string& axis : moving_) {
      if (!splits(axis) && !to_.IsPartial(axis)) runs.push_back({axis});
    }
    const AxisNames& wanted = to_.AxesOf(dim.name);
    AxisNames run;
    if (CommonPrefix(dim.axes, wanted) == dim.axes.size()) {
      for (std::size_t i = dim.axes.size(); i < wanted.size() && !splits(wanted[i]); ++i) {
        run.push_back(wanted[i]);
        if (run.size() > 1) runs.push_back(run);
      }
    }
    return runs;
  }

  // Slices or reduce-scatters `axes` onto `dim`; they must be all partial or all whole.
  void Append(const Spec& here, const Reshard& path, const SpecDim& dim, const AxisNames& axes) {
    const auto is_partial = [&here](const std::string& axis) { return here.IsPartial(axis); };
    const auto partial = std::count_if(axes.begin(), axes.end(), is_partial);
    if (partial != 0 && partial != std::ssize(axes)) return;
    AxisNames split = dim.axes;
    split.insert(split.end(), axes.begin(), axes.end());
    Result<Spec> summed = Without(here, partial == 0 ? AxisNames() : axes);
    if (!summed.ok()) return;
    Result<Spec> result = summed->WithAxes(dim.name, split);
    if (!result.ok()) return;
    Take(here, path,
         {partial == 0 ? ProgramOpKind::kSlice : ProgramOpKind::kReduceScatter, dim.name, axes,
          *result});
  }

  void Reduce(const Spec& here, const Reshard& path, const AxisNames& axes) {
    Result<Spec> result = Without(here, axes);
    if (result.ok()) Take(here, path, {ProgramOpKind::kAllReduce, "", axes, *result});
  }

  static Result<Spec> Without(const Spec& spec, const AxisNames& axes) {
    AxisNames rest;
    for (const std::string& axis : spec.partial()) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) rest.push_back(axis);
    }
    return spec.WithPartial(rest);
  }

  const Spec& to_;
  DType dtype_;
  const Mesh& mesh_;
  const DimSizes& sizes_;
  const Tariff& tariff_;
  Aim aim_;
  std::optional<Bytes> most_memory_;
  std::set<std::string> moving_;
  std::map<Key, std::pair<Spec, Reshard>> open_;
  std::set<std::string> done_;
};

}  // namespace

std::string ToString(const Move& move) {
  if (move.kind == ProgramOpKind::kAllReduce) {
    return fmt::format("all_reduce over {}", JoinAxes(move.axes));
  }
  return fmt::format("{} {} over {}", Name(move.kind), move.dim, JoinAxes(move.axes));
}

Result<Reshard> PlanReshard(const Spec& from, const Spec& to, DType dtype, const Mesh& mesh,
                            const DimSizes& sizes, const Tariff& tariff,
                            std::optional<Bytes> most_memory) {
  if (from.DimNames() != to.DimNames()) {
    return InvalidArgument(fmt::format("{} cannot become {}: their dimensions differ",
                                       from.ToString(), to.ToString()));
  }
  CHORUS_RETURN_IF_ERROR(from.Check(mesh));
  CHORUS_RETURN_IF_ERROR(to.Check(mesh));
  CHORUS_RETURN_IF_ERROR(CheckSizes(from, sizes));
  for (const std::string& axis : to.partial()) {
    if (!from.IsPartial(axis)) {
      return InvalidArgument(fmt::format(
          "{} cannot become {}: it is whole over {}, and nothing says how to make it a sum",
          from.ToString(), to.ToString(), axis));
    }
  }
  if (from.SameLayout(to)) return Reshard();
  std::optional<Reshard> found =
      Search(from, to, dtype, mesh, sizes, tariff, Aim::kPrice, most_memory).Run();
  if (found) return std::move(*found);
  const auto least = Search(from, to, dtype, mesh, sizes, tariff, Aim::kPeak, std::nullopt).Run();
  return InvalidArgument(
      fmt::format("{} cannot become {} within {} bytes a rank; the way that needs least takes {}",
                  from.ToString(), to.ToString(), most_memory->value(), least->peak.value()));
}

}  // namespace chorus
