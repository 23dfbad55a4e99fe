// Two-level reduce_scatter: the ranks of a node give all to their leader, leaders exchange the sums
// of each other's nodes, and give every rank its block.
//
// steps: 3, bytes sent per rank: V; by a leader of L ranks among M nodes (M - 1)/M V to other nodes
// and (L - 1)/N V within its own
//
// Worked example, nodes of 2 ranks, N = 4, rank 2, the leader of node 1:
//   1. takes x3 from rank 3 and has x2 + x3 of all blocks
//   2. sends those of blocks 0 and 1 to leader 0, takes x0 + x1 of blocks 2 and 3
//   3. adds in the order of nodes: out[2] = (x0 + x1) + (x2 + x3), and the same of block 3
//   4. sends that to rank 3
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/node_map.h"

namespace chorus {

Schedule TwoLevelReduceScatter(const AlgorithmNumbers& ranks) {
  const NodeMap map(ranks);
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), nodes = Expr::Variable("M");
  const Expr node = Expr::Variable("node"), lead = Expr::Variable("lead");
  const Expr end = Expr::Variable("e"), leads = Eq(r, lead), alone = Expr::Variable("alone");
  const Expr j = Expr::Variable("j"), q = Expr::Variable("q"), d = Expr::Variable("d");
  const Expr m = Expr::Variable("m"), block = Expr::Variable("b");
  const LabelExpr u = Label("u"), s = Label("s"), v = Label("v"), a = Label("a");
  const LabelExpr x = Label("x"), y = Label("y"), t = Label("t"), w = Label("w"), z = Label("z");
  const Expr one_node = Eq(nodes, 1);
  // tmp: the blocks of the node's ranks, what leaders of lone ranks send (the node's blocks of each
  // node), finished blocks. acc: sums over the node by block, those of other nodes, sums in
  // progress.
  const std::int64_t most = map.Largest();
  const Expr raw = most * n, done = raw + most * map.Count(), theirs = n;
  const Expr partial = n + most * map.Count();
  ScheduleBuilder b(map.ScheduleName(), OpKind::kReduceScatter);
  b.Blocks(n).Order(ReduceOrder::kRank).Scratch(done + most, partial + most).Tiles(2);
  b.Define(nodes, map.Count());
  b.Define(node, map.NodeOf(r));
  b.Define(lead, map.Leader(node));
  b.Define(end, map.End(node));
  b.Define(alone, Eq(end - lead, 1));
  b.Copy(u, Out(r), Scaled(In(r))).Finish().When(Eq(n, 1));
  // Where the leader finishes a block of its node: its own in out.
  const auto finished = [&](const Expr& c) {
    return Select(Eq(c, r), Out(c), Tmp(done + (c - lead), c));
  };
  // 1. All of the node to its leader, who adds up. The blocks of one node come one after another,
  // so that what needs them all waits for the last.
  const Expr before = Select(Eq(j, map.Leader(map.NodeOf(j))), -1, j - 1);
  b.Send(s, {Each(j, 0, n - 1, In(j))}).To(lead).As(0).When(Not(leads));
  b.For(q, lead + 1, end - 1, [&] {
    const Expr from = (q - lead) * n;  // slots of rank q
    b.Recv(v[q], {Each(j, 0, n - 1, Tmp(from + j, j))}).From(q).As(0).When(leads);
    b.For(j, 0, n - 1, [&] {
      const ChunkExpr sum = Select(Eq(q, lead + 1), Scaled(In(j)), Acc(j, j));
      const Expr ends = And(one_node, Eq(q, end - 1));
      b.Reduce(a[q][j], Acc(j, j), sum, Scaled(Tmp(from + j, j)))
          .After(v[q], a[q - 1][j], a[q][before])
          .When(And(leads, Not(ends)));
      b.Reduce(a[q][j], finished(j), sum, Scaled(Tmp(from + j, j)))
          .Finish()
          .After(v[q], a[q - 1][j], a[q][before])
          .When(And(leads, ends));
    });
  });
  // 2. The sums of a node's blocks to its leader.
  b.For(d, 1, nodes - 1, [&] {
    const Expr to = (node + d) % nodes, from = (node - d) % nodes;
    b.Send(x[to], {Each(j, map.Leader(to), map.End(to) - 1, Select(alone, In(j), Acc(j, j)))})
        .To(map.Leader(to))
        .As(1)
        .After(a[end - 1][map.End(to) - 1])
        .When(leads);
    const Expr slot = from * most + (j - lead);
    b.Recv(y[from], {Each(j, lead, end - 1,
                          Select(map.IsSingle(from), Tmp(raw + slot, j), Acc(theirs + slot, j)))})
        .From(map.Leader(from))
        .As(1)
        .When(leads);
  });
  // 3. Each block in the order of the nodes.
  b.For(block, lead, end - 1, [&] {
    const auto term = [&](const Expr& i) {
      const Expr slot = i * most + (block - lead);
      return Select(
          Eq(i, node), Select(alone, Scaled(In(block)), Acc(block, block)),
          Select(map.IsSingle(i), Scaled(Tmp(raw + slot, block)), Acc(theirs + slot, block)));
    };
    b.For(m, 1, nodes - 1, [&] {
      const ChunkExpr progress = Acc(partial + (block - lead), block);
      const ChunkExpr sum = Select(Eq(m, 1), term(0), progress);
      const LabelExpr own = a[end - 1][block];
      b.Reduce(t[m][block], progress, sum, term(m))
          .After(t[m - 1][block], y[m - 1], y[m], own)
          .When(And(leads, Lt(m, nodes - 1)));
      b.Reduce(t[m][block], finished(block), sum, term(m))
          .Finish()
          .After(t[m - 1][block], y[m - 1], y[m], own)
          .When(And(leads, Eq(m, nodes - 1)));
    });
  });
  // 4. Every rank of the node its block.
  b.For(q, lead + 1, end - 1, [&] {
    b.Send(w[q], {Tmp(done + (q - lead), q)})
        .To(q)
        .As(2)
        .After(t[nodes - 1][q], a[end - 1][q])
        .When(leads);
  });
  b.Recv(z, {Out(r)}).From(lead).As(2).After(s).When(Not(leads));
  return std::move(b).Build();
}

const Algorithm kTwoLevelReduceScatter = {
    "two_level:4",
    OpKind::kReduceScatter,
    "ranks of a node give all to the leader, leaders exchange sums and give every rank its block",
    "steps: 3, bytes sent per rank: V, by a leader (M - 1)/M V + (L - 1)/N V",
    R"(  How many contributions each rank has summed, nodes of 2, N = 4; * is finished.
           rank 0         rank 1     rank 2         rank 3
  start    1 1 1 1        1 1 1 1    1 1 1 1        1 1 1 1
  step 1   2 2 2 2 <----- 1 1 1 1    2 2 2 2 <----- 1 1 1 1    within nodes
  step 2   * * 2 2                   2 2 * *                   between leaders
  step 3   * * 2 2 -----> 1 * 1 1    2 2 * * -----> 1 1 1 *    within nodes
)",
    nullptr,
    &kNodesParameter,
    TwoLevelReduceScatter,
};

}  // namespace chorus
