// Two-level broadcast: the root sends to one rank of every node, which sends to the others of its
// node.
//
// steps: 2, bytes sent per rank: 0; by the root (M - 1) V to other nodes and (L - 1) V within its
// own, by the leader of another node (L - 1) V
//
// Worked example, nodes of 2 ranks, N = 4, root 1, which stands for its node's leader:
//   1. rank 1 copies in to out
//   2. sends to rank 2, the leader of node 1,
//   3. and to rank 0; rank 2 sends to rank 3
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/node_map.h"

namespace chorus {

Schedule TwoLevelBroadcast(const AlgorithmNumbers& ranks) {
  const NodeMap map(ranks);
  const Expr r = Expr::Rank(), root = Expr::Root(), nodes = Expr::Variable("M");
  const Expr node = Expr::Variable("node"), holder = Expr::Variable("h"), holds = Eq(r, holder);
  const Expr d = Expr::Variable("d"), q = Expr::Variable("q"), is_root = Eq(r, root);
  const LabelExpr c = Label("c"), x = Label("x"), v = Label("v"), w = Label("w");
  ScheduleBuilder b(map.ScheduleName(), OpKind::kBroadcast);
  b.Blocks(1).Tiles(4);
  b.Define(nodes, map.Count());
  b.Define(node, map.NodeOf(r));
  b.Define(holder, Select(Eq(map.NodeOf(root), node), root, map.Leader(node)));
  // 1. The root's own copy.
  b.Copy(c, Out(0), In(0)).When(is_root);
  // 2. To the leaders of the other nodes, or from the root.
  b.For(d, 1, nodes - 1,
        [&] { b.Send(x[d], {In(0)}).To(map.Leader((node + d) % nodes)).As(0).When(is_root); });
  b.Recv(v, {Out(0)}).From(Select(holds, root, holder)).As(0).When(Not(is_root));
  // 3. Within the node.
  b.For(q, map.Leader(node), map.End(node) - 1, [&] {
    b.Send(w[q], {Select(is_root, In(0), Out(0))}).To(q).As(0).After(v).When(And(holds, Ne(q, r)));
  });
  return std::move(b).Build();
}

const Algorithm kTwoLevelBroadcast = {
    "two_level:4",
    OpKind::kBroadcast,
    "the root sends to one rank of every node, which sends to the others of its node",
    "steps: 2, bytes sent per rank: 0, by the root (M - 1) V + (L - 1) V, by other leaders (L - 1) "
    "V",
    R"(  Nodes of 3 ranks, N = 6, root 0
  step 1   0 -> 3                      between nodes
  step 2   0 -> 1, 2    3 -> 4, 5      within nodes
)",
    nullptr,
    &kNodesParameter,
    TwoLevelBroadcast,
};

}  // namespace chorus
