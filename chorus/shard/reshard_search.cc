#include "chorus/shard/reshard_search.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "chorus/shard/layout_code.h"

namespace chorus {
namespace {

// What is least in the way that is taken: price (or peak), then permutes, then moves.
using Length = std::tuple<double, int, int>;
// Of so many axes that come together every order is tried.
constexpr std::size_t kMostOrdered = 4;
constexpr Length kNever{std::numeric_limits<double>::infinity(), 0, 0};

struct SearchStep {
  ProgramOpKind kind = ProgramOpKind::kSlice;
  std::size_t dim = 0;
  std::size_t to = 0;
  AxisRun axes;
};

// A layout that was seen, and the best way to it so far.
struct Reached {
  LayoutCode layout;
  Length length = kNever;
  double to_go = 0;  // what the rest costs at least
  SearchStep step;   // the last one
  int parent = -1;   // where it started
  Cost cost;
  Bytes peak;
  bool is_done = false;  // no better way will be found
};

// A layout in full: the axes that move, by what they do.
struct Layout {
  std::vector<AxisRun> dims;
  AxisRun sums;
  AxisRun idle;
};

std::size_t InCommon(const AxisNames& a, const AxisNames& b) {
  const auto pair = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(pair.first - a.begin());
}

class Search {
 public:
  // `borrowed`: axes that neither spec names.
  Search(const ReshardQuestion& question, const AxisNames& borrowed) : q_(question) {
    std::set<std::string> moving(borrowed.begin(), borrowed.end());
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
    goal_ = LayoutOf(q_.to);
    wanted_ = Elements(goal_);
    FindEvenness(Number(names_.begin(), names_.end()), 1);
    Slot(Encode(goal_));  // kGoal, where nothing leads that costs more than is allowed
    constexpr int kMost = std::numeric_limits<int>::max();
    if (q_.aim == ReshardAim::kPrice) Allow({q_.most_price, kMost, kMost});
    start_ = Slot(Encode(LayoutOf(q_.from)));
  }

  // Only a way that is shorter than this is looked for.
  void Allow(const Length& length) { At(kGoal).length = length; }
  // Of the way that was found.
  const Length& Shortest() { return At(kGoal).length; }
  // Whether borrowing axes cannot lead to a shorter way than the one that was found: it sends no
  // more than rank 0 lacks, or nothing is summed and all that it lacks comes at once.
  bool IsLeast(const ReshardPlan& found) {
    if (q_.aim != ReshardAim::kPrice) return false;
    return found.cost.collectives == 0 || std::get<0>(Shortest()) <= At(start_).to_go ||
           (found.moves.size() == 1 && HasNoSums(LayoutOf(q_.from)));
  }

  std::optional<ReshardPlan> Find() {
    At(start_).length = {0, 0, 0};
    if (Whole(At(start_).length, At(start_).to_go) < At(kGoal).length) Open(start_);
    while (!open_.empty()) {
      const int here = open_.top().at;
      open_.pop();
      if (here == kGoal) return Trace();
      if (At(here).is_done) continue;
      At(here).is_done = true;
      Expand(here);
    }
    return std::nullopt;
  }

 private:
  static constexpr int kGoal = 0;

  // Shortest first, then by layout, so that the choice never depends on chance.
  struct Entry {
    Length length;
    std::uint64_t layout;
    int at;
    bool operator>(const Entry& other) const {
      return std::tie(length, layout) > std::tie(other.length, other.layout);
    }
  };

  Reached& At(int i) { return reached_[static_cast<std::size_t>(i)]; }
  std::int64_t RanksAlong(std::uint8_t axis) const { return ranks_[axis]; }
  std::int64_t Parts(const AxisRun& axes) const {
    std::int64_t parts = 1;
    for (const std::uint8_t axis : axes) parts *= RanksAlong(axis);
    return parts;
  }

  // Where a layout is kept.
  int Slot(LayoutCode layout) {
    const auto [slot, is_new] =
        slots_.try_emplace(layout.bits(), static_cast<int>(reached_.size()));
    if (is_new) {
      reached_.emplace_back().layout = layout;
      reached_.back().to_go = ToGo(layout);
    }
    return slot->second;
  }
  void Open(int i) { open_.push({Whole(At(i).length, At(i).to_go), At(i).layout.bits(), i}); }
  // Of a way so long that leads on for `to_go` at least.
  static Length Whole(Length length, double to_go) {
    std::get<0>(length) += to_go;
    return length;
  }

  bool HasNoSums(const Layout& layout) const {
    return std::all_of(layout.sums.begin(), layout.sums.end(),
                       [this](std::uint8_t axis) { return RanksAlong(axis) == 1; });
  }
  // What leads from a layout to the goal sends at least what rank 0 is to have and lacks: of a sum
  // that is not done it lacks all. What a step sends is a mean over ranks, and rank 0, whose blocks
  // are the largest, may get more than that: of a block of s elements in n parts ceil(s / n)
  // instead of s / n.
  double ToGo(LayoutCode code) {
    if (q_.aim != ReshardAim::kPrice) return 0;
    Decode(code, seen_);
    const std::int64_t lacks = wanted_ - (HasNoSums(seen_) ? Overlap(seen_, goal_) : 0);
    if (lacks == 0) return 0;
    return evenness_ * static_cast<double>(lacks * SizeOf(q_.dtype)) + q_.tariff.latency_bytes;
  }
  // The least share of ceil(s / n) that s / n is, of all parts n that axes make together.
  void FindEvenness(const AxisRun& axes, std::int64_t parts) {
    for (const std::int64_t size : sizes_) {
      if (size == 0) continue;
      const std::int64_t largest = (size + parts - 1) / parts;
      evenness_ = std::min(evenness_, static_cast<double>(size) / (static_cast<double>(parts) *
                                                                   static_cast<double>(largest)));
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      FindEvenness(axes.From(i + 1), parts * RanksAlong(axes[i]));
    }
  }
  // Elements that rank 0 has in both layouts: all its blocks begin at 0.
  std::int64_t Overlap(const Layout& a, const Layout& b) const {
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const std::int64_t parts = std::max(Parts(a.dims[d]), Parts(b.dims[d]));
      elements *= (sizes_[d] + parts - 1) / parts;
    }
    return elements;
  }

  AxisRun Number(AxisNames::const_iterator begin, AxisNames::const_iterator end) const {
    AxisRun run;
    for (; begin != end; ++begin) {
      const auto at = std::find(names_.begin(), names_.end(), *begin);
      if (at != names_.end()) run.Add(static_cast<std::uint8_t>(at - names_.begin()));
    }
    return run;
  }
  AxisNames NamesOf(const AxisRun& run) const {
    AxisNames names;
    for (const std::uint8_t axis : run) names.push_back(names_[axis]);
    return names;
  }

  Layout LayoutOf(const Spec& spec) const {
    Layout layout;
    for (std::size_t d = 0; d < kept_.size(); ++d) {
      const AxisNames& axes = spec.AxesOf(q_.from.dims()[d].name);
      layout.dims.push_back(
          Number(axes.begin() + static_cast<std::ptrdiff_t>(kept_[d]), axes.end()));
    }
    layout.sums = Number(spec.partial().begin(), spec.partial().end());
    return layout;
  }
  // Axes that neither split a dimension nor are a sum are idle.
  LayoutCode Encode(const Layout& layout) const {
    LayoutCode code;
    for (std::size_t a = 0; a < names_.size(); ++a) code.Put(a, LayoutCode::kIdle, 0);
    for (std::size_t d = 0; d < layout.dims.size(); ++d) code.PutRun(layout.dims[d], d, 0);
    code.PutAside(layout.sums, LayoutCode::kSum);
    return code;
  }
  void Decode(LayoutCode code, Layout& layout) const {
    layout.dims.assign(sizes_.size(), AxisRun());
    layout.sums = layout.idle = AxisRun();
    for (std::size_t position = 0; position < names_.size(); ++position) {
      for (std::size_t a = 0; a < names_.size(); ++a) {
        if (code.PositionOf(a) != position) continue;
        const std::size_t place = code.PlaceOf(a);
        AxisRun& run = place == LayoutCode::kSum    ? layout.sums
                       : place == LayoutCode::kIdle ? layout.idle
                                                    : layout.dims[place];
        run.Add(static_cast<std::uint8_t>(a));
      }
    }
  }

  Spec SpecOf(LayoutCode code) const {
    Layout layout;
    Decode(code, layout);
    std::vector<SpecDim> dims = q_.from.dims();
    for (std::size_t d = 0; d < dims.size(); ++d) {
      dims[d].axes.resize(kept_[d]);
      const AxisNames moved = NamesOf(layout.dims[d]);
      dims[d].axes.insert(dims[d].axes.end(), moved.begin(), moved.end());
    }
    AxisNames partial = q_.to.partial();
    const AxisNames sums = NamesOf(layout.sums);
    partial.insert(partial.end(), sums.begin(), sums.end());
    return *Spec::Create(q_.from.name(), std::move(dims), std::move(partial));
  }
  Move MoveOf(const SearchStep& step, LayoutCode after) const {
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
  std::int64_t Elements(const Layout& layout) const { return Overlap(layout, layout); }

  // The block of dimension `d` of the member of rank 0's group with these coordinates by axis.
  Block BlockAt(std::size_t d, const AxisRun& axes,
                const std::array<std::int64_t, kMostMovingAxes>& coordinate) const {
    Block block{0, sizes_[d]};
    for (const std::uint8_t axis : axes) {
      const Block inner = SplitEvenly(block.size, RanksAlong(axis), coordinate[axis]);
      block = {block.begin + inner.begin, inner.size};
    }
    return block;
  }

  // Bytes that a member of rank 0's group over `axes` sends when blocks change ranks, on average,
  // rounded up: what each gets and has not.
  Bytes MeanExchanged(const Layout& from, const Layout& to, const AxisRun& axes) const {
    std::array<std::int64_t, kMostMovingAxes> coordinate{};
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
        std::int64_t& c = coordinate[axes[a]];
        if (++c < RanksAlong(axes[a])) break;
        c = 0;
      }
    }
    return Bytes((moved + members - 1) / members * SizeOf(q_.dtype));
  }

  // Of a step from here_, to turned_ if it is a permute.
  Cost CostOf(const SearchStep& step) {
    if (!IsCollective(step.kind)) return Cost();
    if (IsPermute(step)) return {MeanExchanged(here_, turned_, step.axes), Flops(0), 1};
    if (step.kind == ProgramOpKind::kReduceScatter || step.kind == ProgramOpKind::kAllReduce) {
      return {LeastBytesSent(step.kind, Parts(step.axes), Elements(here_), q_.dtype), Flops(0), 1};
    }
    AxisRun& run = after_.dims[step.dim];
    run = run.First(run.size() - step.axes.size());
    Bytes sent;
    if (step.kind == ProgramOpKind::kAllGather) {
      sent = LeastBytesSent(step.kind, Parts(step.axes), Elements(after_), q_.dtype);
    } else {
      after_.dims[step.to] += step.axes;
      sent = evenness_ < 1 ? MeanExchanged(here_, after_, step.axes)
                           : Bytes((Elements(after_) - Overlap(here_, after_)) * SizeOf(q_.dtype));
      after_.dims[step.to] = here_.dims[step.to];
    }
    run = here_.dims[step.dim];
    return {sent, Flops(0), 1};
  }

  // The way to `here` and a step that costs nothing.
  Length AtLeast(int here, ProgramOpKind step) {
    const auto [measure, permutes, moves] = At(here).length;
    return {measure, permutes + (step == ProgramOpKind::kPermute ? 1 : 0), moves + 1};
  }
  // No step makes a way shorter: most are turned away before their cost is known.
  bool MayTake(int here, ProgramOpKind step, int there) {
    return !At(there).is_done && AtLeast(here, step) < At(there).length;
  }
  bool MayLeadOn(int here, ProgramOpKind step) {
    return Whole(AtLeast(here, step), At(here).to_go) < At(kGoal).length;
  }

  // Goes from `here`, of which here_ is the layout in full, by one step.
  void Take(int here, const SearchStep& step, LayoutCode after) {
    if (!MayLeadOn(here, step.kind)) return;
    const int there = Slot(after);
    if (!MayTake(here, step.kind, there)) return;
    const Cost cost = At(here).cost + CostOf(step);
    Bytes peak;
    if (q_.most_memory || q_.aim == ReshardAim::kPeak) {
      peak = std::max(At(here).peak, MemoryOfMove(SpecOf(At(here).layout), MoveOf(step, after),
                                                  q_.dtype, q_.mesh, q_.sizes));
      if (q_.most_memory && peak > *q_.most_memory) return;
    }
    Length length = AtLeast(here, step.kind);
    std::get<0>(length) =
        q_.aim == ReshardAim::kPrice ? Price(cost, q_.tariff) : static_cast<double>(peak.value());
    const double to_go = At(there).to_go;
    if (length >= At(there).length || Whole(length, to_go) >= At(kGoal).length) return;
    At(there) = {after, length, to_go, step, here, cost, peak, false};
    Open(there);
  }

  ReshardPlan Trace() {
    ReshardPlan reshard;
    reshard.cost = At(kGoal).cost;
    for (int i = kGoal; At(i).parent >= 0; i = At(i).parent) {
      reshard.moves.push_back(MoveOf(At(i).step, At(i).layout));
    }
    std::reverse(reshard.moves.begin(), reshard.moves.end());
    return reshard;
  }

  void Expand(int here) {
    const LayoutCode code = At(here).layout;
    Decode(code, here_);
    after_ = here_;
    for (std::size_t d = 0; d < here_.dims.size(); ++d) {
      const AxisRun& run = here_.dims[d];
      for (std::size_t kept = run.size(); kept-- > 0;) {
        const AxisRun minor = run.From(kept);
        LayoutCode after = code;
        after.PutAside(minor, LayoutCode::kIdle);
        Take(here, {ProgramOpKind::kAllGather, d, 0, minor}, after);
        for (std::size_t to = 0; to < here_.dims.size(); ++to) {
          if (to == d) continue;
          after.PutRun(minor, to, here_.dims[to].size());
          Take(here, {ProgramOpKind::kAllToAll, d, to, minor}, after);
        }
      }
      AppendTo(here, d);
    }
    ForEachRunOf(here_.sums, kMostOrdered, [&](const AxisRun& run) {
      if (std::is_sorted(run.begin(), run.end())) Reduce(here, run);  // sums have no order
    });
    if (here_.sums.size() > kMostOrdered) Reduce(here, here_.sums);
    if (MayLeadOn(here, ProgramOpKind::kPermute)) {
      turned_ = here_;
      AxisRun free = here_.idle;
      for (const AxisRun& run : here_.dims) free += run;
      Permute(here, 0, free);
    }
  }

  static AxisRun RunOf(std::uint8_t axis) {
    AxisRun run;
    run.Add(axis);
    return run;
  }

  // Makes axes that split nothing yet the minor ones of dimension `d`: one, several sums, or
  // several if the target goes on so.
  void AppendTo(int here, std::size_t d) {
    for (const std::uint8_t axis : here_.idle) Append(here, d, RunOf(axis));
    ForEachRunOf(here_.sums, kMostOrdered, [&](const AxisRun& run) { Append(here, d, run); });
    AxisRun free = here_.idle;
    free += here_.sums;
    const AxisRun& wanted = goal_.dims[d];
    if (!wanted.StartsWith(here_.dims[d])) return;
    AxisRun run;
    for (std::size_t i = here_.dims[d].size(); i < wanted.size() && free.Contains(wanted[i]); ++i) {
      run.Add(wanted[i]);
      if (run.size() > 1) Append(here, d, run);
    }
  }

  // Slices or reduce-scatters `axes` onto dimension `d`; they must be all sums or all idle.
  void Append(int here, std::size_t d, const AxisRun& axes) {
    const bool sums = here_.sums.ContainsAll(axes);
    if (!sums && !here_.idle.ContainsAll(axes)) return;
    LayoutCode after = At(here).layout;
    after.PutRun(axes, d, here_.dims[d].size());
    Take(here, {sums ? ProgramOpKind::kReduceScatter : ProgramOpKind::kSlice, d, 0, axes}, after);
  }

  void Reduce(int here, const AxisRun& axes) {
    LayoutCode after = At(here).layout;
    after.PutAside(axes, LayoutCode::kIdle);
    Take(here, {ProgramOpKind::kAllReduce, 0, 0, axes}, after);
  }

  // Tries all permutes that give dimensions `d` and after other axes; turned_ has those before it.
  // A dimension gets what the target begins with and more axes, which are to be gathered or to go
  // elsewhere.
  // `free` are axes that may be used: idle ones and those taken away.
  void Permute(int here, std::size_t d, const AxisRun& free) {
    if (d == here_.dims.size()) {
      const AxisRun axes = AxesThatTurn();
      if (!axes.empty()) Take(here, {ProgramOpKind::kPermute, 0, 0, axes}, Encode(turned_));
      return;
    }
    const auto given = [&](const AxisRun& run) {
      turned_.dims[d] = run;
      Permute(here, d + 1, free.Without(run));
    };
    const AxisRun& now = here_.dims[d];
    if (free.ContainsAll(now)) given(now);  // as it is
    const std::int64_t parts = Parts(now);
    const AxisRun& wanted = goal_.dims[d];
    for (std::size_t length = 0; length <= wanted.size(); ++length) {
      const AxisRun front = wanted.First(length);
      if (!free.ContainsAll(front)) break;
      if (Parts(front) == parts && !(front == now)) given(front);
      // Only rounding in small uneven blocks makes less than all that is wanted the cheaper front.
      const bool is_worth_it = length == wanted.size() || (evenness_ < 1 && names_.size() <= 3);
      if (!is_worth_it || parts % Parts(front) != 0) continue;
      ForEachFilling(free.Without(front), parts / Parts(front), [&](const AxisRun& more) {
        if (length < wanted.size() && more[0] == wanted[length]) return;  // of a longer front
        AxisRun run = front;
        run += more;
        if (!(run == now)) given(run);
      });
    }
  }

  // Calls visit for each choice of at most `most` of the axes, one at least, in every order.
  template <typename Visit>
  static void ForEachRunOf(const AxisRun& axes, std::size_t most, const Visit& visit,
                           const AxisRun& so_far = AxisRun()) {
    if (!so_far.empty()) visit(so_far);
    if (so_far.size() == most) return;
    for (const std::uint8_t axis : axes) {
      if (so_far.Contains(axis)) continue;
      AxisRun longer = so_far;
      longer.Add(axis);
      ForEachRunOf(axes, most, visit, longer);
    }
  }

  // Calls visit for the choices of axes of more than one rank each that make that many parts
  // together: in every order up to kMostOrdered of them, in the order of their numbers beyond.
  template <typename Visit>
  void ForEachFilling(const AxisRun& axes, std::int64_t parts, const Visit& visit,
                      const AxisRun& so_far = AxisRun()) const {
    if (parts == 1 && !so_far.empty()) visit(so_far);
    for (const std::uint8_t axis : axes) {
      const std::int64_t ranks = RanksAlong(axis);
      if (ranks == 1 || parts % ranks != 0 || so_far.Contains(axis)) continue;
      AxisRun longer = so_far;
      longer.Add(axis);
      const bool is_in_order = std::is_sorted(longer.begin(), longer.end());
      if (longer.size() > kMostOrdered && !is_in_order) continue;
      ForEachFilling(axes, parts / ranks, visit, longer);
    }
  }

  // As ChangedAxes (program.h), from here_ to turned_: behind what is alike in front.
  AxisRun AxesThatTurn() const {
    AxisRun turning;
    for (std::size_t a = 0; a < names_.size(); ++a) {
      const auto axis = static_cast<std::uint8_t>(a);
      for (std::size_t d = 0; d < here_.dims.size(); ++d) {
        const AxisRun& before = here_.dims[d];
        const AxisRun& after = turned_.dims[d];
        const std::size_t alike = before.InCommon(after);
        if (before.From(alike).Contains(axis) || after.From(alike).Contains(axis)) {
          turning.Add(axis);
          break;
        }
      }
    }
    return turning;
  }

  const ReshardQuestion& q_;
  AxisNames names_;                  // of the axes that move, by number
  std::vector<std::int64_t> ranks_;  // along each
  std::vector<std::size_t> kept_;    // axes in front that stay, by dimension
  std::vector<std::int64_t> sizes_;  // of rank 0's block of each dimension under those
  std::int64_t wanted_ = 0;          // elements that rank 0 is to have
  double evenness_ = 1;              // 1 if every layout has equal blocks
  int start_ = 0;
  Layout goal_;
  Layout seen_;    // the one that ToGo looks at
  Layout here_;    // the one that is expanded
  Layout after_;   // here_, but while CostOf looks at a step
  Layout turned_;  // here_ under the permute that is tried
  std::vector<Reached> reached_;
  std::unordered_map<std::uint64_t, int> slots_;  // in reached_, by layout
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open_;
};

// Axes along which all ranks hold the same before and after, the longest first, as many as can be
// written down beside those that move.
AxisNames AxesToBorrow(const ReshardQuestion& question) {
  if (question.idle == IdleAxes::kLeave) return {};
  std::vector<MeshAxis> idle;
  std::size_t others = 0;
  for (const MeshAxis& axis : question.mesh.axes()) {
    if (question.from.Uses(axis.name) || question.to.Uses(axis.name)) {
      others += 1;
    } else if (axis.size > 1) {
      idle.push_back(axis);
    }
  }
  std::stable_sort(idle.begin(), idle.end(),
                   [](const MeshAxis& a, const MeshAxis& b) { return a.size > b.size; });
  AxisNames borrowed;
  for (const MeshAxis& axis : idle) {
    if (others + borrowed.size() < kMostMovingAxes) borrowed.push_back(axis.name);
  }
  return borrowed;
}

}  // namespace

std::optional<ReshardPlan> FindReshard(const ReshardQuestion& question) {
  Search own(question, {});
  std::optional<ReshardPlan> found = own.Find();
  if (found && own.IsLeast(*found)) return found;
  const AxisNames borrowed = AxesToBorrow(question);
  if (borrowed.empty()) return found;
  Search wider(question, borrowed);
  if (found) wider.Allow(own.Shortest());
  std::optional<ReshardPlan> better = wider.Find();
  return better ? better : found;
}

}  // namespace chorus
