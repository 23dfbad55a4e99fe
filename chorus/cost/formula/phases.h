// What the formulas of this folder are written with. Thread safety: pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/cost/formula/formula.h"

namespace chorus {

// The least k with 2^k >= n. REQUIRES: n >= 1.
std::int64_t CeilLog2(std::int64_t n);
std::int64_t FloorLog2(std::int64_t n);

// N, as formulas need it.
inline double RanksOf(const Wiring& w) { return static_cast<double>(w.ranks); }

// The way of a message from rank to rank.
struct Way {
  LinkSpec link;  // the latency of all its links, the bandwidth of the narrowest
  bool between_nodes = false;
  std::int64_t links = 1;
  friend bool operator==(const Way&, const Way&) = default;
};
Way WayBetween(const Topology& topology, std::int64_t from, std::int64_t to);
// The same, of a route that is known. REQUIRES: it is not empty.
Way WayAlong(const Topology& topology, std::int64_t from, std::int64_t to,
             std::span<const LinkId> route);
Phase OverWay(const Way& way, std::string factor, double rounds, double bytes);

// True if all messages of a ring in rank order have alike ways and none shares a link: one level of
// ports, or an axis of a torus that wraps.
bool IsRing(const Wiring& w);

// One phase over the links of a ring in rank order (a port, or where it leaves a node).
Phase OverRing(const Wiring& w, std::string factor, double rounds, double bytes);
// What the ports of a node carry of what all its devices send alike, each to one peer in the next
// node: the port that most devices share decides, or the way up from a leaf switch.
BytesPerSecond NodeShare(const Wiring& w);
// One phase over the fabric inside a node, and one over all ports of a node.
Phase InsideNode(const Wiring& w, std::string factor, double rounds, double bytes);
Phase BetweenNodes(const Wiring& w, std::string factor, double rounds, double bytes);

// OkStatus if a message to another rank has the sender's and the receiver's port for itself on any
// way of pairing ranks: on a switch, or a mesh, or one device a node.
Status NeedsPorts(const Wiring& w, std::string_view algorithm);
// The same, and no second level: all in one node, or one device a node and nothing above it that is
// oversubscribed.
Status NeedsOneLevel(const Wiring& w, std::string_view algorithm);
// The same as NeedsPorts, and whole nodes.
Status NeedsEvenNodes(const Wiring& w, std::string_view algorithm);
// OkStatus on a torus of the given number of axes at most.
Status NeedsTorus(const Wiring& w, std::string_view algorithm, std::size_t most_axes);

// The numbers in a name: 4, 2 of "torus:4x2", none of "ring". Errors: a colon without numbers.
Result<std::vector<std::int64_t>> NumbersOf(std::string_view algorithm);

// The formulas, by file. What they return is of V = question.bytes = 1: parts of V.
Result<Phases> RingAllGatherTime(const Wiring& w, const Question& q);  // ring.cc
Result<Phases> RingReduceScatterTime(const Wiring& w, const Question& q);
Result<Phases> RingAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> MultiRingAllGatherTime(const Wiring& w, const Question& q);
Result<Phases> MultiRingAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> BidirectionalAllGatherTime(const Wiring& w, const Question& q);
Result<Phases> BidirectionalReduceScatterTime(const Wiring& w, const Question& q);
Result<Phases> BidirectionalAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> LinearScanTime(const Wiring& w, const Question& q);

Result<Phases> DirectGatherAllTime(const Wiring& w, const Question& q);  // direct.cc
Result<Phases> DirectAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> OneShotAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> DirectAllToAllTime(const Wiring& w, const Question& q);
Result<Phases> ConfirmedAllToAllTime(const Wiring& w, const Question& q);
Result<Phases> DirectRootedTime(const Wiring& w, const Question& q);
Result<Phases> NaiveAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> DirectSpreadTime(const Wiring& w, const Question& q);
Result<Phases> InNetworkAllReduceTime(const Wiring& w, const Question& q);

Result<Phases> BinomialBroadcastTime(const Wiring& w, const Question& q);  // tree.cc
Result<Phases> BinomialReduceTime(const Wiring& w, const Question& q);
Result<Phases> TreeAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> DoubleTreeAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> HalvingDoublingAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> KnomialBroadcastTime(const Wiring& w, const Question& q);
Result<Phases> KnomialReduceTime(const Wiring& w, const Question& q);
Result<Phases> KnomialGatherTime(const Wiring& w, const Question& q);
Result<Phases> KnomialScatterTime(const Wiring& w, const Question& q);
Result<Phases> DisseminationBarrierTime(const Wiring& w, const Question& q);

Result<Phases> TwoTreesAllReduceTime(const Wiring& w, const Question& q);  // double_tree.cc
Result<Phases> TwoTreesBroadcastTime(const Wiring& w, const Question& q);
Result<Phases> TwoTreesReduceTime(const Wiring& w, const Question& q);
Result<Phases> ScatterGatherBroadcastTime(const Wiring& w, const Question& q);

// exchange.cc
Result<Phases> PairwiseAllToAllTime(const Wiring& w, const Question& q);
Result<Phases> BruckAllGatherTime(const Wiring& w, const Question& q);
Result<Phases> BruckAllToAllTime(const Wiring& w, const Question& q);
Result<Phases> DoublingAllGatherTime(const Wiring& w, const Question& q);
Result<Phases> HalvingReduceScatterTime(const Wiring& w, const Question& q);
Result<Phases> DoublingAllReduceTime(const Wiring& w, const Question& q);

// folded.cc: of any N. REQUIRES: NeedsPorts.
Result<Phases> FoldedAllGatherTime(const Wiring& w, const Question& q);
Result<Phases> FoldedReduceScatterTime(const Wiring& w, const Question& q);
Result<Phases> FoldedDoublingAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> FoldedHalvingDoublingTime(const Wiring& w, const Question& q);
Result<Phases> DoublingScanTime(const Wiring& w, const Question& q);

// leaders.cc
Result<Phases> LeadersAllGatherTime(const Wiring& w, const Question& q);
Result<Phases> LeadersReduceScatterTime(const Wiring& w, const Question& q);
Result<Phases> LeadersAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> LeadersBroadcastTime(const Wiring& w, const Question& q);
Result<Phases> GridAllGatherTime(const Wiring& w, const Question& q);
Result<Phases> GridReduceScatterTime(const Wiring& w, const Question& q);
Result<Phases> GridAllReduceTime(const Wiring& w, const Question& q);

Result<Phases> HierarchicalAllGatherTime(const Wiring& w, const Question& q);  // hierarchical.cc
Result<Phases> HierarchicalReduceScatterTime(const Wiring& w, const Question& q);
Result<Phases> HierarchicalAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> PipelinedAllGatherTime(const Wiring& w, const Question& q);
Result<Phases> PipelinedReduceScatterTime(const Wiring& w, const Question& q);
Result<Phases> PipelinedAllReduceTime(const Wiring& w, const Question& q);

Result<Phases> TorusAllGatherTime(const Wiring& w, const Question& q);  // torus.cc
Result<Phases> TorusAllReduceTime(const Wiring& w, const Question& q);
Result<Phases> TorusAllToAllTime(const Wiring& w, const Question& q);
Result<Phases> RingAllToAllTime(const Wiring& w, const Question& q);

}  // namespace chorus
