// Double binary tree reduce: each of two trees, both with the root on top, sums one half of the
// array.
//
// steps: about log2 N + 1, bytes sent per rank: V, by the root 0; leaves send elements, the others
// accumulators
//
// Worked example, N = 5, root 0:
//   1. first half: 1 and 3 send to 2, which has (x1 + x2) + x3 and sends it to 4, which adds x4 and
//      sends to 0: out[0] = x0 + (((x1 + x2) + x3) + x4)
//   2. second half, tree 1: 4 and 2 send to 1, 1 to 3, 3 to 0
// Ranks are counted from the root and shifted in tree 1, so the order of the sum is any.
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/double_tree.h"

namespace chorus {

Schedule DoubleTreeReduce() {
  ScheduleBuilder b("double_tree", OpKind::kReduce);
  b.Blocks(2).Order(ReduceOrder::kAny).Scratch(4, 6).Tiles(4);
  for (const int number : {0, 1}) {
    const HalfTree tree(number, TreeRoot::kRoot);
    tree.Define(b);
    // 1. and 2. Up.
    tree.AddReduce(b, number);
  }
  return std::move(b).Build();
}

const Algorithm kDoubleTreeReduce = {
    "double_tree",
    OpKind::kReduce,
    "each of two trees, both with the root on top, sums one half of the array",
    "steps: up to ceil(log2 N) + 1, bytes sent per rank: V, by the root 0",
    R"(  N = 5, root 0
     tree 0, first half       tree 1, second half
           0                        0
               4                        3
           2                        1
         1   3                    4   2
)",
    DoubleTreeReduce,
};

}  // namespace chorus
