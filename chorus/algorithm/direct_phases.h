// The two phases of direct algorithms, shared by direct_*.cc and one_shot_all_reduce.cc.
#pragma once

#include <optional>

#include "chorus/schedule/builder.h"

namespace chorus {

// out[r] becomes the sum of in[r] over all ranks, in rank order: every block is sent to the rank
// that adds it up (messages 0, steps s[q]), the own block comes from everyone (steps v[p]), and
// then it is summed as below. Uses tmp slots 0 .. N - 2 and acc slot 0.
void AddDirectReduceScatter(ScheduleBuilder& b);

// out[block] becomes x_0 + x_1 + ... + x_{N-1}, in this order and with these parentheses from the
// left, where x_r is in[block] and x_q is tmp[q - (q > r) : block], there when v[q] has ended.
// The sum ends with the step a[N - 1] (N > 1) or u (N = 1). `out_is_free` are the steps that must
// have ended before out[block] is written. Where `here` is 0 a rank adds up nothing. Uses acc slot
// 0.
void AddSumInRankOrder(ScheduleBuilder& b, const Expr& block,
                       const std::vector<LabelExpr>& out_is_free,
                       const std::optional<Expr>& here = std::nullopt);

// Where the contribution of rank q waits on rank r: N - 1 slots, none for r itself.
Expr DirectSlot(const Expr& q);

}  // namespace chorus
