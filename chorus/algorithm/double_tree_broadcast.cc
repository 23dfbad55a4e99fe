// Double binary tree broadcast: each of two trees, both with the root on top, carries one half of
// the array.
//
// steps: about log2 N + 1, bytes sent per rank: at most V or 3/2 V, (N - 1)/N V on average
//
// Worked example, N = 5, root 2 (positions 0 to 4 of tree 0 are ranks 2 3 4 0 1):
//   1. rank 2 copies in to out
//   2. first half: 2 sends to position 4, rank 1, which sends to position 2, rank 4, which sends to
//   1
//      and 3, ranks 3 and 0. Meanwhile the second half goes through tree 1, where 3 stands at 2
#include "chorus/algorithm/builders.h"
#include "chorus/algorithm/double_tree.h"

namespace chorus {

Schedule DoubleTreeBroadcast() {
  const HalfTree trees[] = {{0, TreeRoot::kRoot}, {1, TreeRoot::kRoot}};
  ScheduleBuilder b("double_tree", OpKind::kBroadcast);
  b.Blocks(2).Tiles(4);
  for (const HalfTree& tree : trees) {
    tree.Define(b);
    // 1. The root's own copy.
    const std::int64_t block = &tree - trees;
    b.Copy(Label("c")[block], Out(block), In(block)).When(Eq(Expr::Rank(), Expr::Root()));
  }
  // 2. Down in both trees.
  for (const HalfTree& tree : trees) {
    const std::int64_t block = &tree - trees;
    tree.AddBroadcast(b, In(block), {}, block);
  }
  return std::move(b).Build();
}

const Algorithm kDoubleTreeBroadcast = {
    "double_tree",
    OpKind::kBroadcast,
    "each of two trees, both with the root on top, carries one half of the array",
    "steps: up to ceil(log2 N) + 1, bytes sent per rank: (N - 1)/N V on average",
    R"(  N = 5, root 0
     tree 0, first half       tree 1, second half
           0                        0
               4                        3
           2                        1
         1   3                    4   2
)",
    DoubleTreeBroadcast,
};

}  // namespace chorus
