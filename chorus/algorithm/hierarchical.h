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
// The same, and into how many pieces: "8x4".
extern const AlgorithmParameter kWholeNodesInPiecesParameter;

class WholeNodes {
 public:
  // REQUIRES: the parameter's Check(numbers) is ok.
  explicit WholeNodes(const AlgorithmNumbers& numbers)
      : ranks_(numbers[0]), pieces_(numbers.size() > 1 ? numbers[1] : 1) {}

  // out of the blocks that rank r owns becomes the finished sum over all ranks of in: inside each
  // node in rank order, the M blocks of a local rank at once, then from node to node round its
  // ring.
  void AddReduceScatter(ScheduleBuilder& b) const;
  // Every block of out becomes what its owner has in `first`: round the ring of each local rank,
  // then M blocks to everyone inside the node.
  void AddAllGather(ScheduleBuilder& b, const ChunkExpr& first) const;
  // Both, piece after piece: what the next one does inside is sent before what this one does there
  // in the end, so that one goes round the rings while another is inside.
  void AddAllReduce(ScheduleBuilder& b) const;

  Expr Blocks() const;  // N of each piece
  Expr TmpSlots() const;
  Expr AccSlots() const;
  std::string ScheduleName() const;  // "hierarchical_2", "hierarchical_2x4"

 private:
  // Of one piece. `summed`: the own block is, in out, when ReduceScatterDone has ended.
  void AddToLocalRanks(ScheduleBuilder& b, const Expr& piece) const;
  void AddSums(ScheduleBuilder& b, const Expr& piece) const;
  void AddGather(ScheduleBuilder& b, const Expr& piece, const ChunkExpr& first, bool summed) const;
  std::vector<LabelExpr> ReduceScatterDone(const Expr& piece) const;

  LabelExpr Of(const Expr& piece, const char* name) const;  // s, or s[piece]
  Expr Message(const Expr& piece, const Expr& number) const;
  Expr TmpSlot(const Expr& piece, const Expr& local, const Expr& node) const;
  Expr AccSlot(const Expr& piece, const Expr& slot) const;

  Expr Nodes() const { return Expr::GroupSize() / ranks_; }  // M
  Expr Node() const { return Expr::Rank() / ranks_; }
  Expr Local() const { return Expr::Rank() % ranks_; }
  Expr First() const { return Expr::Rank() / ranks_ * ranks_; }  // of the node
  // The rank of this local rank on a node, and the block of a piece that it owns.
  Expr On(const Expr& node) const;
  Expr BlockOn(const Expr& piece, const Expr& node) const;
  Expr Block(const Expr& piece, const Expr& rank) const;
  // The d-th rank of the node behind this one, or before it, all of them in turn.
  Expr Behind(const Expr& d) const { return First() + (Local() + d) % ranks_; }
  Expr Before(const Expr& d) const { return First() + (Local() - d) % ranks_; }

  std::int64_t ranks_;   // L
  std::int64_t pieces_;  // C
};

}  // namespace chorus
