#include "chorus/algorithm/knomial_tree.h"

#include <fmt/format.h>

namespace chorus {

const AlgorithmParameter kKnomialParameter = {
    "K",
    "the number of parts into which a level cuts the ranks, 2 to 64",
    0,
    [](const AlgorithmNumbers& numbers) {
      if (numbers[0] >= 2 && numbers[0] <= 64) return OkStatus();
      return InvalidArgument(fmt::format("{} is not in 2 .. 64", numbers[0]));
    },
    nullptr,
};

void KnomialTree::Define(ScheduleBuilder& b) const {
  const Expr r = Expr::Rank(), root = Expr::Root();
  b.Define(size, Power(arity, level));
  b.Define(mine, r / size);
  b.Define(first, mine / arity * arity);
  // The holder of the part of the next level.
  const Expr next = size * arity;
  b.Define(above, Select(Eq(root / next, r / next), root, r / next * next));
  b.Define(upper, Eq(r, above));
  b.Define(lower, And(Eq(r, HolderOf(mine)), Ne(r, above)));
}

Expr KnomialTree::HolderOf(const Expr& part) const {
  return Select(Eq(Expr::Root() / size, part), Expr::Root(), Begin(part));
}

}  // namespace chorus
