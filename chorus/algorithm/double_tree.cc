#include "chorus/algorithm/double_tree.h"

namespace chorus {

Expr HalfTree::Last() const {
  const Expr n = Expr::GroupSize();
  return root_ == TreeRoot::kAnywhere && number_ == 0 ? n : n - 1;
}

Expr HalfTree::RankOf(const Expr& position) const {
  const Expr n = Expr::GroupSize(), root = Expr::Root();
  if (root_ == TreeRoot::kAnywhere) return number_ == 0 ? position - 1 : position;
  if (number_ == 0) return (position + root) % n;
  // The inverse of the shift in Define.
  return Select(Eq(position, 0), root, ((position - 2) % Max(n - 1, 1) + 1 + root) % n);
}

void HalfTree::Define(ScheduleBuilder& b) const {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr p = position_, low = low_;
  if (root_ == TreeRoot::kAnywhere) {
    b.Define(p, number_ == 0 ? r + 1 : r);
  } else {
    const Expr from_root = (r - Expr::Root()) % n;
    b.Define(p,
             number_ == 0 ? from_root : Select(Eq(from_root, 0), 0, from_root % Max(n - 1, 1) + 1));
  }
  b.Define(low, p & (Expr(0) - p));
  b.Define(rest_, Select(Eq(p, 0), Last(), Min(low - 1, Last() - p)));
  b.Define(right_, p + (Expr(1) << FloorLog2(Max(rest_, 1))));
  // On its parent's right if the next bit is set, or where the tree ends before the left form's
  // parent.
  b.Define(parent_, Select(Or(Ne(p & (2 * low), 0), Gt(p + low, Last())), p - low, p + low));
  const Expr lowest = root_ == TreeRoot::kAnywhere && number_ == 0 ? 1 : 0;  // position
  b.Define(has_parent_, And(Gt(p, 0), Ge(parent_, lowest)));
}

void HalfTree::AddReduce(ScheduleBuilder& b, const Expr& message) const {
  const LabelExpr u = Label(Name("u")), l = Label(Name("l")), g = Label(Name("g"));
  const LabelExpr a = Label(Name("a")), h = Label(Name("h")), s = Label(Name("s"));
  const std::int64_t tmp = std::int64_t{2} * number_, acc = std::int64_t{3} * number_;
  const ChunkExpr own = Scaled(In(block_));
  // The top of a tree of one rank.
  b.Copy(u, Out(block_), own).Finish().When(And(IsTop(), Not(Or(has_left_, has_right_))));
  // 1. Take the sums of both sides; a leaf's is raw.
  const Expr left_raw = Eq(low_, 2), right_raw = Eq(right_ % 2, 1);
  b.Recv(l, {Select(left_raw, Tmp(tmp, block_), Acc(acc, block_))})
      .From(RankOf(position_ - low_ / 2))
      .As(message)
      .When(has_left_);
  b.Recv(g, {Select(right_raw, Tmp(tmp + 1, block_), Acc(acc + 1, block_))})
      .From(RankOf(right_))
      .As(message)
      .When(has_right_);
  // 2. Left, own, right.
  const ChunkExpr left = Select(left_raw, Scaled(Tmp(tmp, block_)), Acc(acc, block_));
  const ChunkExpr right = Select(right_raw, Scaled(Tmp(tmp + 1, block_)), Acc(acc + 1, block_));
  const ChunkExpr sum = Acc(acc + 2, block_);
  const Expr ends_left = And(IsTop(), Not(has_right_));
  b.Reduce(a, sum, left, own).After(l).When(And(has_left_, Not(ends_left)));
  b.Reduce(a, Out(block_), left, own).Finish().After(l).When(And(has_left_, ends_left));
  const ChunkExpr so_far = Select(has_left_, sum, own);
  b.Reduce(h, sum, so_far, right).After(a, g).When(And(has_right_, Not(IsTop())));
  b.Reduce(h, Out(block_), so_far, right).Finish().After(a, g).When(And(has_right_, IsTop()));
  // 3. Upwards.
  b.Send(s, {Select(Or(has_left_, has_right_), sum, In(block_))})
      .To(RankOf(parent_))
      .As(message)
      .After(a, h)
      .When(has_parent_);
}

void HalfTree::AddBroadcast(ScheduleBuilder& b, const ChunkExpr& source,
                            const std::vector<LabelExpr>& ready, const Expr& message) const {
  const LabelExpr d = Label(Name("d")), x = Label(Name("x")), y = Label(Name("y"));
  // 1. From above.
  b.Recv(d, {Out(block_)}).From(RankOf(parent_)).As(message).When(has_parent_);
  // 2. To both sides.
  const ChunkExpr from = Select(IsTop(), source, Out(block_));
  auto left = b.Send(x, {from}).To(RankOf(position_ - low_ / 2)).As(message);
  left.After(d).When(has_left_);
  for (const LabelExpr& label : ready) left.After(label);
  auto right = b.Send(y, {from}).To(RankOf(right_)).As(message);
  right.After(d).When(has_right_);
  for (const LabelExpr& label : ready) right.After(label);
}

std::vector<LabelExpr> HalfTree::Finished() const {
  return {Label(Name("u")), Label(Name("a")), Label(Name("h"))};
}

}  // namespace chorus
