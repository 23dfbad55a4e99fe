#include "chorus/algorithm/folded_ranks.h"

namespace chorus {

Expr CoreLevels() { return FloorLog2(Expr::GroupSize()); }

void FoldedRanks::Define(ScheduleBuilder& b) const {
  const Expr r = Expr::Rank();
  b.Define(core_size, Expr(1) << CoreLevels());
  b.Define(surplus, Expr::GroupSize() - core_size);
  b.Define(core, Or(Ge(r, 2 * surplus), Eq(r % 2, 0)));
  b.Define(v, Select(Lt(r, 2 * surplus), r / 2, r - surplus));
}

Expr FoldedRanks::RankOf(const Expr& u) const { return Select(Lt(u, surplus), 2 * u, u + surplus); }

}  // namespace chorus
