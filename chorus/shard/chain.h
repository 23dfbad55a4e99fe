// Planning a chain of products: in which order, and how every product in it is done.
//
//   A[I, J] B[J, K] D[K, L]        (AB) D:  A[..] ---- B[..]            each product is planned by
//                                                 \  /                  its roles (compute.h); its
//                                                  AB[..] --- D[..]     result lies as that plan
//                                                        \  /           leaves it, sums to be done
//                                  A (BD): ...            E[..]         included
//
// The classic table over runs of neighbours, with the layout of each run's result as a second key:
//   best(i..j, layout) = min over k, left, right of best(i..k, left) + best(k+1..j, right) +
//   product
// One product alone is exhaustive. In a chain each run keeps its kLayoutsKept cheapest layouts.
// Thread safety: pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chorus/shard/chunk_loop.h"
#include "chorus/shard/compute.h"
#include "chorus/shard/panel_stream.h"

namespace chorus {

inline constexpr std::size_t kMostOperands = 6;
inline constexpr std::size_t kLayoutsKept = 12;

// One product of a chain. Operands are numbered as written; step s leaves number
// (operands of the chain) + s.
struct ChainStep {
  int left = 0;
  int right = 1;
  ComputePlan plan;
  // By what the plan's collectives are taken apart; one of them at most.
  std::optional<ChunkLoop> loop = std::nullopt;
  std::optional<PanelStream> stream = std::nullopt;
};

struct ChainPlan {
  std::vector<ChainStep> steps;  // in the order they run
  Cost cost;                     // as ComputePlan::cost, of all steps
  std::string order;             // "(A * B) * D"
  std::string rule;              // of one product its rule; of more "AB: ... then E: ..."
  // Axes along which ranks do the same in some step.
  std::vector<std::string> repeated;

  const Spec& Final() const { return steps.back().plan.Final(); }
};

// "X splits J: all_gather ..." and of a chain its order before that.
std::string Describe(const ChainPlan& plan);

// All ways of one product, or the kLayoutsKept cheapest of a chain, cheapest first: [0] is the
// choice. With `most_ways` no more than that, found the sooner. `idle`: in all moves (reshard.h).
// Only neighbours are multiplied. A dimension is summed in the product after which nothing needs
// it: no operand outside, not the result.
// Errors: what PlanCompute refuses; fewer than two operands or more than kMostOperands.
Result<std::vector<ChainPlan>> PlanChain(const std::vector<Spec>& operands, const Spec& result,
                                         const std::optional<Spec>& wanted, const Mesh& mesh,
                                         const DimSizes& sizes, DType dtype, const Tariff& tariff,
                                         std::optional<std::size_t> most_ways = std::nullopt,
                                         IdleAxes idle = IdleAxes::kBorrow);
// The same with the reshards that `planner` has planned before.
Result<std::vector<ChainPlan>> PlanChain(const std::vector<Spec>& operands, const Spec& result,
                                         const std::optional<Spec>& wanted, ReshardPlanner& planner,
                                         std::optional<std::size_t> most_ways, IdleAxes idle);

}  // namespace chorus
