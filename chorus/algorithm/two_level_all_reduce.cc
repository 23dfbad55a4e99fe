// Two-level all_reduce: the ranks of a node give all to their leader, leaders exchange sums
// directly, and give them back to their node.
//
// steps: 4, bytes sent per rank: V; by a leader of L ranks among M nodes 2(M - 1)/M V to other
// nodes and (L - 1) V within its own
//
// The array has M blocks, one a node. Worked example, nodes of 2 ranks, N = 4 (M = 2), rank 2, the
// leader of node 1:
//   1. takes x3 from rank 3 and has x2 + x3 of both blocks
//   2. sends that of block 0 to leader 0, takes x0 + x1 of block 1
//   3. out[1] = (x0 + x1) + (x2 + x3), in the order of nodes
//   4. sends out[1] to leader 0, takes out[0]
//   5. sends both to rank 3
// For links between nodes that are much slower than those within: only leaders use them, and each
// byte crosses once a direction.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/node_map.h"

namespace chorus {

Schedule TwoLevelAllReduce(const AlgorithmNumbers& ranks) {
  const NodeMap map(ranks);
  const Expr r = Expr::Rank(), nodes = Expr::Variable("M"), node = Expr::Variable("node");
  const Expr lead = Expr::Variable("lead"), end = Expr::Variable("e"), leads = Eq(r, lead);
  const Expr alone = Expr::Variable("alone"), j = Expr::Variable("j"), q = Expr::Variable("q");
  const Expr d = Expr::Variable("d"), m = Expr::Variable("m");
  const LabelExpr u = Label("u"), s = Label("s"), v = Label("v"), a = Label("a");
  const LabelExpr x = Label("x"), y = Label("y"), t = Label("t"), f = Label("f"), g = Label("g");
  const LabelExpr z = Label("z"), w = Label("w");
  const Expr count = map.Count(), one_node = Eq(nodes, 1);
  // tmp: the blocks of the node's ranks, then what leaders of lone ranks send. acc: sums over the
  // node by block, sums of other nodes, and the sum in progress.
  const Expr others = map.Largest() * count;
  ScheduleBuilder b(map.ScheduleName(), OpKind::kAllReduce);
  b.Blocks(count).Order(ReduceOrder::kRank).Scratch(others + count, 2 * count + 1).Tiles(2);
  b.Define(nodes, count);
  b.Define(node, map.NodeOf(r));
  b.Define(lead, map.Leader(node));
  b.Define(end, map.End(node));
  b.Define(alone, Eq(end - lead, 1));
  b.Copy(u, Out(0), Scaled(In(0))).Finish().When(And(alone, one_node));
  // 1. All of the node to its leader, who adds up.
  b.Send(s, {Each(j, 0, nodes - 1, In(j))}).To(lead).As(0).When(Not(leads));
  b.For(q, lead + 1, end - 1, [&] {
    const Expr from = (q - lead) * nodes;  // slots of rank q
    b.Recv(v[q], {Each(j, 0, nodes - 1, Tmp(from + j, j))}).From(q).As(0).When(leads);
    b.For(j, 0, nodes - 1, [&] {
      const ChunkExpr sum = Select(Eq(q, lead + 1), Scaled(In(j)), Acc(j, j));
      const Expr ends = And(one_node, Eq(q, end - 1));
      b.Reduce(a[q][j], Acc(j, j), sum, Scaled(Tmp(from + j, j)))
          .After(v[q], a[q - 1][j])
          .When(And(leads, Not(ends)));
      b.Reduce(a[q][j], Out(j), sum, Scaled(Tmp(from + j, j)))
          .Finish()
          .After(v[q], a[q - 1][j])
          .When(And(leads, ends));
    });
  });
  const auto of_others = [&](const auto& add) {
    b.For(d, 1, nodes - 1, [&] { add((node + d) % nodes, (node - d) % nodes); });
  };
  // 2. Each block to the leader of its node.
  of_others([&](const Expr& to, const Expr& from) {
    b.Send(x[to], {Select(alone, In(to), Acc(to, to))})
        .To(map.Leader(to))
        .As(1)
        .After(a[end - 1][to])
        .When(leads);
    b.Recv(y[from], {Select(map.IsSingle(from), Tmp(others + from, node), Acc(nodes + from, node))})
        .From(map.Leader(from))
        .As(1)
        .When(leads);
  });
  // 3. The sum in the order of the nodes.
  const auto term = [&](const Expr& i) {
    return Select(Eq(i, node), Select(alone, Scaled(In(node)), Acc(node, node)),
                  Select(map.IsSingle(i), Scaled(Tmp(others + i, node)), Acc(nodes + i, node)));
  };
  b.For(m, 1, nodes - 1, [&] {
    const ChunkExpr sum = Select(Eq(m, 1), term(0), Acc(2 * nodes, node));
    const LabelExpr own = a[end - 1][node];
    b.Reduce(t[m], Acc(2 * nodes, node), sum, term(m))
        .After(t[m - 1], y[m - 1], y[m], own)
        .When(And(leads, Lt(m, nodes - 1)));
    b.Reduce(t[m], Out(node), sum, term(m))
        .Finish()
        .After(t[m - 1], y[m - 1], y[m], own)
        .When(And(leads, Eq(m, nodes - 1)));
  });
  // 4. The finished block to all leaders.
  of_others([&](const Expr& to, const Expr& from) {
    b.Send(f[to], {Out(node)}).To(map.Leader(to)).As(2).After(t[nodes - 1]).When(leads);
    b.Recv(g[from], {Out(from)}).From(map.Leader(from)).As(2).After(Every(x)).When(leads);
  });
  // 5. All blocks to the node.
  b.For(q, lead + 1, end - 1, [&] {
    b.Send(w[q], {Each(j, 0, nodes - 1, Out(j))})
        .To(q)
        .As(3)
        .After(Every(g), t[nodes - 1], a[end - 1][0])
        .When(leads);
  });
  b.Recv(z, {Each(j, 0, nodes - 1, Out(j))}).From(lead).As(3).After(s).When(Not(leads));
  return std::move(b).Build();
}

const Algorithm kTwoLevelAllReduce = {
    "two_level:4",
    OpKind::kAllReduce,
    "the ranks of a node give all to their leader, leaders exchange sums and give them back",
    "steps: 4, bytes sent per rank: V, by a leader 2(M - 1)/M V + (L - 1) V",
    R"(  How many contributions each rank has summed, nodes of 2, N = 4; * is finished.
           rank 0   rank 1     rank 2   rank 3
  start    1 1      1 1        1 1      1 1
  step 1   2 2 <--- 1 1        2 2 <--- 1 1       within nodes
  step 2   * 2                 2 *                between leaders
  step 3   * *                 * *                between leaders
  step 4   * * ---> * *        * * ---> * *       within nodes
)",
    nullptr,
    &kNodesParameter,
    TwoLevelAllReduce,
};

}  // namespace chorus
