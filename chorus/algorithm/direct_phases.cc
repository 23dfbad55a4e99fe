#include "chorus/algorithm/direct_phases.h"

namespace chorus {

Expr DirectSlot(const Expr& q) { return q - Gt(q, Expr::Rank()); }

void AddSumInRankOrder(ScheduleBuilder& b, const Expr& block,
                       const std::vector<LabelExpr>& out_is_free) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), q = Expr::Variable("q");
  const LabelExpr u = Label("u"), v = Label("v"), a = Label("a");
  const auto x = [&](const Expr& rank, const Expr& slot) {
    return Select(Eq(r, rank), Scaled(In(block)), Scaled(Tmp(slot, block)));
  };
  auto alone = b.Copy(u, Out(block), Scaled(In(block))).Finish().When(Eq(n, 1));
  for (const LabelExpr& label : out_is_free) alone.After(label);
  b.For(q, 1, n - 1, [&] {
    const ChunkExpr sum = Select(Eq(q, 1), x(0, 0), Acc(0, block));
    const ChunkExpr next = x(q, DirectSlot(q));
    b.Reduce(a[q], Acc(0, block), sum, next).After(a[q - 1], v[q - 1], v[q]).When(Lt(q, n - 1));
    auto last = b.Reduce(a[q], Out(block), sum, next).Finish();
    last.After(a[q - 1], v[q - 1], v[q]).When(Eq(q, n - 1));
    for (const LabelExpr& label : out_is_free) last.After(label);
  });
}

}  // namespace chorus
