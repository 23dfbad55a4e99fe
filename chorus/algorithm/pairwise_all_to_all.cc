// Pairwise all_to_all: in round d every rank sends to the one d to its right and receives from the
// one d to its left, one round after another.
//
// steps: N - 1, bytes sent per rank: (N - 1)/N V
//
// Worked example, N = 4, rank 1, what rank i has for rank j written ij:
//   1. 11 stays
//   2. round 1: sends 12 to rank 2
//   3. and takes 01 from rank 0; round 2: sends 13, takes 31; round 3: sends 10, takes 21
// As direct, but with one message under way at a time, for wires that many would crowd.
#include "chorus/algorithm/all_to_all.h"
#include "chorus/algorithm/builders.h"

namespace chorus {

Schedule PairwiseAllToAll() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr d = Expr::Variable("d"), from = Expr::Variable("p"), to = Expr::Variable("q");
  const LabelExpr s = Label("s"), v = Label("v");
  ScheduleBuilder b("pairwise", OpKind::kAllToAll);
  b.Blocks(n * n).Tiles(2);
  // 1. What stays.
  b.Copy(Label("c"), Out(PairBlock(r, r)), In(PairBlock(r, r)));
  b.For(d, 1, n - 1, [&] {
    b.Define(to, (r + d) % n);
    b.Define(from, (r - d) % n);
    // 2. and 3. Only when the round before is over.
    b.Send(s[d], {In(PairBlock(r, to))}).To(to).As(0).After(s[d - 1], v[d - 1]);
    b.Recv(v[d], {Out(PairBlock(from, r))}).From(from).As(0).After(s[d - 1], v[d - 1]);
  });
  return std::move(b).Build();
}

const Algorithm kPairwiseAllToAll = {
    "pairwise",
    OpKind::kAllToAll,
    "in round d every rank sends to the one d to its right, one round after another",
    "steps: N - 1, bytes sent per rank: (N - 1)/N V",
    R"(  What rank i has for rank j is written ij.
           rank 0      rank 1      rank 2
  start    00 01 02    10 11 12    20 21 22
  round 1  00 .. 20    01 11 ..    .. 12 22    to the right
  round 2  00 10 20    01 11 21    02 12 22    two to the right
)",
    PairwiseAllToAll,
};

}  // namespace chorus
