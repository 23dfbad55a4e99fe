// Direct all_to_all: every rank sends every other its block, all at once.
//
// steps: 1, bytes sent per rank: (N - 1)/N V
//
// Worked example, N = 3, rank 1, block i 3 + j written (i,j):
//   1. out(1,1) = in(1,1)
//   2. sends in(1,2) to rank 2, then in(1,0) to rank 0: at distance d to rank r + d, so that no two
//      ranks turn to the same peer at the same time
//   3. takes out(0,1) from rank 0 and out(2,1) from rank 2
#include "chorus/algorithm/all_to_all.h"
#include "chorus/algorithm/builders.h"

namespace chorus {

void AddDirectAllToAll(ScheduleBuilder& b) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr d = Expr::Variable("d"), from = Expr::Variable("p"), to = Expr::Variable("q");
  // 1. What stays.
  b.Copy(Label("c"), Out(PairBlock(r, r)), In(PairBlock(r, r)));
  b.For(d, 1, n - 1, [&] {
    b.Define(to, (r + d) % n);
    b.Define(from, (r - d) % n);
    // 2. To everyone.
    b.Send(Label("s")[to], {In(PairBlock(r, to))}).To(to).As(0);
    // 3. From everyone.
    b.Recv(Label("v")[from], {Out(PairBlock(from, r))}).From(from).As(0);
  });
}

Expr PairBlock(const Expr& from, const Expr& to) { return from * Expr::GroupSize() + to; }

Schedule DirectAllToAll() {
  ScheduleBuilder b("direct", OpKind::kAllToAll);
  b.Blocks(Expr::GroupSize() * Expr::GroupSize()).Tiles(2);
  AddDirectAllToAll(b);
  return std::move(b).Build();
}

const Algorithm kDirectAllToAll = {
    "direct",
    OpKind::kAllToAll,
    "every rank sends every other its block, all at once",
    "steps: 1, bytes sent per rank: (N - 1)/N V",
    R"(  What rank i has for rank j is written ij.
          rank 0      rank 1      rank 2          0 --- 1
  start   00 01 02    10 11 12    20 21 22         \   /
  step 1  00 10 20    01 11 21    02 12 22           2
)",
    DirectAllToAll,
};

}  // namespace chorus
