#include "chorus/algorithm/direct_phases.h"

namespace chorus {

Expr DirectSlot(const Expr& q) { return q - Gt(q, Expr::Rank()); }

// The numbers are those of the worked example in direct_reduce_scatter.cc.
void AddDirectReduceScatter(ScheduleBuilder& b) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr d = Expr::Variable("d"), from = Expr::Variable("p"), to = Expr::Variable("q");
  b.For(d, 1, n - 1, [&] {
    b.Define(to, (r + d) % n);
    b.Define(from, (r - d) % n);
    // 1. Each block to its owner.
    b.Send(Label("s")[to], {In(to)}).To(to).As(0);
    // 2. The own block from everyone.
    b.Recv(Label("v")[from], {Tmp(DirectSlot(from), r)}).From(from).As(0);
  });
  // 3. The sum in rank order.
  AddSumInRankOrder(b, r, {});
}

void AddSumInRankOrder(ScheduleBuilder& b, const Expr& block,
                       const std::vector<LabelExpr>& out_is_free, const std::optional<Expr>& here) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), q = Expr::Variable("q");
  const LabelExpr u = Label("u"), v = Label("v"), a = Label("a");
  const auto only = [&](const Expr& guard) { return here.has_value() ? And(*here, guard) : guard; };
  const auto x = [&](const Expr& rank, const Expr& slot) {
    return Select(Eq(r, rank), Scaled(In(block)), Scaled(Tmp(slot, block)));
  };
  auto alone = b.Copy(u, Out(block), Scaled(In(block))).Finish().When(Eq(n, 1));
  for (const LabelExpr& label : out_is_free) alone.After(label);
  b.For(q, 1, n - 1, [&] {
    const ChunkExpr sum = Select(Eq(q, 1), x(0, 0), Acc(0, block));
    const ChunkExpr next = x(q, DirectSlot(q));
    b.Reduce(a[q], Acc(0, block), sum, next)
        .After(a[q - 1], v[q - 1], v[q])
        .When(only(Lt(q, n - 1)));
    auto last = b.Reduce(a[q], Out(block), sum, next).Finish();
    last.After(a[q - 1], v[q - 1], v[q]).When(only(Eq(q, n - 1)));
    for (const LabelExpr& label : out_is_free) last.After(label);
  });
}

}  // namespace chorus
