#include "chorus/shard/reshard_search.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "chorus/shard/layout_map.h"
#include "chorus/shard/moving_axes.h"

namespace chorus {

// What a search works in.
struct ReshardSearch::Memory {
  // What is least in the way that is taken: price (or peak), then permutes, then moves.
  using Length = std::tuple<double, int, int>;
  static constexpr Length kNever{std::numeric_limits<double>::infinity(), 0, 0};

  struct Step {
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
    Step step;         // the last one
    int parent = -1;   // where it started
    Cost cost;
    Bytes peak;
    bool is_done = false;  // no better way will be found
  };

  // Shortest first, then by layout, so that the choice never depends on chance.
  struct Entry {
    Length length;
    std::uint64_t layout;
    int at;
    bool operator>(const Entry& other) const {
      return std::tie(length, layout) > std::tie(other.length, other.layout);
    }
  };

  std::vector<Reached> reached;
  LayoutMap numbers;        // in `reached`
  std::vector<Entry> open;  // a heap
  std::vector<Block> blocks;
};

namespace {

using Length = ReshardSearch::Memory::Length;
using SearchStep = ReshardSearch::Memory::Step;
using Reached = ReshardSearch::Memory::Reached;
using Entry = ReshardSearch::Memory::Entry;
// Of so many axes that come together every order is tried.
constexpr std::size_t kMostOrdered = 4;

class Search {
 public:
  // `borrowed`: axes that neither spec names.
  Search(const ReshardQuestion& question, const AxisNames& borrowed, ReshardSearch::Memory& memory)
      : q_(question),
        axes_(q_.from, q_.to, q_.mesh, q_.sizes, borrowed),
        goal_(axes_.LayoutOf(q_.to)),
        reached_(memory.reached),
        numbers_(memory.numbers),
        open_(memory.open),
        blocks_(memory.blocks) {
    reached_.clear();
    numbers_.Clear();
    open_.clear();
    Slot(axes_.Encode(goal_));  // kGoal, where nothing leads that costs more than is allowed
    constexpr int kMost = std::numeric_limits<int>::max();
    if (q_.aim == ReshardAim::kPrice) Allow({q_.most_price, kMost, kMost});
    start_ = Slot(axes_.Encode(axes_.LayoutOf(q_.from)));
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
           (found.moves.size() == 1 && axes_.HasNoSums(axes_.LayoutOf(q_.from)));
  }

  std::optional<ReshardPlan> Find() {
    At(start_).length = {0, 0, 0};
    if (Whole(At(start_).length, At(start_).to_go) < At(kGoal).length) Open(start_);
    while (!open_.empty()) {
      const int here = open_.front().at;
      std::pop_heap(open_.begin(), open_.end(), std::greater<>());
      open_.pop_back();
      if (here == kGoal) return Trace();
      if (At(here).is_done) continue;
      At(here).is_done = true;
      Expand(here);
    }
    return std::nullopt;
  }

 private:
  static constexpr int kGoal = 0;

  Reached& At(int i) { return reached_[static_cast<std::size_t>(i)]; }
  // Where a layout is kept.
  int Slot(LayoutCode layout) {
    const auto [number, is_new] = numbers_.Insert(layout, static_cast<int>(reached_.size()));
    if (is_new) {
      reached_.emplace_back().layout = layout;
      reached_.back().to_go = ToGo(layout);
    }
    return number;
  }
  void Open(int i) {
    open_.push_back({Whole(At(i).length, At(i).to_go), At(i).layout.bits(), i});
    std::push_heap(open_.begin(), open_.end(), std::greater<>());
  }
  // Of a way so long that leads on for `to_go` at least.
  static Length Whole(Length length, double to_go) {
    std::get<0>(length) += to_go;
    return length;
  }

  // What leads from a layout to the goal sends at least what rank 0 is to have and lacks: of a sum
  // that is not done it lacks all. What a step sends is a mean over ranks, and rank 0, whose blocks
  // are the largest, may get more than that: of a block of s elements in n parts ceil(s / n)
  // instead of s / n.
  double ToGo(LayoutCode code) {
    if (q_.aim != ReshardAim::kPrice) return 0;
    axes_.Decode(code, seen_);
    const std::int64_t held = axes_.HasNoSums(seen_) ? axes_.Overlap(seen_, goal_) : 0;
    const std::int64_t lacks = axes_.Elements(goal_) - held;
    if (lacks == 0) return 0;
    return axes_.evenness() * static_cast<double>(lacks * SizeOf(q_.dtype)) +
           q_.tariff.latency_bytes;
  }
  Move MoveOf(const SearchStep& step, LayoutCode after) const {
    Move move;
    move.kind = step.kind;
    move.axes = axes_.NamesOf(step.axes);
    const bool along = step.kind != ProgramOpKind::kAllReduce && !IsPermute(step);
    if (along) move.dim = q_.from.dims()[step.dim].name;
    if (step.kind == ProgramOpKind::kAllToAll) move.to = q_.from.dims()[step.to].name;
    move.result = axes_.SpecOf(after);
    return move;
  }

  static bool IsPermute(const SearchStep& step) { return step.kind == ProgramOpKind::kPermute; }

  // Of a step from here_, to turned_ if it is a permute.
  Cost CostOf(const SearchStep& step) {
    if (!IsCollective(step.kind)) return Cost();
    const auto sends = [&](std::int64_t elements) {
      return Cost{Bytes(elements * SizeOf(q_.dtype)), Flops(0), 1};
    };
    const auto sends_of = [&](const Layout& joined) {
      const std::int64_t elements = axes_.Elements(joined);
      return Cost{LeastBytesSent(step.kind, axes_.Parts(step.axes), elements, q_.dtype), Flops(0),
                  1};
    };
    if (IsPermute(step)) return sends(axes_.MeanExchanged(here_, turned_, step.axes, blocks_));
    if (step.kind != ProgramOpKind::kAllGather && step.kind != ProgramOpKind::kAllToAll) {
      return sends_of(here_);
    }
    AxisRun& run = after_.dims[step.dim];
    run = run.First(run.size() - step.axes.size());
    Cost cost;
    if (step.kind == ProgramOpKind::kAllGather) {
      cost = sends_of(after_);
    } else {
      after_.dims[step.to] += step.axes;
      cost = sends(axes_.evenness() < 1 ? axes_.MeanExchanged(here_, after_, step.axes, blocks_)
                                        : axes_.Elements(after_) - axes_.Overlap(here_, after_));
      after_.dims[step.to] = here_.dims[step.to];
    }
    run = here_.dims[step.dim];
    return cost;
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
    if (Whole(AtLeast(here, step.kind), At(there).to_go) >= At(kGoal).length) return;
    const Cost cost = At(here).cost + CostOf(step);
    Bytes peak;
    if (q_.most_memory || q_.aim == ReshardAim::kPeak) {
      peak =
          std::max(At(here).peak, MemoryOfMove(axes_.SpecOf(At(here).layout), MoveOf(step, after),
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
    axes_.Decode(code, here_);
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

  // Makes axes that split nothing yet the minor ones of dimension `d`: one, several sums, or
  // several if the target goes on so.
  void AppendTo(int here, std::size_t d) {
    // Slices are free one by one, but each takes memory beside what it is cut from.
    const bool is_tight = q_.most_memory || q_.aim == ReshardAim::kPeak;
    ForEachRunOf(here_.idle, is_tight ? kMostOrdered : 1,
                 [&](const AxisRun& run) { Append(here, d, run); });
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
      if (!axes.empty()) Take(here, {ProgramOpKind::kPermute, 0, 0, axes}, axes_.Encode(turned_));
      return;
    }
    const auto given = [&](const AxisRun& run) {
      turned_.dims[d] = run;
      Permute(here, d + 1, free.Without(run));
    };
    const AxisRun& now = here_.dims[d];
    if (free.ContainsAll(now)) given(now);  // as it is
    const std::int64_t parts = axes_.Parts(now);
    const AxisRun& wanted = goal_.dims[d];
    for (std::size_t length = 0; length <= wanted.size(); ++length) {
      const AxisRun front = wanted.First(length);
      if (!free.ContainsAll(front)) break;
      if (axes_.Parts(front) == parts && !(front == now)) given(front);
      // Only rounding in small uneven blocks makes less than all that is wanted the cheaper front.
      const bool is_worth_it =
          length == wanted.size() || (axes_.evenness() < 1 && axes_.count() <= 3);
      if (!is_worth_it || parts % axes_.Parts(front) != 0) continue;
      ForEachFilling(free.Without(front), parts / axes_.Parts(front), [&](const AxisRun& more) {
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
      const std::int64_t ranks = axes_.RanksAlong(axis);
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
    for (std::size_t a = 0; a < axes_.count(); ++a) {
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
  const MovingAxes axes_;
  const Layout goal_;
  int start_ = 0;
  Layout seen_;    // the one that ToGo looks at
  Layout here_;    // the one that is expanded
  Layout after_;   // here_, but while CostOf looks at a step
  Layout turned_;  // here_ under the permute that is tried
  std::vector<Reached>& reached_;
  LayoutMap& numbers_;  // in reached_, by layout
  std::vector<Entry>& open_;
  std::vector<Block>& blocks_;  // that MeanExchanged works in
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

// Of a plan that was made by price.
Length LengthOf(const ReshardPlan& plan, const Tariff& tariff) {
  const auto permutes = std::count_if(plan.moves.begin(), plan.moves.end(), [](const Move& move) {
    return move.kind == ProgramOpKind::kPermute;
  });
  return {Price(plan.cost, tariff), static_cast<int>(permutes),
          static_cast<int>(plan.moves.size())};
}

}  // namespace

ReshardSearch::ReshardSearch() : memory_(std::make_unique<Memory>()) {}
ReshardSearch::~ReshardSearch() = default;

std::optional<ReshardPlan> ReshardSearch::Find(const ReshardQuestion& question,
                                               const ReshardPlan* without_idle) {
  std::optional<ReshardPlan> found;
  Length shortest;
  {
    Search search(question, {}, *memory_);
    if (without_idle != nullptr) {
      found = *without_idle;
      search.Allow(LengthOf(*found, question.tariff));
    } else {
      found = search.Find();
    }
    if (found && search.IsLeast(*found)) return found;
    shortest = search.Shortest();
  }
  const AxisNames borrowed = AxesToBorrow(question);
  if (borrowed.empty()) return found;
  Search wider(question, borrowed, *memory_);
  if (found) wider.Allow(shortest);
  std::optional<ReshardPlan> better = wider.Find();
  return better ? better : found;
}

}  // namespace chorus
