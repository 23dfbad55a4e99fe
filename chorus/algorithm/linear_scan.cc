// Linear scan and exscan: the sum of ranks 0 .. r walks up the ranks.
//
// steps: N - 1, bytes sent per rank: V, by the last rank 0; rank 0 sends elements, the others
// accumulators
//
// Worked example, N = 4, rank 2, scan:
//   1. takes x0 + x1 from rank 1
//   2. adds its own: acc = (x0 + x1) + x2
//   3. sends that to rank 3
//   4. out = the same, finished. For exscan, out = x0 + x1, finished, and rank 0 has no out
// Long arrays flow in tiles, so that all ranks work at once: the last rank ends N - 1 tiles after
// the first, whatever the length.
#include "chorus/algorithm/builders.h"
#include "chorus/schedule/builder.h"

namespace chorus {
namespace {

Schedule Linear(OpKind op) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize();
  const LabelExpr u = Label("u"), v = Label("v"), a = Label("a"), s = Label("s"), f = Label("f");
  const bool inclusive = op == OpKind::kScan;
  ScheduleBuilder b("linear", op);
  b.Blocks(1).Order(ReduceOrder::kRank).Scratch(1, 2).Tiles(4);
  // Rank 0 sends its contribution raw, before in place its out overwrites it.
  b.Send(u, {In(0)}).To(1).As(0).When(And(Eq(r, 0), Gt(n, 1)));
  // 1. What is before this rank: of rank 1 a raw contribution, else a partial sum.
  const Expr raw = Eq(r, 1);
  b.Recv(v, {Select(raw, Tmp(0, 0), Acc(0, 0))}).From(r - 1).As(0).When(Gt(r, 0));
  const ChunkExpr before = Select(raw, Scaled(Tmp(0, 0)), Acc(0, 0));
  // 2. With the own one: of scan on every rank, of exscan where it is passed on.
  const Expr passes = And(Gt(r, 0), Lt(r, n - 1));
  b.Reduce(a, Acc(1, 0), before, Scaled(In(0))).After(v).When(inclusive ? Gt(r, 0) : passes);
  // 3. Pass it on.
  b.Send(s, {Acc(1, 0)}).To(r + 1).As(0).After(a).When(passes);
  // 4. The result.
  if (inclusive) {
    b.Copy(f, Out(0), Select(Eq(r, 0), Scaled(In(0)), Acc(1, 0))).Finish().After(u, a);
  } else {
    b.Copy(f, Out(0), before).Finish().After(v, a).When(Gt(r, 0));
  }
  return std::move(b).Build();
}

constexpr std::string_view kScanCost =
    "steps: N - 1, bytes sent per rank: V, by the last rank 0 (by rank 0 as elements, by the "
    "others as accumulators)";

}  // namespace

Schedule LinearScan() { return Linear(OpKind::kScan); }
Schedule LinearExScan() { return Linear(OpKind::kExScan); }

const Algorithm kLinearScan = {
    "linear",
    OpKind::kScan,
    "the sum of ranks 0 .. r walks up the ranks",
    kScanCost,
    R"(  Contributions summed, N = 4; * is finished.     0 -> 1 -> 2 -> 3
          rank 0    rank 1    rank 2    rank 3
  start   0*        1         2         3
  step 1  0*        01*       2         3
  step 2  0*        01*       012*      3
  step 3  0*        01*       012*      0123*
)",
    LinearScan,
};

const Algorithm kLinearExScan = {
    "linear",
    OpKind::kExScan,
    "the sum of ranks 0 .. r - 1 walks up the ranks",
    kScanCost,
    R"(  Contributions summed, N = 4; * is finished.     0 -> 1 -> 2 -> 3
          rank 0    rank 1    rank 2    rank 3
  start   .         .         .         .
  step 1  .         0*        .         .
  step 2  .         0*        01*       .
  step 3  .         0*        01*       012*
)",
    LinearExScan,
};

}  // namespace chorus
