#include "chorus/algorithm/two_way_phases.h"

namespace chorus {
namespace {

Expr HopsRight() { return Expr::GroupSize() / 2; }
Expr HopsLeft() { return (Expr::GroupSize() - 1) / 2; }

// One direction of the sum: `hops` turns of partial sums that move by `to_right` (1) or against it
// (-1). Labels are s, v, a with `name` behind; slots tmp `tmp` and acc `acc`, `acc` + 1.
void AddPartialSums(ScheduleBuilder& b, const std::string& name, std::int64_t to_right,
                    const Expr& hops, std::int64_t tmp, std::int64_t acc,
                    const Expr& first_message) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr k = Expr::Variable("k"), gone = Expr::Variable("g"), mine = Expr::Variable("b");
  const LabelExpr s = Label("s" + name), v = Label("v" + name), a = Label("a" + name);
  b.For(k, 0, hops - 1, [&] {
    // In turn k a rank passes on the block that ends `hops` - k ranks further, and gets the one
    // that ends one rank less far.
    const Expr left = to_right > 0 ? (r + hops - k) % n : (r - hops + k) % n;
    b.Define(gone, hops - k - 1);
    b.Define(mine, to_right > 0 ? (r + gone) % n : (r - gone) % n);
    b.Send(s[k], {Select(Eq(k, 0), In(left), Acc(acc + (k - 1) % 2, left))})
        .To(to_right > 0 ? (r + 1) % n : (r - 1) % n)
        .As(first_message + k)
        .After(a[k - 1]);
    b.Recv(v[k], {Select(Eq(k, 0), Tmp(tmp, mine), Acc(acc + k % 2, mine))})
        .From(to_right > 0 ? (r - 1) % n : (r + 1) % n)
        .As(first_message + k)
        .After(s[k - 1]);
    const ChunkExpr partial = Select(Eq(k, 0), Scaled(Tmp(tmp, mine)), Acc(acc + k % 2, mine));
    b.Reduce(a[k], Acc(acc + k % 2, mine), partial, Scaled(In(mine)))
        .After(v[k])
        .When(Lt(k, hops - 1));
  });
}

}  // namespace

// The numbers are those of the worked example in bidirectional_ring_reduce_scatter.cc.
void AddTwoWayReduceScatter(ScheduleBuilder& b) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr right = HopsRight(), left = HopsLeft();
  const LabelExpr u = Label("u"), h = Label("h"), f = Label("f");
  b.Copy(u, Out(r), Scaled(In(r))).Finish().When(Eq(n, 1));
  // 1. and 2. What comes from the left, and what comes from the right.
  AddPartialSums(b, "r", 1, right, 0, 0, 0);
  AddPartialSums(b, "l", -1, left, 1, 2, n);
  // 3. Both, and the own contribution between them. Two ranks have one side only.
  const ChunkExpr from_left = Select(Eq(right, 1), Scaled(Tmp(0, r)), Acc((right - 1) % 2, r));
  const ChunkExpr from_right = Select(Eq(left, 1), Scaled(Tmp(1, r)), Acc(2 + (left - 1) % 2, r));
  b.Reduce(h, Out(r), from_left, Scaled(In(r)))
      .Finish()
      .After(Label("vr")[right - 1])
      .When(Eq(n, 2));
  b.Reduce(h, Acc(4, r), from_left, Scaled(In(r))).After(Label("vr")[right - 1]).When(Gt(n, 2));
  b.Reduce(f, Out(r), Acc(4, r), from_right)
      .Finish()
      .After(h, Label("vl")[left - 1])
      .When(Gt(n, 2));
}

// The numbers are those of the worked example in bidirectional_ring_all_gather.cc.
void AddTwoWayAllGather(ScheduleBuilder& b, const ChunkExpr& first,
                        const std::vector<LabelExpr>& ready, const Expr& first_message) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), k = Expr::Variable("k");
  for (const bool to_right : {true, false}) {
    const LabelExpr s = Label(to_right ? "fr" : "fl"), v = Label(to_right ? "gr" : "gl");
    const Expr message = (to_right ? first_message : first_message + n) + k;
    b.For(k, 0, (to_right ? HopsRight() : HopsLeft()) - 1, [&] {
      // 2. Pass on the own block, then whatever came last from the other side.
      auto send =
          b.Send(s[k], {Select(Eq(k, 0), first, Out(to_right ? (r - k) % n : (r + k) % n))});
      send.To(to_right ? (r + 1) % n : (r - 1) % n).As(message).After(v[k - 1]);
      for (const LabelExpr& label : ready) send.After(label);
      // 3. Take the next block of that side.
      b.Recv(v[k], {Out(to_right ? (r - k - 1) % n : (r + k + 1) % n)})
          .From(to_right ? (r - 1) % n : (r + 1) % n)
          .As(message);
    });
  }
}

}  // namespace chorus
