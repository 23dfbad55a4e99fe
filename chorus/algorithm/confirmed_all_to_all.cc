// Confirmed all_to_all: direct, and then no rank ends before all ranks have received all they
// expected.
//
// steps: 1 + ceil(log2 N), bytes sent per rank: (N - 1)/N V, signals sent per rank: ceil(log2 N)
//
// all_to_all_v uses it: a rank knows only its own counts, so that a disagreement of ranks s and t
// shows nowhere but at t, when the message of s has another size than t expects. Without the
// signals the other ranks could be gone by then, their call well ended.
//
// Worked example, N = 3, rank 0:
//   1. the direct exchange (direct_all_to_all.cc)
//   2. having received from 2 and 1, signals rank 1, and waits for rank 2, which has received too
//   3. signals rank 2 and waits for rank 1, which speaks for itself and rank 0: all have received
#include "chorus/algorithm/all_to_all.h"
#include "chorus/algorithm/builders.h"

namespace chorus {

Schedule ConfirmedAllToAll() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), k = Expr::Variable("k");
  const LabelExpr v = Label("v"), y = Label("y"), z = Label("z");
  ScheduleBuilder b("confirmed", OpKind::kAllToAll);
  b.Blocks(n * n).Tiles(2);
  // 1. The exchange, as messages 0.
  AddDirectAllToAll(b);
  b.For(k, 0, CeilLog2(n) - 1, [&] {
    // 2. and 3. A dissemination of "I have all": a signal speaks for all that was heard before.
    b.Send(y[k], {}).To((r + (Expr(1) << k)) % n).As(k + 1).After(Every(v), Every(z));
    b.Recv(z[k], {}).From((r - (Expr(1) << k)) % n).As(k + 1);
  });
  return std::move(b).Build();
}

const Algorithm kConfirmedAllToAll = {
    "confirmed",
    OpKind::kAllToAll,
    "direct, and then no rank ends before all ranks have received what they expected",
    "steps: 1 + ceil(log2 N), bytes sent per rank: (N - 1)/N V, signals sent per rank: "
    "ceil(log2 N)",
    R"(  What rank i has for rank j is written ij; then who is known to have all.
          rank 0      rank 1      rank 2          0 --- 1
  start   00 01 02    10 11 12    20 21 22         \   /
  step 1  00 10 20    01 11 21    02 12 22           2
  step 2  0 2         0 1         1 2
  step 3  0 1 2       0 1 2       0 1 2
)",
    ConfirmedAllToAll,
};

}  // namespace chorus
