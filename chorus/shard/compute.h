// Planning one operation: which mesh axis does what, and what must move for that.
//
// Each mesh axis takes one role in an operation: it splits one of the indices the operation loops
// over, or a sum over it passes through (where the operation is linear), or none: every rank along
// it does the same. Of a product C[I, K] = A[I, J] . B[J, K]:
//
//   role of X   A        B        C             what the lecture notes call it
//   splits I    [I_X, J] [J, K]   [I_X, K]      case 1, nothing moves
//   splits K    [I, J]   [J, K_X] [I, K_X]      case 1
//   splits J    [I, J_X] [J_X, K] [I, K]{U_X}   case 3, the result is a sum to be done
//   none        [I, J]   [J, K]   [I, K]        repeated along X
//   passes      {U_X}    whole    {U_X}         a sum that is done later; of two sums one alone
//
// Operands that lie otherwise are brought there (case 2: one operand's J is split; case 4: A[I_X,
// J] and B[J, K_X] want X for two indices). All assignments of roles are enumerated and priced, so
// the four cases are results, not branches. Thread safety: pure.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "chorus/graph/op.h"
#include "chorus/mesh/spec.h"
#include "chorus/shard/reshard.h"
#include "chorus/shard/tariff.h"

namespace chorus {

struct ComputeRequest {
  GraphOp op = GraphOp::kContract;
  std::vector<Spec> operands;  // how they lie now
  Spec result;                 // its name and dimensions; its layout is not looked at
  std::optional<Spec> wanted;  // how the result must lie; absent: as the plan likes
  DType dtype = DType::kF32;   // of floats
  // How operands lie is a law (of a strategy): they may be sliced and summed, never gathered, and
  // an axis splits an index only if it does so in an operand or in `wanted` already.
  bool strict = false;
  IdleAxes idle = IdleAxes::kBorrow;  // in the moves of operands and result; `strict` leaves them
  // A result left as a sum nobody asked for is charged the reduce_scatter that it will need at
  // least; not in a chain, where what comes after pays for it.
  bool charges_sums = true;
  // So many of the cheapest ways will do, and none that costs more, on top of what was paid
  // `before`.
  std::size_t most_ways = std::numeric_limits<std::size_t>::max();
  double most_price = std::numeric_limits<double>::infinity();
  Cost before;
};

// One way to do an operation.
struct ComputePlan {
  std::vector<ReshardPlan> operand_moves;  // one an operand
  std::vector<Spec> operands;              // how they lie when the operation runs
  Spec result;                             // what comes out of it
  ReshardPlan result_moves;                // from `result` to what was wanted
  // For the largest rank: all moves, the operation itself, and what the sums of the result are
  // charged.
  Cost cost;
  std::vector<std::string> repeated;  // axes (larger than 1) along which ranks do the same
  std::string rule;                   // "X splits J, Y repeats: all_gather ... ; ..."

  // How the result lies at the end.
  const Spec& Final() const {
    return result_moves.moves.empty() ? result : result_moves.moves.back().result;
  }
  // Moves of the operands and of the result.
  std::size_t CountMoves() const;
};

// All ways, cheapest first (then fewest moves, then by rule): [0] is the choice. Empty if `strict`
// or `most_price` leaves none.
// Errors: what MakeRule, Spec::Check and CheckSizes refuse; a wanted spec that no way can reach;
// more operations than 64 bits count.
Result<std::vector<ComputePlan>> PlanCompute(const ComputeRequest& request, const Mesh& mesh,
                                             const DimSizes& sizes, const Tariff& tariff);
// The same with the reshards that `planner` has planned before. REQUIRES: of the dtype of
// `request`.
Result<std::vector<ComputePlan>> PlanCompute(const ComputeRequest& request,
                                             ReshardPlanner& planner);

// Operations one rank does: 2 x the product of all local loop sizes for a product, else one for
// each element of operands and result.
Flops LocalFlops(GraphOp op, const std::vector<Spec>& operands, const Spec& result,
                 const Mesh& mesh, const DimSizes& sizes, std::int64_t rank);

}  // namespace chorus
