#include "chorus/algorithm/hierarchical.h"

#include <fmt/format.h>

namespace chorus {

const AlgorithmParameter kWholeNodesParameter = {
    "L",
    "the ranks of a node, of which there are whole ones only, such as 8",
    0,
    [](const AlgorithmNumbers& numbers) {
      constexpr std::int64_t kMostRanks = 1 << 20;
      if (numbers[0] >= 1 && numbers[0] <= kMostRanks) return OkStatus();
      return InvalidArgument(
          fmt::format("a node of {} ranks is not in 1 .. {}", numbers[0], kMostRanks));
    },
    [](const AlgorithmNumbers& numbers, std::int64_t group_size) {
      if (group_size % numbers[0] == 0) return OkStatus();
      return InvalidArgument(
          fmt::format("{} ranks are no whole nodes of {}; two_level:{} takes any number of ranks",
                      group_size, numbers[0], numbers[0]));
    },
};

Expr WholeNodes::On(const Expr& node) const { return ranks_ == 1 ? node : node * ranks_ + Local(); }

Expr WholeNodes::TmpSlots() const { return ranks_ == 1 ? Expr(1) : (ranks_ - 1) * Nodes(); }
Expr WholeNodes::AccSlots() const { return Nodes() + 2; }
Expr WholeNodes::Messages() const { return Nodes(); }
std::string WholeNodes::ScheduleName() const { return fmt::format("hierarchical_{}", ranks_); }

std::vector<LabelExpr> WholeNodes::ReduceScatterDone() const {
  return {Label("u"), Label("a")[ranks_ - 1][Node()], Label("t")[Nodes() - 2]};
}

// The numbers are those of the worked example in hierarchical_reduce_scatter.cc. tmp: what came
// from inside the node, M blocks of each rank. acc: sums over the node, by node of their owner, and
// two slots for the sum that goes round, used in turn.
void WholeNodes::AddReduceScatter(ScheduleBuilder& b) const {
  const Expr r = Expr::Rank(), m = Nodes(), node = Node(), d = Expr::Variable("d");
  const Expr to = Expr::Variable("e"), from = Expr::Variable("p"), j = Expr::Variable("j");
  const Expr q = Expr::Variable("q"), k = Expr::Variable("k"), mine = Expr::Variable("c");
  const LabelExpr u = Label("u"), s = Label("s"), v = Label("v"), a = Label("a");
  const LabelExpr x = Label("x"), y = Label("y"), t = Label("t");
  b.Copy(u, Out(r), Scaled(In(r))).Finish().When(Eq(Expr::GroupSize(), 1));
  // 1. Inside the node: to each rank the blocks of its local rank.
  const auto slot = [&](const Expr& local) { return (local - Gt(local, Local())) * m; };
  b.For(d, 1, ranks_ - 1, [&] {
    b.Define(to, Behind(d));
    b.Define(from, Before(d));
    b.Send(s[to], {Each(j, 0, m - 1, In(j * ranks_ + to % ranks_))}).To(to).As(0);
    b.Recv(v[from], {Each(j, 0, m - 1, Tmp(slot(from % ranks_) + j, On(j)))}).From(from).As(0);
  });
  // 2. Their sum over the node in rank order; of a single node it is finished.
  const auto term = [&](const Expr& local) {
    return Select(Eq(Local(), local), Scaled(In(On(j))), Scaled(Tmp(slot(local) + j, On(j))));
  };
  b.For(q, 1, ranks_ - 1, [&] {
    b.For(j, 0, m - 1, [&] {
      const ChunkExpr sum = Select(Eq(q, 1), term(0), Acc(j, On(j)));
      const Expr ends = And(Eq(m, 1), Eq(q, ranks_ - 1));
      const LabelExpr one = v[First() + q - 1], other = v[First() + q];
      b.Reduce(a[q][j], Acc(j, On(j)), sum, term(q)).After(a[q - 1][j], one, other).When(Not(ends));
      b.Reduce(a[q][j], Out(r), sum, term(q)).Finish().After(a[q - 1][j], one, other).When(ends);
    });
  });
  // What there is here of a node's block: the sum over this node.
  const bool raw = ranks_ == 1;
  const auto here = [&](const Expr& of, bool adds) {
    if (!raw) return Acc(of, On(of));
    return adds ? Scaled(In(On(of))) : In(On(of));
  };
  b.For(k, 0, m - 2, [&] {
    b.Define(mine, (node - k - 2) % m);
    const Expr passed = (mine + 1) % m;
    // 3. Between nodes: pass on the block before, at first the own sum of it.
    b.Send(x[k], {Select(Eq(k, 0), here(passed, false), Acc(m + (k - 1) % 2, On(passed)))})
        .To(On((node + 1) % m))
        .As(k + 1)
        .After(a[ranks_ - 1][passed], t[k - 1]);
    // 4. Take the next block, into the slot that has been sent, and add; the last is the own block.
    const auto arrived = [&](bool adds) {
      const ChunkExpr sum = Acc(m + k % 2, On(mine));
      if (!raw) return sum;
      return Select(Eq(k, 0), adds ? Scaled(Tmp(0, On(mine))) : Tmp(0, On(mine)), sum);
    };
    b.Recv(y[k], {arrived(false)}).From(On((node - 1) % m)).As(k + 1).After(x[k - 1]);
    const LabelExpr own = a[ranks_ - 1][mine];
    b.Reduce(t[k], Acc(m + k % 2, On(mine)), arrived(true), here(mine, true))
        .After(y[k], own)
        .When(Lt(k, m - 2));
    b.Reduce(t[k], Out(On(mine)), arrived(true), here(mine, true))
        .Finish()
        .After(y[k], own)
        .When(Eq(k, m - 2));
  });
}

// The numbers are those of the worked example in hierarchical_all_gather.cc.
void WholeNodes::AddAllGather(ScheduleBuilder& b, const ChunkExpr& first,
                              const std::vector<LabelExpr>& ready,
                              const Expr& first_message) const {
  const Expr m = Nodes(), node = Node(), k = Expr::Variable("k"), j = Expr::Variable("j");
  const Expr d = Expr::Variable("d"), to = Expr::Variable("e"), from = Expr::Variable("p");
  const LabelExpr f = Label("f"), g = Label("g"), w = Label("w"), z = Label("z");
  const auto message = [&](const Expr& i) {
    return first_message == Expr(0) ? i : first_message + i;  // never "0 + k"
  };
  const auto held = [&](const Expr& of) { return Select(Eq(of, node), first, Out(On(of))); };
  b.For(k, 0, m - 2, [&] {
    // 2. Between nodes: pass on the own block, then whatever came last,
    auto send = b.Send(f[k], {Select(Eq(k, 0), first, Out(On((node - k) % m)))});
    send.To(On((node + 1) % m)).As(message(k + 1)).After(g[k - 1]);
    for (const LabelExpr& label : ready) send.After(label);
    // 3. and take the next one.
    b.Recv(g[k], {Out(On((node - k - 1) % m))}).From(On((node - 1) % m)).As(message(k + 1));
  });
  b.For(d, 1, ranks_ - 1, [&] {
    b.Define(to, Behind(d));
    b.Define(from, Before(d));
    // 4. Inside the node: all of that to everyone, and theirs.
    auto send = b.Send(w[to], {Each(j, 0, m - 1, held(j))});
    send.To(to).As(message(0)).After(Every(g));
    for (const LabelExpr& label : ready) send.After(label);
    b.Recv(z[from], {Each(j, 0, m - 1, Out(j * ranks_ + from % ranks_))}).From(from).As(message(0));
  });
}

}  // namespace chorus
