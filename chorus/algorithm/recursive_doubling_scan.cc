// Recursive doubling scan and exscan: in round k every rank is given the sum of the 2^k ranks
// before what it has.
//
// steps: ceil(log2 N), bytes sent per rank: V for each k with r + 2^k < N
//
// Worked example, N = 4, rank 2, scan:
//   1. round 0: sends x2 to rank 3
//   2. takes x1 from rank 1
//   3. has x1 + x2; round 1: nobody is 2 to the right; takes x0 from rank 0, all that is there, and
//   has
//      x0 + (x1 + x2)
//   4. out = that, finished. For exscan it keeps apart what came: x1, then x0 + x1
// Source: Hillis and Steele, "Data parallel algorithms", 1986.
#include "chorus/algorithm/builders.h"
#include "chorus/schedule/builder.h"

namespace chorus {
namespace {

Schedule DoublingScan(OpKind op) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), k = Expr::Variable("k");
  const Expr step = Expr::Variable("d");
  const LabelExpr s = Label("s"), v = Label("v"), a = Label("a"), p = Label("p"), f = Label("f");
  const bool inclusive = op == OpKind::kScan;
  // How many rounds bring rank r something: all with 2^k <= r.
  const Expr rounds = Select(Eq(r, 0), 0, FloorLog2(Max(r, 1)) + 1);
  ScheduleBuilder b("recursive_doubling", op);
  b.Blocks(1).Order(ReduceOrder::kRank).Scratch(2, inclusive ? 4 : 6).Tiles(2);
  b.For(k, 0, CeilLog2(n) - 1, [&] {
    b.Define(step, Expr(1) << k);
    const Expr comes = Ge(r, step);
    // The sum up to this rank after `i` rounds; raw before the first. Two slots, used in turn.
    const auto sum = [&](const Expr& i, const ChunkExpr& raw) {
      return Select(Eq(i, 0), raw, Acc(i % 2, 0));
    };
    // 1. Pass the sum on.
    b.Send(s[k], {sum(Min(k, rounds), In(0))})
        .To(r + step)
        .As(k)
        .After(Every(a))
        .When(Lt(r + step, n));
    // 2. Take that of the ranks before: raw from rank 0, and in round 0.
    const Expr is_raw = Or(Eq(k, 0), Eq(r, step));
    const Expr raw_slot = Min(k, 1);
    auto recv = b.Recv(v[k], {Select(is_raw, Tmp(raw_slot, 0), Acc(2 + k % 2, 0))});
    recv.From(r - step).As(k).After(a[k - 2]).When(comes);
    if (!inclusive) recv.After(p[k - 2]);
    const ChunkExpr before = Select(is_raw, Scaled(Tmp(raw_slot, 0)), Acc(2 + k % 2, 0));
    // 3. It goes to the left; for exscan only where the sum is passed on, and without the own part.
    b.Reduce(a[k], Acc((k + 1) % 2, 0), before, sum(k, Scaled(In(0))))
        .After(v[k], a[k - 1], s[k - 1])
        .When(inclusive ? comes : And(comes, Lt(r + 2 * step, n)));
    if (inclusive) return;
    const ChunkExpr so_far = Select(Eq(k, 1), Scaled(Tmp(0, 0)), Acc(4 + (k - 1) % 2, 0));
    b.Reduce(p[k], Acc(4 + k % 2, 0), before, so_far)
        .After(v[k], v[k - 1], p[k - 1])
        .When(And(comes, Gt(k, 0)));
  });
  // 4. The result; in place it overwrites what is sent and added.
  if (inclusive) {
    b.Copy(f, Out(0), Select(Eq(r, 0), Scaled(In(0)), Acc(rounds % 2, 0)))
        .Finish()
        .After(Every(s), Every(a));
  } else {
    b.Copy(f, Out(0), Select(Eq(r, 1), Scaled(Tmp(0, 0)), Acc(4 + (rounds - 1) % 2, 0)))
        .Finish()
        .After(Every(s), Every(a), Every(p), Every(v))
        .When(Gt(r, 0));
  }
  return std::move(b).Build();
}

constexpr std::string_view kDoublingScanCost =
    "steps: ceil(log2 N), bytes sent per rank: V for each k with r + 2^k < N (after round 0 as "
    "accumulators, but by rank 0)";

}  // namespace

Schedule RecursiveDoublingScan() { return DoublingScan(OpKind::kScan); }
Schedule RecursiveDoublingExScan() { return DoublingScan(OpKind::kExScan); }

const Algorithm kRecursiveDoublingScan = {
    "recursive_doubling",
    OpKind::kScan,
    "in round k every rank is given the sum of the 2^k ranks before what it has",
    kDoublingScanCost,
    R"(  Contributions summed, N = 4; * is finished.
           rank 0    rank 1    rank 2    rank 3
  start    0*        1         2         3
  round 0  0*        01*       12        23         0 -> 1 -> 2 -> 3
  round 1  0*        01*       012*      0123*      0 -> 2   1 -> 3
)",
    RecursiveDoublingScan,
};

const Algorithm kRecursiveDoublingExScan = {
    "recursive_doubling",
    OpKind::kExScan,
    "in round k every rank is given the sum of the 2^k ranks before what it has, and keeps it "
    "apart",
    kDoublingScanCost,
    R"(  Contributions summed, N = 4; * is finished.
           rank 0    rank 1    rank 2    rank 3
  start    .         .         .         .
  round 0  .         0*        1         2          0 -> 1 -> 2 -> 3
  round 1  .         0*        01*       012*       0 -> 2   1 -> 3
)",
    RecursiveDoublingExScan,
};

}  // namespace chorus
