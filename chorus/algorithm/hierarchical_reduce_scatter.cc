// Hierarchical reduce_scatter: the blocks of each local rank are summed inside its node, then the
// sums go round a ring of the nodes, one ring for each local rank.
//
// steps: 1 + (M - 1) for M nodes of L ranks, bytes sent per rank: (L - 1)/L V inside, (M - 1)/N V
// between nodes
//
// Worked example, nodes of 2 ranks, N = 6 (M = 3), rank 2, local rank 0 of node 1:
//   1. sends in[1], in[3], in[5] to rank 3, takes x3 of blocks 0, 2 and 4
//   2. has x2 + x3 of blocks 0, 2 and 4
//   3. sends that of block 0 to rank 4, takes x0 + x1 of block 4 from rank 0
//   4. adds its own and sends (x0 + x1) + (x2 + x3) of block 4 to its owner, rank 4; takes
//      (x4 + x5) + (x0 + x1) of block 2 and adds its own: out[2]
// Each device's port between nodes carries as much as any other's, so all work all the time.
#include "chorus/algorithm/hierarchical.h"

#include "chorus/algorithm/builders.h"

namespace chorus {

Schedule HierarchicalReduceScatter(const AlgorithmNumbers& ranks) {
  const WholeNodes nodes(ranks);
  ScheduleBuilder b(nodes.ScheduleName(), OpKind::kReduceScatter);
  b.Blocks(Expr::GroupSize()).Order(ReduceOrder::kAny);
  b.Scratch(nodes.TmpSlots(), nodes.AccSlots()).Tiles(2);
  nodes.AddReduceScatter(b);
  return std::move(b).Build();
}

const Algorithm kHierarchicalReduceScatter = {
    "hierarchical:2",
    OpKind::kReduceScatter,
    "everyone with everyone inside nodes, then the sums of each local rank round a ring of nodes",
    "steps: 1 + (M - 1), bytes sent per rank: (L - 1)/L V inside, (M - 1)/N V between nodes (sums "
    "as accumulators)",
    R"(  How many contributions each rank has summed, nodes of 2, N = 4; * is finished.
           rank 0         rank 1     rank 2         rank 3
  start    1 1 1 1        1 1 1 1    1 1 1 1        1 1 1 1
  step 1   2 1 2 1 <----> 1 2 1 2    2 1 2 1 <----> 1 2 1 2    within nodes
  step 2   * 1 2 1        1 * 1 2    2 1 * 1        1 2 1 *    0 - 2 and 1 - 3, between nodes
)",
    nullptr,
    &kWholeNodesParameter,
    HierarchicalReduceScatter,
};

}  // namespace chorus
