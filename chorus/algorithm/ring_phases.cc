#include "chorus/algorithm/ring_phases.h"

namespace chorus {

Expr RingOwner(std::int64_t offset) {
  const Expr r = Expr::Rank();
  return offset == 0 ? r : (r + offset) % Expr::GroupSize();
}

// The numbers are those of the worked example in ring_reduce_scatter.cc.
void AddRingReduceScatter(ScheduleBuilder& b, const Expr& own) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr k = Expr::Variable("k"), mine = Expr::Variable("b");
  const LabelExpr u = Label("u"), s = Label("s"), v = Label("v"), a = Label("a");
  const Expr left = (mine + 1) % n;  // the block that was added to in the turn before

  // 1. Alone, the own block is the sum.
  b.Copy(u, Out(own), Scaled(In(own))).Finish().When(Eq(n, 1));
  b.For(k, 0, n - 2, [&] {
    b.Define(mine, (own - k - 2) % n);
    // 2. Pass on the block before: raw at first, then the partial sum made in the last turn.
    b.Send(s[k], {Select(Eq(k, 0), In(left), Acc((k - 1) % 2, left))})
        .To((r + 1) % n)
        .As(k)
        .After(a[k - 1]);
    // 3. Take the next block's partial sum, into the slot that s[k - 1] has sent.
    b.Recv(v[k], {Select(Eq(k, 0), Tmp(0, mine), Acc(k % 2, mine))})
        .From((r - 1) % n)
        .As(k)
        .After(s[k - 1]);
    // 4. Add the own contribution; the last block added to is the own block, and finished.
    const ChunkExpr partial = Select(Eq(k, 0), Scaled(Tmp(0, mine)), Acc(k % 2, mine));
    b.Reduce(a[k], Acc(k % 2, mine), partial, Scaled(In(mine))).After(v[k]).When(Lt(k, n - 2));
    b.Reduce(a[k], Out(mine), partial, Scaled(In(mine))).Finish().After(v[k]).When(Eq(k, n - 2));
  });
}

// The numbers are those of the worked example in ring_all_gather.cc.
void AddRingAllGather(ScheduleBuilder& b, const Expr& own, const ChunkExpr& first,
                      const std::vector<LabelExpr>& ready, const Expr& first_message) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), k = Expr::Variable("k");
  const LabelExpr f = Label("f"), g = Label("g");
  const Expr message = first_message == Expr(0) ? k : first_message + k;  // never "0 + k"
  b.For(k, 0, n - 2, [&] {
    // 2. Pass on the own block, then whatever came last.
    auto send = b.Send(f[k], {Select(Eq(k, 0), first, Out((own - k) % n))});
    send.To((r + 1) % n).As(message).After(g[k - 1]);
    for (const LabelExpr& label : ready) send.After(label);
    // 3. Take the next block.
    b.Recv(g[k], {Out((own - k - 1) % n)}).From((r - 1) % n).As(message);
  });
}

}  // namespace chorus
