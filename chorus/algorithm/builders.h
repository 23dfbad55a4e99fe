// The builders behind algorithm.h, each defined and drawn in the file of its name.
#pragma once

#include <cstdint>

#include "chorus/algorithm/algorithm.h"

namespace chorus {

// ring_*.cc. Rank r owns block (r + offset) mod N at the turn of the two phases. 0 is the
// convention of MPI and NCCL. With 1 rank r sends block r first, as lecture notes draw it.
Schedule RingAllGather(std::int64_t offset = 0);
Schedule RingReduceScatter(std::int64_t offset = 0);
Schedule RingAllReduce(std::int64_t offset = 0);
extern const Algorithm kRingAllGather, kRingReduceScatter, kRingAllReduce;
extern const Algorithm kShiftedRingReduceScatter;  // RingReduceScatter(1)

// bidirectional_ring_*.cc: half way around in each direction.
Schedule BidirectionalRingAllGather();
Schedule BidirectionalRingReduceScatter();
Schedule BidirectionalRingAllReduce();
extern const Algorithm kBidirectionalRingAllGather, kBidirectionalRingReduceScatter;
extern const Algorithm kBidirectionalRingAllReduce;

// recursive_*.cc, halving_doubling_all_reduce.cc: log2 N exchanges with ever farther ranks.
Schedule RecursiveDoublingAllGather();
Schedule RecursiveDoublingAllReduce();
Schedule RecursiveDoublingScan();
Schedule RecursiveDoublingExScan();
Schedule RecursiveHalvingReduceScatter();
Schedule HalvingDoublingAllReduce();
extern const Algorithm kRecursiveDoublingAllGather, kRecursiveDoublingAllReduce;
extern const Algorithm kRecursiveDoublingScan, kRecursiveDoublingExScan;
extern const Algorithm kRecursiveHalvingReduceScatter, kHalvingDoublingAllReduce;

// bruck_*.cc: ceil(log2 N) rounds of 2^k for any N.
Schedule BruckAllGather();
Schedule BruckAllToAll();
extern const Algorithm kBruckAllGather, kBruckAllToAll;

// direct_*.cc, one_shot_all_reduce.cc: every rank talks to every other.
Schedule DirectAllGather();
Schedule DirectReduceScatter();
Schedule DirectAllReduce();
Schedule OneShotAllReduce();
extern const Algorithm kDirectAllGather, kDirectReduceScatter, kDirectAllReduce;
extern const Algorithm kOneShotAllReduce;

// direct_gather.cc and others of operations with a root: every rank and the root.
Schedule DirectGather();
Schedule DirectScatter();
Schedule DirectBroadcast();
Schedule DirectReduce();
extern const Algorithm kDirectGather, kDirectScatter, kDirectBroadcast, kDirectReduce;

// direct_all_to_all.cc, confirmed_all_to_all.cc, pairwise_all_to_all.cc: every rank and every
// other.
Schedule DirectAllToAll();
Schedule ConfirmedAllToAll();
Schedule PairwiseAllToAll();
extern const Algorithm kDirectAllToAll, kConfirmedAllToAll, kPairwiseAllToAll;

// linear_scan.cc: up the ranks, one after another.
Schedule LinearScan();
Schedule LinearExScan();
extern const Algorithm kLinearScan, kLinearExScan;

// binomial_*.cc: log2 N rounds over aligned halves of the ranks.
Schedule BinomialBroadcast();
Schedule BinomialReduce();
extern const Algorithm kBinomialBroadcast, kBinomialReduce;

// knomial_*.cc: ceil(log_K N) levels of aligned parts, "knomial:K".
Schedule KnomialBroadcast(std::int64_t arity);
Schedule KnomialReduce(std::int64_t arity);
Schedule KnomialGather(std::int64_t arity);
Schedule KnomialScatter(std::int64_t arity);
extern const Algorithm kKnomialBroadcast, kKnomialReduce, kKnomialGather, kKnomialScatter;

// scatter_gather_broadcast.cc: a tree, then a ring.
Schedule ScatterGatherBroadcast();
extern const Algorithm kScatterGatherBroadcast;

// double_tree_*.cc: two binary trees, each with half of the array.
Schedule DoubleTreeAllReduce();
Schedule DoubleTreeBroadcast();
Schedule DoubleTreeReduce();
extern const Algorithm kDoubleTreeAllReduce, kDoubleTreeBroadcast, kDoubleTreeReduce;

// two_level_*.cc: within nodes, then between their leaders, "two_level:L" or "two_level:3+1+2".
Schedule TwoLevelAllReduce(const AlgorithmNumbers& ranks);
Schedule TwoLevelAllGather(const AlgorithmNumbers& ranks);
Schedule TwoLevelReduceScatter(const AlgorithmNumbers& ranks);
Schedule TwoLevelBroadcast(const AlgorithmNumbers& ranks);
extern const Algorithm kTwoLevelAllReduce, kTwoLevelAllGather, kTwoLevelReduceScatter;
extern const Algorithm kTwoLevelBroadcast;

// hierarchical_*.cc: within nodes, then between them over all their ports, "hierarchical:L".
Schedule HierarchicalAllReduce(const AlgorithmNumbers& ranks);
Schedule HierarchicalAllGather(const AlgorithmNumbers& ranks);
Schedule HierarchicalReduceScatter(const AlgorithmNumbers& ranks);
extern const Algorithm kHierarchicalAllReduce, kHierarchicalAllGather, kHierarchicalReduceScatter;

// torus_*.cc: ring after ring along the axes of a torus, "torus:2x3".
Schedule TorusAllReduce(const AlgorithmNumbers& sizes);
Schedule TorusAllGather(const AlgorithmNumbers& sizes);
Schedule TorusReduceScatter(const AlgorithmNumbers& sizes);
extern const Algorithm kTorusAllReduce, kTorusAllGather, kTorusReduceScatter;

// dissemination_barrier.cc
Schedule DisseminationBarrier();
extern const Algorithm kDisseminationBarrier;

}  // namespace chorus
