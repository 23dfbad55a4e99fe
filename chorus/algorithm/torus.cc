#include "chorus/algorithm/torus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>

namespace chorus {
namespace {

std::int64_t ProductOf(const AlgorithmNumbers& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace

const AlgorithmParameter kTorusParameter = {
    "AxB",
    "the ranks along each axis, the last one fastest, such as 2x3 or 4x4x4",
    'x',
    [](const AlgorithmNumbers& sizes) {
      constexpr std::int64_t kMostRanks = 1 << 20;
      std::int64_t ranks = 1;
      for (const std::int64_t size : sizes) {
        if (size < 1 || size > kMostRanks / ranks) {
          return InvalidArgument(
              fmt::format("{} make none of 1 .. {} ranks", fmt::join(sizes, " x "), kMostRanks));
        }
        ranks *= size;
      }
      if (sizes.size() <= 8) return OkStatus();
      return InvalidArgument(fmt::format("{} axes are more than 8", sizes.size()));
    },
    [](const AlgorithmNumbers& sizes, std::int64_t group_size) {
      const std::int64_t ranks = ProductOf(sizes);
      if (ranks == group_size) return OkStatus();
      return InvalidArgument(fmt::format("it has {} ranks, the group has {}", ranks, group_size));
    },
};

std::vector<Torus::Axis> Torus::Axes() const {
  std::vector<Axis> axes;
  std::int64_t stride = ProductOf(sizes_), message = 0;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    stride /= sizes_[i];
    if (sizes_[i] == 1) continue;
    axes.push_back({std::to_string(i), sizes_[i], stride, message});
    message += sizes_[i] - 1;
  }
  return axes;
}

Expr Torus::Coordinate(const Axis& axis) { return Expr::Rank() / axis.stride % axis.size; }

Expr Torus::Group(const Axis& axis, const Expr& c) {
  const std::int64_t all = axis.stride * axis.size;
  return Expr::Rank() / all * all + c % axis.size * axis.stride;
}

Expr Torus::RankAt(const Axis& axis, const Expr& c) {
  return Group(axis, c) + Expr::Rank() % axis.stride;
}

std::int64_t Torus::Messages() const {
  std::int64_t messages = 0;
  for (const Axis& axis : Axes()) messages += axis.size - 1;
  return messages;
}
std::int64_t Torus::Ranks() const { return ProductOf(sizes_); }
std::string Torus::ScheduleName() const { return fmt::format("torus_{}", fmt::join(sizes_, "x")); }

std::int64_t Torus::TmpSlots() const { return Axes().empty() ? 0 : Axes()[0].stride; }
std::int64_t Torus::AccSlots() const { return Ranks() + 2 * TmpSlots(); }

LabelExpr Torus::ReduceScatterDone() const {
  if (Axes().empty()) return Label("u");
  const Axis last = Axes().back();
  return Label("a" + last.name)[last.size - 2][0];
}

// Sums over the axes before lie in acc, by block; those under way along an axis in two sets of
// slots behind, used in turn.
void Torus::AddReduceScatter(ScheduleBuilder& b) const {
  const Expr r = Expr::Rank(), k = Expr::Variable("k"), j = Expr::Variable("j");
  const Expr block = Expr::Variable("b");
  const std::vector<Axis> axes = Axes();
  if (axes.empty()) b.Copy(Label("u"), Out(r), Scaled(In(r))).Finish();
  std::vector<LabelExpr> before;  // steps of the axis before
  for (const Axis& axis : axes) {
    const LabelExpr s = Label("s" + axis.name), v = Label("v" + axis.name);
    const LabelExpr a = Label("a" + axis.name);
    const bool is_first = axis.message == 0, is_last = axis.stride == 1;
    const Expr c = Coordinate(axis);
    const auto moving = [&](const Expr& turn, const Expr& i) {
      return Ranks() + turn % 2 * TmpSlots() + i;
    };
    // What this rank has of a block before this axis.
    const auto own = [&](const Expr& x, bool adds) {
      if (!is_first) return Acc(x, x);
      return adds ? Scaled(In(x)) : In(x);
    };
    b.For(k, 0, axis.size - 2, [&] {
      // 1. Pass on the group of the turn before; in the first turn what there is of it here.
      const Expr passed = Group(axis, c - k - 1), mine = Group(axis, c - k - 2);
      auto send = b.Send(
          s[k],
          {Each(j, 0, axis.stride - 1,
                Select(Eq(k, 0), own(passed + j, false), Acc(moving(k - 1, j), passed + j)))});
      send.To(RankAt(axis, c + 1)).As(axis.message + k).After(Every(a));
      for (const LabelExpr& label : before) send.After(label);
      // 2. Take the sums of the next group.
      const bool raw = is_first;
      const auto arrived = [&](const Expr& i, const Expr& x, bool adds) {
        ChunkExpr sum = Acc(moving(k, i), x);
        if (!raw) return sum;
        return Select(Eq(k, 0), adds ? Scaled(Tmp(i, x)) : Tmp(i, x), sum);
      };
      auto recv = b.Recv(v[k], {Each(j, 0, axis.stride - 1, arrived(j, mine + j, false))});
      recv.From(RankAt(axis, c - 1)).As(axis.message + k).After(s[k - 1]);
      for (const LabelExpr& label : before) recv.After(label);
      // 3. Add what there is here. The last group is the own one; of the last axis the own block.
      b.For(j, 0, axis.stride - 1, [&] {
        b.Define(block, mine + j);
        const Expr stays = Eq(k, axis.size - 2);
        const ChunkExpr sum = arrived(j, block, true);
        if (is_last) {
          b.Reduce(a[k][j], Acc(moving(k, j), block), sum, own(block, true))
              .After(v[k])
              .When(Not(stays));
          b.Reduce(a[k][j], Out(block), sum, own(block, true)).Finish().After(v[k]).When(stays);
        } else {
          b.Reduce(a[k][j], Acc(Select(stays, block, moving(k, j)), block), sum, own(block, true))
              .After(v[k]);
        }
      });
    });
    before = {Every(s), Every(a)};
  }
}

void Torus::AddAllGather(ScheduleBuilder& b, const ChunkExpr& first,
                         const std::vector<LabelExpr>& ready, std::int64_t first_message) const {
  const Expr k = Expr::Variable("k"), j = Expr::Variable("j");
  std::vector<Axis> axes = Axes();
  std::vector<LabelExpr> before = ready;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const Axis& axis = axes[i];
    const LabelExpr f = Label("f" + axis.name), g = Label("g" + axis.name);
    const Expr c = Coordinate(axis);
    b.For(k, 0, axis.size - 2, [&] {
      // Pass on the own group, then what came last.
      const Expr passed = Group(axis, c - k);
      const ChunkExpr group =
          axis.stride == 1 ? Select(Eq(k, 0), first, Out(passed + j)) : Out(passed + j);
      auto send = b.Send(f[k], {Each(j, 0, axis.stride - 1, group)});
      send.To(RankAt(axis, c + 1)).As(first_message + axis.message + k).After(g[k - 1]);
      for (const LabelExpr& label : before) send.After(label);
      b.Recv(g[k], {Each(j, 0, axis.stride - 1, Out(Group(axis, c - k - 1) + j))})
          .From(RankAt(axis, c - 1))
          .As(first_message + axis.message + k);
    });
    before.push_back(Every(g));
  }
}

}  // namespace chorus
