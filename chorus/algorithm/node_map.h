// Which ranks share a node: neighbours, as many a node as the numbers of "two_level:..." say.
//
//   two_level:4        nodes of 4 ranks, the last one with what is left: for any N
//   two_level:3+1+2    nodes {0 1 2}, {3}, {4 5}: for N = 6
//
// The first rank of a node is its leader. Nodes are neighbours in rank order, so a sum over nodes
// of sums over their ranks follows the ranks.
#pragma once

#include "chorus/algorithm/algorithm.h"
#include "chorus/schedule/builder.h"

namespace chorus {

extern const AlgorithmParameter kNodesParameter;

class NodeMap {
 public:
  // REQUIRES: kNodesParameter.Check(numbers) is ok.
  explicit NodeMap(AlgorithmNumbers numbers) : numbers_(std::move(numbers)) {}

  Expr Count() const;                   // nodes
  Expr NodeOf(const Expr& rank) const;  // of a rank
  Expr Leader(const Expr& node) const;  // its first rank
  Expr End(const Expr& node) const;     // one behind its last rank
  // One rank is alone on it.
  Expr IsSingle(const Expr& node) const { return Eq(End(node) - Leader(node), 1); }
  std::int64_t Largest() const;  // most ranks a node
  // "two_level_4": what the schedule is called.
  std::string ScheduleName() const;

 private:
  AlgorithmNumbers numbers_;
};

}  // namespace chorus
