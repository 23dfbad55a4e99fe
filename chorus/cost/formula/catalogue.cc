// Which formula belongs to which operation and algorithm.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "chorus/base/nearest.h"
#include "chorus/cost/formula/phases.h"

namespace chorus {
namespace {

constexpr std::int64_t kLargestNumber = 1 << 20;

}  // namespace

const std::vector<Formula>& AllFormulas() {
  static const std::vector<Formula> all = {
      {"all_gather", "ring", "blocks go round", RingAllGatherTime},
      {"all_gather", "direct", "everyone to everyone", DirectGatherAllTime},
      {"all_gather", "recursive_doubling", "twice as much in each round", DoublingAllGatherTime},
      {"all_gather", "bruck", "twice as much in each round, any N", BruckAllGatherTime},
      {"all_gather", "two_level:", "through leaders of groups", LeadersAllGatherTime},
      {"all_gather", "hierarchical:", "between nodes, then inside", HierarchicalAllGatherTime},
      {"all_gather", "torus:", "rings along the axes of a grid", GridAllGatherTime},
      {"all_gather", "bidirectional_ring", "both ways round", BidirectionalAllGatherTime},
      {"all_gather", "torus", "along all axes at once", TorusAllGatherTime},
      {"all_gather", "multi_ring", "a ring for each port of a node", MultiRingAllGatherTime},
      {"all_gather", "pipelined_hierarchical", "a bound of hierarchical, both levels at once",
       PipelinedAllGatherTime},

      {"reduce_scatter", "ring", "partial sums go round", RingReduceScatterTime},
      {"reduce_scatter", "shifted_ring", "as ring, one block further", RingReduceScatterTime},
      {"reduce_scatter", "direct", "everyone to everyone", DirectGatherAllTime},
      {"reduce_scatter", "recursive_halving", "half as much in each round",
       HalvingReduceScatterTime},
      {"reduce_scatter", "two_level:", "through leaders of groups", LeadersReduceScatterTime},
      {"reduce_scatter", "hierarchical:", "inside nodes, then between",
       HierarchicalReduceScatterTime},
      {"reduce_scatter", "torus:", "rings along the axes of a grid", GridReduceScatterTime},
      {"reduce_scatter", "bidirectional_ring", "both ways round", BidirectionalReduceScatterTime},
      {"reduce_scatter", "torus", "along all axes at once", TorusAllGatherTime},
      {"reduce_scatter", "multi_ring", "a ring for each port of a node", MultiRingAllGatherTime},
      {"reduce_scatter", "pipelined_hierarchical", "a bound of hierarchical, both levels at once",
       PipelinedReduceScatterTime},

      {"all_reduce", "ring", "reduce_scatter and all_gather round a ring", RingAllReduceTime},
      {"all_reduce", "direct", "everyone sums one block", DirectAllReduceTime},
      {"all_reduce", "one_shot", "everyone sums everything", OneShotAllReduceTime},
      {"all_reduce", "recursive_doubling", "all with ever farther ranks", DoublingAllReduceTime},
      {"all_reduce", "two_level:", "through leaders of groups", LeadersAllReduceTime},
      {"all_reduce", "hierarchical:", "inside nodes, between, inside", HierarchicalAllReduceTime},
      {"all_reduce", "torus:", "rings along the axes of a grid", GridAllReduceTime},
      {"all_reduce", "naive", "all to a root and back", NaiveAllReduceTime},
      {"all_reduce", "tree", "up a tree and down again", TreeAllReduceTime},
      {"all_reduce", "double_binary_tree", "two trees in pipeline", DoubleTreeAllReduceTime},
      {"all_reduce", "double_tree", "half of V up and down each of two trees",
       TwoTreesAllReduceTime},
      {"all_reduce", "halving_doubling", "halves, quarters, ... and back",
       HalvingDoublingAllReduceTime},
      {"all_reduce", "bidirectional_ring", "both ways round", BidirectionalAllReduceTime},
      {"all_reduce", "torus", "along all axes at once", TorusAllReduceTime},
      {"all_reduce", "multi_ring", "a ring for each port of a node", MultiRingAllReduceTime},
      {"all_reduce", "pipelined_hierarchical", "a bound of hierarchical, both levels at once",
       PipelinedAllReduceTime},
      {"all_reduce", "sharp", "the switch adds up", InNetworkAllReduceTime},

      {"broadcast", "binomial", "those who have it double", BinomialBroadcastTime},
      {"broadcast", "knomial:", "those who have it become K times as many", KnomialBroadcastTime},
      {"broadcast", "direct", "the root sends to each", DirectSpreadTime},
      {"broadcast", "double_tree", "half of V down each of two trees", TwoTreesBroadcastTime},
      {"broadcast", "scatter_gather", "down a tree in blocks, then round a ring",
       ScatterGatherBroadcastTime},
      {"broadcast", "two_level:", "through leaders of groups", LeadersBroadcastTime},
      {"reduce", "binomial", "halves are added, level by level", BinomialReduceTime},
      {"reduce", "knomial:", "K parts are added, level by level", KnomialReduceTime},
      {"reduce", "direct", "each sends to the root", DirectSpreadTime},
      {"reduce", "double_tree", "half of V up each of two trees", TwoTreesReduceTime},
      {"barrier", "dissemination", "who is heard of doubles", DisseminationBarrierTime},

      {"all_to_all", "direct", "everyone to everyone", DirectAllToAllTime},
      {"all_to_all", "confirmed", "direct, then all wait for all", ConfirmedAllToAllTime},
      {"all_to_all", "pairwise", "one peer after another", PairwiseAllToAllTime},
      {"all_to_all", "bruck", "by the bits of the distance", BruckAllToAllTime},
      {"all_to_all", "ring", "one way round a ring of links", RingAllToAllTime},
      {"all_to_all", "torus", "the shorter way along each axis", TorusAllToAllTime},
      {"gather", "direct", "each sends to the root", DirectRootedTime},
      {"scatter", "direct", "the root sends to each", DirectRootedTime},
      {"gather", "knomial:", "ever larger parts travel together", KnomialGatherTime},
      {"scatter", "knomial:", "ever smaller parts travel together", KnomialScatterTime},
      {"scan", "linear", "the sum walks up the ranks", LinearScanTime},
      {"scan", "recursive_doubling", "sums of 1, 2, 4, ... ranks before", DoublingScanTime},
      {"exscan", "linear", "the sum walks up the ranks", LinearScanTime},
      {"exscan", "recursive_doubling", "sums of 1, 2, 4, ... ranks before", DoublingScanTime},
  };
  return all;
}

std::vector<std::string> FormulaOps() {
  std::vector<std::string> ops;
  for (const Formula& formula : AllFormulas()) {
    const std::string op(formula.op);
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  }
  return ops;
}

Result<const Formula*> FindFormula(std::string_view op, std::string_view algorithm) {
  // "knomial:" of "knomial:4".
  const std::size_t colon = algorithm.find(':');
  const std::string_view family =
      colon == std::string_view::npos ? algorithm : algorithm.substr(0, colon + 1);
  std::vector<std::string> known;
  for (const Formula& formula : AllFormulas()) {
    if (formula.op != op) continue;
    if (formula.algorithm == family) return &formula;
    const bool numbered = formula.algorithm.back() == ':';
    known.push_back(std::string(formula.algorithm) + (numbered ? "4" : ""));
  }
  if (known.empty()) {
    return NotFound(
        fmt::format("there is no operation '{}'; {}", op, NearestAdvice(op, FormulaOps())));
  }
  return Unsupported(fmt::format("there is no formula for {} {}; {}", algorithm, op,
                                 NearestAdvice(algorithm, known)));
}

Result<std::vector<std::int64_t>> NumbersOf(std::string_view algorithm) {
  std::vector<std::int64_t> numbers;
  const std::size_t colon = algorithm.find(':');
  if (colon == std::string_view::npos) return numbers;
  const std::string_view family = algorithm.substr(0, colon);
  const bool boxes = family == "torus" || family == "hierarchical";
  const char separator = boxes ? 'x' : family == "two_level" ? '+' : '\0';
  const char* at = algorithm.data() + colon + 1;
  const char* const end = algorithm.data() + algorithm.size();
  while (true) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 1 || number > kLargestNumber) break;
    numbers.push_back(number);
    if (stop == end) {
      if (family == "knomial" && (number < 2 || number > 64)) break;
      const bool pieces = family == "hierarchical" && numbers.size() > 1;
      if (pieces && (numbers.size() > 2 || number > 64)) break;
      return numbers;
    }
    if (*stop != separator) break;
    at = stop + 1;
  }
  const std::string_view right = family == "knomial" ? "knomial:K with K from 2 to 64, as knomial:4"
                                 : family == "two_level"    ? "two_level:8, or two_level:3+1+2"
                                 : family == "hierarchical" ? "hierarchical:8, or hierarchical:8x4"
                                                            : "torus:4x2";
  return InvalidArgument(fmt::format("'{}' has wrong numbers; write {}", algorithm, right));
}

}  // namespace chorus
