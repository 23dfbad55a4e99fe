// Hierarchical all_reduce: reduce_scatter inside each node, all_reduce of each shard round a ring
// of the nodes, one ring for each local rank, all_gather inside.
//
// steps: 2 + 2(M - 1) for M nodes of L ranks, bytes sent per rank: 2(L - 1)/L V inside,
// 2(M - 1)/N V between nodes
//
// Worked example, nodes of 2 ranks, N = 4 (M = 2), rank 2:
//   1. as in hierarchical_reduce_scatter.cc it ends with out[2]
//   2. as in hierarchical_all_gather.cc it swaps that for out[0] with rank 0, then gives both to
//      rank 3 and takes out[1] and out[3]
// In C pieces, hierarchical:2x4, each of N blocks: C times as many steps, of 1/C of the bytes each;
// one piece goes round the rings while another is inside nodes.
// Of 8 nodes of 8 ranks 16 steps where a ring of 64 ranks takes 126, and between nodes the bytes of
// a ring of 8 over all ports.
#include "chorus/algorithm/hierarchical.h"

#include "chorus/algorithm/builders.h"

namespace chorus {

Schedule HierarchicalAllReduce(const AlgorithmNumbers& ranks) {
  const WholeNodes nodes(ranks);
  ScheduleBuilder b(nodes.ScheduleName(), OpKind::kAllReduce);
  b.Blocks(nodes.Blocks()).Order(ReduceOrder::kAny);
  b.Scratch(nodes.TmpSlots(), nodes.AccSlots()).Tiles(2);
  // 1. Every rank has the finished sum of its block; 2. and gives it to all.
  nodes.AddAllReduce(b);
  return std::move(b).Build();
}

const Algorithm kHierarchicalAllReduce = {
    "hierarchical:2",
    OpKind::kAllReduce,
    "reduce_scatter inside nodes, a ring all_reduce of nodes for each local rank, all_gather "
    "inside",
    "steps: 2 + 2(M - 1), bytes sent per rank: 2(L - 1)/L V inside, 2(M - 1)/N V between nodes "
    "(sums there as accumulators)",
    R"(  How many contributions each rank has summed, nodes of 2, N = 4; * is finished.
           rank 0          rank 1     rank 2          rank 3
  start    1 1 1 1         1 1 1 1    1 1 1 1         1 1 1 1
  step 1   2 1 2 1 <-----> 1 2 1 2    2 1 2 1 <-----> 1 2 1 2    within nodes
  step 2   * 1 2 1         1 * 1 2    2 1 * 1         1 2 1 *    0 - 2 and 1 - 3, between nodes
  step 3   * 1 * 1         1 * 1 *    * 1 * 1         1 * 1 *    0 - 2 and 1 - 3, between nodes
  step 4   * * * * <-----> * * * *    * * * * <-----> * * * *    within nodes
)",
    nullptr,
    &kWholeNodesInPiecesParameter,
    HierarchicalAllReduce,
};

}  // namespace chorus
