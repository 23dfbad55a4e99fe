#include "chorus/shard/reshard_search.h"

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "chorus/program/pieces.h"

namespace chorus {
namespace {

// Axes by number, major to minor: each character is a number, 1 and up in the order of names.
using Run = std::string;

// How the array lies, as far as it moves: what comes behind the axes that stay in front.
struct Layout {
  std::vector<Run> dims;
  Run pending;  // sums to be done, sorted
};

Run KeyOf(const Layout& layout) {
  Run key;
  for (const Run& run : layout.dims) (key += run) += '\0';
  return key + layout.pending;
}

struct SearchStep {
  ProgramOpKind kind = ProgramOpKind::kSlice;
  std::size_t dim = 0;
  std::size_t to = 0;
  Run axes;
};

// A layout that was reached, and how.
struct Reached {
  Layout layout;
  SearchStep step;  // the last one
  int parent = -1;  // where it started
  int permutes = 0;
  int moves = 0;
  Cost cost;
  Bytes peak;
  bool is_done = false;
};

bool Contains(const Run& run, char axis) { return run.find(axis) != Run::npos; }

Run Without(const Run& run, const Run& axes) {
  Run rest;
  for (const char axis : run) {
    if (!Contains(axes, axis)) rest += axis;
  }
  return rest;
}

bool StartsWith(const Run& run, const Run& start) { return run.rfind(start, 0) == 0; }

std::size_t InCommon(const AxisNames& a, const AxisNames& b) {
  const auto pair = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(pair.first - a.begin());
}

class Search {
 public:
  explicit Search(const ReshardQuestion& question) : q_(question) {
    std::set<std::string> moving;
    for (const SpecDim& dim : q_.from.dims()) {
      const AxisNames& after = q_.to.AxesOf(dim.name);
      kept_.push_back(InCommon(dim.axes, after));
      const auto kept = static_cast<std::ptrdiff_t>(kept_.back());
      moving.insert(dim.axes.begin() + kept, dim.axes.end());
      moving.insert(after.begin() + kept, after.end());
      // Rank 0 holds the first of the blocks that stay, which is a longest one.
      std::int64_t size = q_.sizes.find(dim.name)->second;
      for (auto axis = after.begin(); axis != after.begin() + kept; ++axis) {
        size = SplitEvenly(size, q_.mesh.AxisSize(*axis), 0).size;
      }
      sizes_.push_back(size);
    }
    for (const std::string& axis : q_.from.partial()) {
      if (!q_.to.IsPartial(axis)) moving.insert(axis);
    }
    names_.assign(moving.begin(), moving.end());
    for (const std::string& axis : names_) ranks_.push_back(q_.mesh.AxisSize(axis));
    start_ = LayoutOf(q_.from);
    goal_ = LayoutOf(q_.to);
  }

  std::optional<Reshard> Find() {
    const Run goal = KeyOf(goal_);
    Offer(start_, Reached());
    while (!open_.empty()) {
      const int here = std::get<4>(open_.top());
      open_.pop();
      if (At(here).is_done) continue;
      At(here).is_done = true;
      if (KeyOf(At(here).layout) == goal) return Trace(here);
      Expand(here);
    }
    return std::nullopt;
  }

 private:
  // Cheapest first, then fewest permutes, then fewest moves, then by layout, so that the choice
  // never depends on chance.
  using Entry = std::tuple<double, int, int, Run, int>;

  Reached& At(int i) { return reached_[static_cast<std::size_t>(i)]; }
  std::int64_t RanksAlong(char axis) const { return ranks_[static_cast<std::size_t>(axis - 1)]; }
  std::int64_t Parts(const Run& axes) const {
    std::int64_t parts = 1;
    for (const char axis : axes) parts *= RanksAlong(axis);
    return parts;
  }

  Run Number(AxisNames::const_iterator begin, AxisNames::const_iterator end) const {
    Run run;
    for (; begin != end; ++begin) {
      const auto at = std::find(names_.begin(), names_.end(), *begin);
      if (at != names_.end()) run += static_cast<char>(at - names_.begin() + 1);
    }
    return run;
  }
  AxisNames NamesOf(const Run& run) const {
    AxisNames names;
    for (const char axis : run) names.push_back(names_[static_cast<std::size_t>(axis - 1)]);
    return names;
  }

  Layout LayoutOf(const Spec& spec) const {
    Layout layout;
    for (std::size_t d = 0; d < kept_.size(); ++d) {
      const AxisNames& axes = spec.AxesOf(q_.from.dims()[d].name);
      layout.dims.push_back(
          Number(axes.begin() + static_cast<std::ptrdiff_t>(kept_[d]), axes.end()));
    }
    layout.pending = Number(spec.partial().begin(), spec.partial().end());
    return layout;
  }
  Spec SpecOf(const Layout& layout) const {
    std::vector<SpecDim> dims = q_.from.dims();
    for (std::size_t d = 0; d < dims.size(); ++d) {
      dims[d].axes.resize(kept_[d]);
      const AxisNames moved = NamesOf(layout.dims[d]);
      dims[d].axes.insert(dims[d].axes.end(), moved.begin(), moved.end());
    }
    AxisNames partial = q_.to.partial();
    const AxisNames pending = NamesOf(layout.pending);
    partial.insert(partial.end(), pending.begin(), pending.end());
    return *Spec::Create(q_.from.name(), std::move(dims), std::move(partial));
  }
  Move MoveOf(const SearchStep& step, const Layout& after) const {
    Move move;
    move.kind = step.kind;
    move.axes = NamesOf(step.axes);
    const bool along = step.kind != ProgramOpKind::kAllReduce && !IsPermute(step);
    if (along) move.dim = q_.from.dims()[step.dim].name;
    if (step.kind == ProgramOpKind::kAllToAll) move.to = q_.from.dims()[step.to].name;
    move.result = SpecOf(after);
    return move;
  }

  static bool IsPermute(const SearchStep& step) { return step.kind == ProgramOpKind::kPermute; }

  // Elements that rank 0 holds; no rank holds more.
  std::int64_t Elements(const Layout& layout) const {
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < layout.dims.size(); ++d) {
      std::int64_t size = sizes_[d];
      for (const char axis : layout.dims[d]) size = SplitEvenly(size, RanksAlong(axis), 0).size;
      elements *= size;
    }
    return elements;
  }

  // The block of dimension `d` of the member of rank 0's group with these coordinates by axis.
  Block BlockAt(std::size_t d, const Run& axes, const std::vector<std::int64_t>& coordinate) const {
    Block block{0, sizes_[d]};
    for (const char axis : axes) {
      const Block inner =
          SplitEvenly(block.size, RanksAlong(axis), coordinate[static_cast<std::size_t>(axis - 1)]);
      block = {block.begin + inner.begin, inner.size};
    }
    return block;
  }

  // Bytes that a member of rank 0's group over `axes` sends when blocks change ranks, on average,
  // rounded up: what each gets and has not.
  Bytes MeanExchanged(const Layout& from, const Layout& to, const Run& axes) const {
    std::vector<std::int64_t> coordinate(ranks_.size(), 0);
    std::int64_t moved = 0;
    const std::int64_t members = Parts(axes);
    for (std::int64_t k = 0; k < members; ++k) {
      std::int64_t wanted = 1;
      std::int64_t held = 1;
      for (std::size_t d = 0; d < sizes_.size(); ++d) {
        const Block before = BlockAt(d, from.dims[d], coordinate);
        const Block after = BlockAt(d, to.dims[d], coordinate);
        wanted *= after.size;
        held *= std::max<std::int64_t>(
            0, std::min(before.begin + before.size, after.begin + after.size) -
                   std::max(before.begin, after.begin));
      }
      moved += wanted - held;
      for (std::size_t a = axes.size(); a-- > 0;) {
        std::int64_t& c = coordinate[static_cast<std::size_t>(axes[a] - 1)];
        if (++c < RanksAlong(axes[a])) break;
        c = 0;
      }
    }
    return Bytes((moved + members - 1) / members * SizeOf(q_.dtype));
  }

  Cost CostOf(const SearchStep& step, const Layout& from, const Layout& to) const {
    if (!IsCollective(step.kind)) return Cost();
    if (ExchangesPieces(step.kind)) return {MeanExchanged(from, to, step.axes), Flops(0), 1};
    const Layout& joined = step.kind == ProgramOpKind::kAllGather ? to : from;
    return {LeastBytesSent(step.kind, Parts(step.axes), Elements(joined), q_.dtype), Flops(0), 1};
  }

  void Offer(Layout layout, Reached reached) {
    const double length = q_.aim == ReshardAim::kPrice ? Price(reached.cost, q_.tariff)
                                                       : static_cast<double>(reached.peak.value());
    Run key = KeyOf(layout);
    const auto order = std::make_tuple(length, reached.permutes, reached.moves);
    const auto [best, is_new] = best_.emplace(key, order);
    if (!is_new) {
      if (!(order < best->second)) return;
      best->second = order;
    }
    reached.layout = std::move(layout);
    open_.emplace(length, reached.permutes, reached.moves, std::move(key),
                  static_cast<int>(reached_.size()));
    reached_.push_back(std::move(reached));
  }

  void Take(int here, SearchStep step, Layout after) {
    Reached next;
    next.parent = here;
    next.cost = At(here).cost + CostOf(step, At(here).layout, after);
    next.permutes = At(here).permutes + (IsPermute(step) ? 1 : 0);
    next.moves = At(here).moves + 1;
    if (q_.most_memory || q_.aim == ReshardAim::kPeak) {
      next.peak = std::max(At(here).peak, MemoryOfMove(SpecOf(At(here).layout), MoveOf(step, after),
                                                       q_.dtype, q_.mesh, q_.sizes));
      if (q_.most_memory && next.peak > *q_.most_memory) return;
    }
    next.step = std::move(step);
    Offer(std::move(after), std::move(next));
  }

  Reshard Trace(int last) {
    Reshard reshard;
    reshard.cost = At(last).cost;
    for (int i = last; At(i).parent >= 0; i = At(i).parent) {
      reshard.moves.push_back(MoveOf(At(i).step, At(i).layout));
      reshard.peak =
          std::max(reshard.peak, MemoryOfMove(SpecOf(At(At(i).parent).layout), reshard.moves.back(),
                                              q_.dtype, q_.mesh, q_.sizes));
    }
    std::reverse(reshard.moves.begin(), reshard.moves.end());
    return reshard;
  }

  void Expand(int here) {
    const Layout layout = At(here).layout;
    const Run idle = IdleIn(layout);
    for (std::size_t d = 0; d < layout.dims.size(); ++d) {
      const Run& run = layout.dims[d];
      for (std::size_t kept = run.size(); kept-- > 0;) {
        Layout after = layout;
        after.dims[d].resize(kept);
        Take(here, {ProgramOpKind::kAllGather, d, 0, run.substr(kept)}, after);
        for (std::size_t to = 0; to < layout.dims.size(); ++to) {
          if (to == d) continue;
          Layout turned = after;
          turned.dims[to] += run.substr(kept);
          Take(here, {ProgramOpKind::kAllToAll, d, to, run.substr(kept)}, std::move(turned));
        }
      }
      for (const Run& axes : Appendable(layout, d, idle)) Append(here, layout, d, axes);
    }
    for (const char axis : layout.pending) Reduce(here, layout, Run(1, axis));
    if (layout.pending.size() > 1) Reduce(here, layout, layout.pending);
    Permute(here, layout, idle, layout, 0);
  }

  // Axes that move and neither split a dimension nor are a sum.
  Run IdleIn(const Layout& layout) const {
    Run idle;
    for (std::size_t a = 0; a < names_.size(); ++a) idle += static_cast<char>(a + 1);
    for (const Run& run : layout.dims) idle = Without(idle, run);
    return Without(idle, layout.pending);
  }

  // Runs of axes that may become the minor axes of dimension `d` next: one that splits nothing yet,
  // or several if the target goes on so.
  std::vector<Run> Appendable(const Layout& layout, std::size_t d, const Run& idle) const {
    std::vector<Run> runs;
    const Run free = idle + layout.pending;
    for (const char axis : free) runs.emplace_back(1, axis);
    const Run& wanted = goal_.dims[d];
    if (!StartsWith(wanted, layout.dims[d])) return runs;
    Run run;
    for (std::size_t i = layout.dims[d].size(); i < wanted.size() && Contains(free, wanted[i]);
         ++i) {
      run += wanted[i];
      if (run.size() > 1) runs.push_back(run);
    }
    return runs;
  }

  // Slices or reduce-scatters `axes` onto dimension `d`; they must be all sums or all idle.
  void Append(int here, const Layout& layout, std::size_t d, const Run& axes) {
    const Run rest = Without(layout.pending, axes);
    const std::size_t sums = layout.pending.size() - rest.size();
    if (sums != 0 && sums != axes.size()) return;
    Layout after = layout;
    after.dims[d] += axes;
    after.pending = rest;
    Take(here, {sums == 0 ? ProgramOpKind::kSlice : ProgramOpKind::kReduceScatter, d, 0, axes},
         std::move(after));
  }

  void Reduce(int here, const Layout& layout, const Run& axes) {
    Layout after = layout;
    after.pending = Without(layout.pending, axes);
    Take(here, {ProgramOpKind::kAllReduce, 0, 0, axes}, std::move(after));
  }

  // Tries all permutes that give dimensions `d` and after other axes; `after` has those before it.
  // `free` are axes that may be used: idle ones and those taken away. A dimension gets what the
  // target begins with, or all of that and more axes, which are to be gathered or to go elsewhere.
  void Permute(int here, const Layout& layout, const Run& idle, Layout after, std::size_t d) {
    if (d == layout.dims.size()) {
      Run axes;
      for (std::size_t a = 0; a < names_.size(); ++a) {
        const char axis = static_cast<char>(a + 1);
        if (ChangesPlace(layout, after, axis)) axes += axis;
      }
      if (!axes.empty()) Take(here, {ProgramOpKind::kPermute, 0, 0, axes}, std::move(after));
      return;
    }
    Run free = idle;
    for (std::size_t other = 0; other < layout.dims.size(); ++other) free += layout.dims[other];
    for (std::size_t other = 0; other < d; ++other) free = Without(free, after.dims[other]);
    const auto given = [&](const Run& run) {
      Layout next = after;
      next.dims[d] = run;
      Permute(here, layout, idle, std::move(next), d + 1);
    };
    const Run& now = layout.dims[d];
    if (Without(now, free).empty()) given(now);  // as it is
    const std::int64_t parts = Parts(now);
    const Run& wanted = goal_.dims[d];
    for (std::size_t length = 0; length <= wanted.size(); ++length) {
      const Run front = wanted.substr(0, length);
      if (!Without(front, free).empty()) break;
      if (Parts(front) == parts && front != now) given(front);
      if (length == wanted.size() && parts % Parts(front) == 0) {
        ForEachRunOf(Without(free, front), parts / Parts(front), 0, "", [&](const Run& rest) {
          if (front + rest != now && !rest.empty()) given(front + rest);
        });
      }
    }
  }

  // Calls visit for each subset of `axes` of more than one rank each with that many parts.
  template <typename Visit>
  void ForEachRunOf(const Run& axes, std::int64_t parts, std::size_t from, const Run& so_far,
                    const Visit& visit) const {
    if (parts == 1) visit(so_far);
    for (std::size_t i = from; i < axes.size(); ++i) {
      const std::int64_t ranks = RanksAlong(axes[i]);
      if (ranks == 1 || parts % ranks != 0) continue;
      ForEachRunOf(axes, parts / ranks, i + 1, so_far + axes[i], visit);
    }
  }

  // As ChangedAxes (program.h): behind what is alike in front.
  static bool ChangesPlace(const Layout& before, const Layout& after, char axis) {
    for (std::size_t d = 0; d < before.dims.size(); ++d) {
      const Run& a = before.dims[d];
      const Run& b = after.dims[d];
      const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
      if (std::find(differ.first, a.end(), axis) != a.end()) return true;
      if (std::find(differ.second, b.end(), axis) != b.end()) return true;
    }
    return false;
  }

  const ReshardQuestion& q_;
  AxisNames names_;                  // of the axes that move, by number - 1
  std::vector<std::int64_t> ranks_;  // along each
  std::vector<std::size_t> kept_;    // axes in front that stay, by dimension
  std::vector<std::int64_t> sizes_;  // of rank 0's block of each dimension under those
  Layout start_;
  Layout goal_;
  std::vector<Reached> reached_;
  std::unordered_map<Run, std::tuple<double, int, int>> best_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
};

}  // namespace

std::optional<Reshard> FindReshard(const ReshardQuestion& question) {
  return Search(question).Find();
}

Bytes MemoryOfMove(const Spec& before, const Move& move, DType dtype, const Mesh& mesh,
                   const DimSizes& sizes) {
  const Shape held = LocalShape(before, mesh, sizes, 0);
  const Shape left = LocalShape(move.result, mesh, sizes, 0);
  std::int64_t elements = held.elements();
  if (move.kind != ProgramOpKind::kAllReduce) elements += left.elements();
  const bool gathers = move.kind == ProgramOpKind::kAllGather;
  const bool is_alone = mesh.GroupSize(move.axes) == 1;
  if (is_alone) return Bytes(elements * SizeOf(dtype));
  if (gathers || move.kind == ProgramOpKind::kReduceScatter) {
    const Shape& joined = gathers ? left : held;
    if (joined.elements(0, before.FindDim(move.dim)) > 1) elements += joined.elements();
  } else if (ExchangesPieces(move.kind)) {
    elements += ExchangeOf(before, move.result, move.axes, mesh, sizes, 0).WorkspaceElements();
  }
  return Bytes(elements * SizeOf(dtype));
}

}  // namespace chorus
