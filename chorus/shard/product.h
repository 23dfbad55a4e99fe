// Sharded matrix products asked about in one line, and the answer.
//
//   A[I, J_X] * B[J_X, K] -> C[I, K]
//   A[I_X, J] * B[J, K_Y] * D[K_Y, L]{U_Z} -> E[I_X, L]      a chain: the order is chosen too
//   A[Z_X, I, J] * B[Z_X, J, K] -> C[Z, I, K]                Z is in all three: a batch
//
// The four cases of one product, axis by axis:
//   1  the axis splits no contracted dimension                nothing moves
//   2  it splits the contracted dimension of one operand      gather it, or slice the other
//   3  it splits the contracted dimension of both             local product, then reduce
//   4  it splits different kept dimensions of both            gather the cheaper
// Thread safety: pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/program/program.h"
#include "chorus/shard/chain.h"
#include "chorus/shard/plan_time.h"

namespace chorus {

struct Product {
  std::vector<Spec> operands;  // two to kMostOperands, with different names
  Spec result;                 // name and dimensions
  std::optional<Spec> wanted;  // how the result must lie; absent: the planner's choice

  std::string ToString() const;  // as it is parsed
  friend bool operator==(const Product&, const Product&) = default;
};

// Reads "A[..] * B[..]" and more operands, then "-> C[..]" or nothing: C then has the dimensions
// that are in one operand only, and lies as the planner likes. Operands without a name are called
// A, B, ... and the result by the next letter that is free. For "*" may stand ".", and the signs of
// papers, the dot U+00B7 or U+22C5, the cross U+00D7, the stars U+2217 and U+FF0A; for "->" the
// arrow U+2192 or U+27F6. Errors point at the character, name both places where there are two, and
// show what could be written instead, which is accepted.
Result<Product> ParseProduct(std::string_view text);

// Legal products that an illegal text may mean (spelling.h); none where nothing can be made of it,
// or nothing is wrong.
std::vector<std::string> ProductSpellings(std::string_view text);

// Error, pointing into `text`, if it uses an axis that is not on the mesh, or else a dimension
// without a size. REQUIRES: ParseProduct(text) is ok.
Status CheckProduct(std::string_view text, const Mesh& mesh, const DimSizes& sizes);

// What one mesh axis does in one product as its operands lie.
struct AxisCase {
  std::string axis;
  int number = 1;      // 1 to 4
  std::string reason;  // "splits J in A and in B"

  friend bool operator==(const AxisCase&, const AxisCase&) = default;
};

// A plan as a program, with what it sends, computes, holds and takes: of rank 0, whose blocks are
// the largest, and of the busiest rank where blocks change ranks (MostSent).
struct ProductWay {
  ChainPlan plan;
  StepProgram program;
  Bytes sent;
  Flops flops;
  Bytes peak;
  std::optional<PlanTime> time;  // on a machine
};

struct ProductAnswer {
  // Of each axis of the mesh that an operand uses; of a chain, product after product as chosen.
  std::vector<AxisCase> cases;
  int number = 1;                // the largest of them: the case of the product
  std::vector<ChainPlan> plans;  // [0] is chosen, the rest was rejected; best first
  bool are_all = true;  // of two operands `plans` are all ways; else the kWaysListed cheapest
  std::vector<ProductWay> ways;        // of `plans`, in their order; without limits of the first
  StepProgram program;                 // the chosen plan; inputs the operands, output C
  std::vector<std::string> spellings;  // if C is left a sum: what to write to have it otherwise
};

// The program of a plan: for each product bring the operands, multiply, bring the result. The last
// product's operation keeps `rejected` as its provenance.
Result<StepProgram> ProgramOf(const Product& product, const ChainPlan& plan, DType dtype,
                              const std::vector<Alternative>& rejected = {});

// What else than the tariff a plan is chosen by.
struct WayLimits {
  const MeshPlacement* placement = nullptr;  // then the plan that is fastest there is the best
  std::optional<Bytes> most_memory;          // of one rank, operands and result included
  bool overlap = false;  // only ways that multiply while chunks are on their way (chunk_loop.h)
  // Also ways that gather panel by panel (panel_stream.h) where gathering all fits; where it does
  // not they are looked at anyway.
  bool streams = false;
};

// Two operands on more than kAxesListed axes have too many ways to be listed (on six axes 40,000):
// the kWaysListed cheapest are. If none of those is within the memory all are looked at.
inline constexpr std::size_t kAxesListed = 4;
inline constexpr std::size_t kWaysListed = 64;

// The best rejected plans that the program keeps as provenance.
inline constexpr std::size_t kRejectedKept = 4;

// Errors: what PlanChain and WaysOf (ways.h) refuse.
Result<ProductAnswer> ExplainProduct(const Product& product, const Mesh& mesh,
                                     const DimSizes& sizes, DType dtype, const Tariff& tariff,
                                     const WayLimits& limits = {});

}  // namespace chorus
