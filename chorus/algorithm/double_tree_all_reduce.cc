// Double binary tree all_reduce: each of two trees sums one half of the array and sends it back
// down.
//
// steps: about 4 log2 N, 2 ceil(log2 N) levels up and down, bytes sent per rank: at most 2 V: V/2
// up in each tree and V down from the inner nodes
//
// Worked example, N = 4, block 0 (the trees are drawn in double_tree.h; tree 0 has rank r at r +
// 1):
//   1. up: ranks 0 and 2 send x0 and x2 to rank 1, which has (x0 + x1) + x2 and sends it to rank 3:
//      out[0] = ((x0 + x1) + x2) + x3
//   2. down: 3 sends it to 1, 1 to 0 and 2. Meanwhile block 1 goes through tree 1
// Long arrays flow in tiles, up and down at once.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/double_tree.h"

namespace chorus {

Schedule DoubleTreeAllReduce() {
  const HalfTree trees[] = {{0, TreeRoot::kAnywhere}, {1, TreeRoot::kAnywhere}};
  ScheduleBuilder b("double_tree", OpKind::kAllReduce);
  b.Blocks(2).Order(ReduceOrder::kRank).Scratch(4, 6).Tiles(4);
  for (const HalfTree& tree : trees) tree.Define(b);
  // 1. Up in both trees,
  for (const HalfTree& tree : trees) tree.AddReduce(b, &tree - trees);
  // 2. and down in both. Messages of one pair of ranks differ in number.
  for (const HalfTree& tree : trees) {
    const std::int64_t number = &tree - trees;
    tree.AddBroadcast(b, Out(number), tree.Finished(), 2 + number);
  }
  return std::move(b).Build();
}

const Algorithm kDoubleTreeAllReduce = {
    "double_tree",
    OpKind::kAllReduce,
    "each of two trees sums one half of the array and sends it back down",
    "steps: up to 2 ceil(log2 N) + 2, bytes sent per rank: at most 2 V, 2(N - 1)/N V on average",
    R"(  N = 4, positions 1 to 4 in tree 0, 0 to 3 in tree 1:
     tree 0, first half       tree 1, second half
             3                        0
           1                            2
         0   2                        1   3
)",
    DoubleTreeAllReduce,
};

}  // namespace chorus
