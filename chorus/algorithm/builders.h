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

// direct_*.cc, one_shot_all_reduce.cc: every rank talks to every other.
Schedule DirectAllGather();
Schedule DirectReduceScatter();
Schedule DirectAllReduce();
Schedule OneShotAllReduce();
extern const Algorithm kDirectAllGather, kDirectReduceScatter, kDirectAllReduce;
extern const Algorithm kOneShotAllReduce;

// direct_gather.cc, direct_scatter.cc: every rank and the root.
Schedule DirectGather();
Schedule DirectScatter();
extern const Algorithm kDirectGather, kDirectScatter;

// direct_all_to_all.cc, confirmed_all_to_all.cc: every rank and every other.
Schedule DirectAllToAll();
Schedule ConfirmedAllToAll();
extern const Algorithm kDirectAllToAll, kConfirmedAllToAll;

// linear_scan.cc: up the ranks, one after another.
Schedule LinearScan();
Schedule LinearExScan();
extern const Algorithm kLinearScan, kLinearExScan;

// binomial_*.cc: log2 N rounds over aligned halves of the ranks.
Schedule BinomialBroadcast();
Schedule BinomialReduce();
extern const Algorithm kBinomialBroadcast, kBinomialReduce;

// dissemination_barrier.cc
Schedule DisseminationBarrier();
extern const Algorithm kDisseminationBarrier;

}  // namespace chorus
