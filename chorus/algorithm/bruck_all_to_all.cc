// Bruck all_to_all: a block that has to go d ranks to the right goes 2^k in round k if bit k of d
// is set, together with all others that do.
//
// steps: ceil(log2 N) for any N, bytes sent per rank: about V/2 ceil(log2 N): few messages, but
// blocks pass through other ranks; for short blocks
//
// Worked example, N = 4, rank 0, what rank i has for rank j written ij:
//   1. 00 stays
//   2. round 0, to rank 1: 01 and 03, of distances 1 and 3; comes from rank 3: 30, which is there,
//   and
//      32, whose bit 1 is still to go
//   3. round 1, to rank 2: 02, and 32 for another; comes from rank 2: 20 and, by way of 2, 10
// Source: as bruck_all_gather.cc.
#include "chorus/algorithm/all_to_all.h"
#include "chorus/algorithm/builders.h"

namespace chorus {

Schedule BruckAllToAll() {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const Expr k = Expr::Variable("k"), d = Expr::Variable("d");
  const LabelExpr c = Label("c"), s = Label("s"), v = Label("v");
  const Expr rounds = CeilLog2(n);
  ScheduleBuilder b("bruck", OpKind::kAllToAll);
  b.Blocks(n * n).Scratch(rounds * n, 0).Tiles(2);
  // 1. What stays.
  b.Copy(c, Out(PairBlock(r, r)), In(PairBlock(r, r)));
  b.For(k, 0, rounds - 1, [&] {
    // The block at distance d of the rank that is `gone` to the left of this one.
    const auto block = [&](const Expr& gone) {
      const Expr from = (r - gone) % n;
      return PairBlock(from, (from + d) % n);
    };
    // How far it has gone before this round and after it. A block waits in the slot of its distance
    // and of the round before the one in which it goes on: the last lower bit that is set.
    const Expr before = d % (Expr(1) << k), after = d % (Expr(2) << k);
    const Expr came = FloorLog2(Max(before, 1));
    const Expr goes = (d >> k) & 1;
    // 2. All that have this bit set,
    b.Send(s[k], {EachIf(d, 1, n - 1, goes,
                         Select(Eq(before, 0), In(block(0)), Tmp(came * n + d, block(before))))})
        .To((r + (Expr(1) << k)) % n)
        .As(k)
        .After(Every(v));
    // 3. and those of the left: the last bit brings them home.
    b.Recv(v[k], {EachIf(d, 1, n - 1, goes,
                         Select(Eq(d, after), Out(block(d)), Tmp(k * n + d, block(after))))})
        .From((r - (Expr(1) << k)) % n)
        .As(k);
  });
  return std::move(b).Build();
}

const Algorithm kBruckAllToAll = {
    "bruck",
    OpKind::kAllToAll,
    "a block that has to go d ranks goes 2^k in round k if bit k of d is set",
    "steps: ceil(log2 N), bytes sent per rank: about V/2 ceil(log2 N)",
    R"(  What rank i has for rank j is written ij; N = 3.
           rank 0      rank 1      rank 2
  start    00 01 02    11 12 10    22 20 21
  round 0  00 20 02    11 01 10    22 12 21    distance 1, to the right
  round 1  00 20 10    11 01 21    22 12 02    distance 2, two to the right
)",
    BruckAllToAll,
};

}  // namespace chorus
