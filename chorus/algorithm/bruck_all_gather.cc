// Bruck all_gather: in round k every rank passes on all it has, up to what is missing, to the rank
// 2^k to its left.
//
// steps: ceil(log2 N) for any N, bytes sent per rank: (N - 1)/N V
//
// Worked example, N = 5, rank 1:
//   1. has its own block B
//   2. round 0: sends B to rank 0, takes C from rank 2
//   3. round 1: sends B C to rank 4, takes D E from rank 3. Round 2: one block is missing: sends B
//      to rank 2, takes A from rank 0
// Blocks are named, so the usual rotation at the end is not needed.
// Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications
// in multiport message-passing systems", 1997.
#include "chorus/algorithm/builders.h"
#include "chorus/schedule/builder.h"

namespace chorus {

Schedule BruckAllGather() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr k = Expr::Variable("k"), j = Expr::Variable("j"), reach = Expr::Variable("m");
  const LabelExpr c = Label("c"), s = Label("s"), v = Label("v");
  ScheduleBuilder b("bruck", OpKind::kAllGather);
  b.Blocks(n).Tiles(2);
  // 1. The own block.
  b.Copy(c, Out(r), In(r));
  b.For(k, 0, CeilLog2(n) - 1, [&] {
    b.Define(reach, Expr(1) << k);
    const Expr end = Min(reach, n - reach) - 1;
    // 2. The blocks from r on, as many as the other lacks;
    b.Send(s[k], {Each(j, 0, end, Select(Eq(j, 0), In(r), Out((r + j) % n)))})
        .To((r - reach) % n)
        .As(k)
        .After(Every(v));
    // 3. and those after.
    b.Recv(v[k], {Each(j, 0, end, Out((r + reach + j) % n))}).From((r + reach) % n).As(k);
  });
  return std::move(b).Build();
}

const Algorithm kBruckAllGather = {
    "bruck",
    OpKind::kAllGather,
    "in round k every rank passes on all it has, as far as it is missing, 2^k to the left",
    "steps: ceil(log2 N), bytes sent per rank: (N - 1)/N V",
    R"(           rank 0       rank 1       rank 2       rank 3       rank 4
  start    A . . . .    . B . . .    . . C . .    . . . D .    . . . . E
  round 0  A B . . .    . B C . .    . . C D .    . . . D E    A . . . E
  round 1  A B C D .    . B C D E    A . C D E    A B . D E    A B C . E
  round 2  A B C D E    A B C D E    A B C D E    A B C D E    A B C D E
)",
    BruckAllGather,
};

}  // namespace chorus
