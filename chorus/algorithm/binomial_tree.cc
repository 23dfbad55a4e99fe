#include "chorus/algorithm/binomial_tree.h"

namespace chorus {
namespace {

Expr Holder(const Expr& level, const Expr& block) {
  const Expr root = Expr::Root();
  return Select(Eq(root >> level, block), root, block << level);
}

}  // namespace

void BinomialTree::Define(ScheduleBuilder& b) const {
  b.Define(mine, Expr::Rank() >> k);
  b.Define(other, mine ^ 1);
  b.Define(peer, Holder(k, other));
  b.Define(below, Holder(k, mine));
  b.Define(above, Holder(k + 1, mine >> 1));
  b.Define(upper, And(Eq(Expr::Rank(), above), Lt(other << k, Expr::GroupSize())));
  b.Define(lower, And(Eq(Expr::Rank(), below), Ne(Expr::Rank(), above)));
}

Expr BinomialTree::IsSingle(const Expr& half) const {
  return Or(Eq(k, 0), Eq(half << k, Expr::GroupSize() - 1));
}

}  // namespace chorus
