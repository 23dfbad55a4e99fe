// Whole nodes of L ranks, and the phases over them, shared by hierarchical_*.cc.
//
// Rank r is local rank r % L of node r / L, of M nodes. What a rank deals with between nodes are
// the blocks of its own local rank, one a node; ranks of one local rank make a ring of M, so that
// each goes over a port of its own:
//
//   hierarchical:2, N = 6     node 0: 0 1    node 1: 2 3    node 2: 4 5
//   inside a node             everyone with everyone: 0 - 1, 2 - 3, 4 - 5
//   between nodes             rings 0 > 2 > 4 > 0 (blocks 0 2 4) and 1 > 3 > 5 > 1 (blocks 1 3 5)
#pragma once

#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/schedule/builder.h"

namespace chorus {

extern const AlgorithmParameter kWholeNodesParameter;

class WholeNodes {
 public:
  // REQUIRES: kWholeNodesParameter.Check(numbers) is ok.
  explicit WholeNodes(const AlgorithmNumbers& numbers) : ranks_(numbers[0]) {}

  // out[r] becomes the finished sum over all ranks of in[r]: inside each node in rank order, the M
  // blocks of a local rank at once, then from node to node round its ring. It has ended with the
  // steps of ReduceScatterDone(). Uses messages below Messages().
  void AddReduceScatter(ScheduleBuilder& b) const;
  std::vector<LabelExpr> ReduceScatterDone() const;
  Expr TmpSlots() const;
  Expr AccSlots() const;

  // Every block of out becomes what its owner has in `first` once `ready` have ended: round the
  // ring of each local rank, then M blocks to everyone inside the node.
  void AddAllGather(ScheduleBuilder& b, const ChunkExpr& first, const std::vector<LabelExpr>& ready,
                    const Expr& first_message) const;

  Expr Messages() const;             // of one phase
  std::string ScheduleName() const;  // "hierarchical_2"

 private:
  Expr Nodes() const { return Expr::GroupSize() / ranks_; }  // M
  Expr Node() const { return Expr::Rank() / ranks_; }
  Expr Local() const { return Expr::Rank() % ranks_; }
  Expr First() const { return Expr::Rank() / ranks_ * ranks_; }  // of the node
  // The rank of this local rank on a node, which owns the block of the same number.
  Expr On(const Expr& node) const;
  // The d-th rank of the node behind this one, or before it, all of them in turn.
  Expr Behind(const Expr& d) const { return First() + (Local() + d) % ranks_; }
  Expr Before(const Expr& d) const { return First() + (Local() - d) % ranks_; }

  std::int64_t ranks_;  // L
};

}  // namespace chorus
