// Hierarchical all_gather: blocks go round a ring of the nodes, one ring for each local rank, then
// everyone gives what came that way to everyone inside its node.
//
// steps: (M - 1) + 1 for M nodes of L ranks, bytes sent per rank: (M - 1)/N V between nodes,
// (L - 1)/L V inside
//
// Worked example, nodes of 2 ranks, N = 6 (M = 3), blocks A B C D E F, rank 2, local rank 0 of node
// 1:
//   1. has its own block C
//   2. sends C to rank 4, then A, which came last
//   3. takes A from rank 0, then E
//   4. sends A C E to rank 3 and takes B D F
#include "chorus/algorithm/hierarchical.h"

#include "chorus/algorithm/builders.h"

namespace chorus {

Schedule HierarchicalAllGather(const AlgorithmNumbers& ranks) {
  const WholeNodes nodes(ranks);
  const Expr r = Expr::Rank();
  ScheduleBuilder b(nodes.ScheduleName(), OpKind::kAllGather);
  b.Blocks(Expr::GroupSize()).Tiles(2);
  // 1. The own block.
  b.Copy(Label("c"), Out(r), In(r));
  nodes.AddAllGather(b, In(r));
  return std::move(b).Build();
}

const Algorithm kHierarchicalAllGather = {
    "hierarchical:2",
    OpKind::kAllGather,
    "the blocks of each local rank round a ring of nodes, then everyone to everyone inside nodes",
    "steps: (M - 1) + 1, bytes sent per rank: (M - 1)/N V between nodes, (L - 1)/L V inside",
    R"(  Nodes of 2 ranks, N = 4
           rank 0          rank 1     rank 2          rank 3
  start    A . . .         . B . .    . . C .         . . . D
  step 1   A . C .         . B . D    A . C .         . B . D    0 - 2 and 1 - 3, between nodes
  step 2   A B C D <-----> A B C D    A B C D <-----> A B C D    within nodes
)",
    nullptr,
    &kWholeNodesParameter,
    HierarchicalAllGather,
};

}  // namespace chorus
