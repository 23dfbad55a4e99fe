// RankTree: the k-nomial tree over aligned parts of the ranks.
//
// At level l ranks are cut into parts of K^l; each is held by the root, if it is in it, else by its
// lowest rank, which has the holders of the other parts of the next level's part as children.
// Thread safety: a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace chorus {

class RankTree {
 public:
  RankTree(std::int64_t ranks, std::int64_t root, std::int64_t arity)
      : ranks_(ranks), root_(root), arity_(arity) {
    for (std::int64_t size = 1; size < ranks; size *= arity) sizes_.push_back(size);
  }

  struct Child {
    std::int64_t rank = 0;
    std::int64_t level = 0;
    double ranks = 0;  // in its part
  };
  // Children of the holder of a part, those of the largest parts first.
  std::vector<Child> Children(std::int64_t rank, std::int64_t level) const {
    std::vector<Child> children;
    for (std::int64_t k = level - 1; k >= 0; --k) {
      const std::int64_t size = sizes_[k], mine = rank / size, first = mine / arity_ * arity_;
      for (std::int64_t part = first; part < first + arity_ && part * size < ranks_; ++part) {
        if (part == mine) continue;
        children.push_back({root_ / size == part ? root_ : part * size, k,
                            static_cast<double>(std::min(size, ranks_ - part * size))});
      }
    }
    return children;
  }

  std::int64_t root() const { return root_; }
  std::int64_t levels() const { return static_cast<std::int64_t>(sizes_.size()); }

 private:
  std::int64_t ranks_;
  std::int64_t root_;
  std::int64_t arity_;
  std::vector<std::int64_t> sizes_;  // ranks of a full part, by level
};

}  // namespace chorus
