// A sharded matrix product asked about in one line, and its answer.
//
//   A[I, J_X] * B[J_X, K] -> C[I, K]
//
// The four cases, axis by axis:
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
#include "chorus/shard/compute.h"

namespace chorus {

struct Product {
  Spec a, b;
  Spec result;                 // name and dimensions
  std::optional<Spec> wanted;  // how the result must lie; absent: the planner's choice

  std::string ToString() const;  // as it is parsed
  friend bool operator==(const Product&, const Product&) = default;
};

// Reads "A[..] * B[..]", then "-> C[..]" or nothing: C then has the dimensions that are in one
// operand only, and lies as the planner likes. Errors point at the character.
Result<Product> ParseProduct(std::string_view text);

// What one mesh axis does in the product as it is asked.
struct AxisCase {
  std::string axis;
  int number = 1;      // 1 to 4
  std::string reason;  // "splits J in A and in B"

  friend bool operator==(const AxisCase&, const AxisCase&) = default;
};

struct ProductAnswer {
  std::vector<AxisCase> cases;         // of each axis of the mesh that an operand uses
  int number = 1;                      // the largest of them: the case of the product
  std::vector<ComputePlan> plans;      // [0] is chosen, the rest was rejected; cheapest first
  StepProgram program;                 // the chosen plan; inputs A and B, output C
  std::vector<std::string> spellings;  // if C is left a sum: what to write to have it otherwise
};

// Errors: what PlanCompute refuses.
Result<ProductAnswer> ExplainProduct(const Product& product, const Mesh& mesh,
                                     const DimSizes& sizes, DType dtype, const Tariff& tariff);

}  // namespace chorus
