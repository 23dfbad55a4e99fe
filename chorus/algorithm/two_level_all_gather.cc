// Two-level all_gather: the ranks of a node give their blocks to the leader, leaders exchange those
// of their nodes, and give all to their node.
//
// steps: 3, bytes sent per rank: V/N; by a leader of L ranks among M nodes (M - 1) L/N V to other
// nodes and about (L - 1) V within its own
//
// Worked example, nodes of 2 ranks, N = 4, blocks A B C D, rank 2, the leader of node 1:
//   1. has its own block C and takes D from rank 3
//   2. sends C D to leader 0, takes A B
//   3. sends rank 3 what it lacks: A B C
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/node_map.h"

namespace chorus {

Schedule TwoLevelAllGather(const AlgorithmNumbers& ranks) {
  const NodeMap map(ranks);
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), nodes = Expr::Variable("M");
  const Expr node = Expr::Variable("node"), lead = Expr::Variable("lead");
  const Expr end = Expr::Variable("e"), leads = Eq(r, lead);
  const Expr j = Expr::Variable("j"), q = Expr::Variable("q"), d = Expr::Variable("d");
  const LabelExpr c = Label("c"), s = Label("s"), v = Label("v"), x = Label("x"), y = Label("y");
  const LabelExpr w = Label("w"), z = Label("z");
  ScheduleBuilder b(map.ScheduleName(), OpKind::kAllGather);
  b.Blocks(n).Tiles(2);
  b.Define(nodes, map.Count());
  b.Define(node, map.NodeOf(r));
  b.Define(lead, map.Leader(node));
  b.Define(end, map.End(node));
  // 1. The own block, and those of the node to its leader.
  b.Copy(c, Out(r), In(r));
  b.Send(s, {In(r)}).To(lead).As(0).When(Not(leads));
  b.For(q, lead + 1, end - 1, [&] { b.Recv(v[q], {Out(q)}).From(q).As(0).When(leads); });
  // 2. The blocks of a node to the other leaders.
  b.For(d, 1, nodes - 1, [&] {
    const Expr to = (node + d) % nodes, from = (node - d) % nodes;
    b.Send(x[to], {Each(j, lead, end - 1, Out(j))})
        .To(map.Leader(to))
        .As(1)
        .After(c, Every(v))
        .When(leads);
    b.Recv(y[from], {Each(j, map.Leader(from), map.End(from) - 1, Out(j))})
        .From(map.Leader(from))
        .As(1)
        .When(leads);
  });
  // 3. What each rank of the node lacks.
  b.For(q, lead + 1, end - 1, [&] {
    b.Send(w[q], {EachIf(j, 0, n - 1, Ne(j, q), Out(j))})
        .To(q)
        .As(2)
        .After(c, Every(v), Every(y))
        .When(leads);
  });
  b.Recv(z, {EachIf(j, 0, n - 1, Ne(j, r), Out(j))}).From(lead).As(2).When(Not(leads));
  return std::move(b).Build();
}

const Algorithm kTwoLevelAllGather = {
    "two_level:4",
    OpKind::kAllGather,
    "ranks of a node give their blocks to the leader, leaders exchange them and give all back",
    "steps: 3, bytes sent per rank: V/N, by a leader (M - 1) L/N V + (L - 1)(N - 1)/N V",
    R"(  Nodes of 2 ranks, N = 4
           rank 0         rank 1     rank 2         rank 3
  start    A . . .        . B . .    . . C .        . . . D
  step 1   A B . . <----- . B . .    . . C D <----- . . . D    within nodes
  step 2   A B C D                   A B C D                   between leaders
  step 3   A B C D -----> A B C D    A B C D -----> A B C D    within nodes
)",
    nullptr,
    &kNodesParameter,
    TwoLevelAllGather,
};

}  // namespace chorus
