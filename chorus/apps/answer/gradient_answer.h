// The gradients of a sharded product, each planned and priced as the product that it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chorus/apps/answer/json.h"
#include "chorus/shard/plan_time.h"
#include "chorus/shard/product.h"

namespace chorus::answer {

// The gradient of one operand. Numbers are those of rank 0, and where blocks change ranks of the
// busiest.
struct OperandGradient {
  std::string operand;   // "A"
  Product product;       // dC[I, K] * B[J, K] -> dA[I, J], as A lies
  ProductAnswer answer;  // how it is done
  Bytes sent;
  Flops flops;
  Bytes peak;
  std::optional<PlanTime> time;  // on a machine
};

// Of each operand in turn, the gradient of the result lying as `result_lies`, by the cheapest way
// within limits.most_memory, on limits.placement the fastest; the other limits are not looked at.
// Errors: as ExplainProduct, naming the operand.
Result<std::vector<OperandGradient>> GradientsOf(const Product& product, const Spec& result_lies,
                                                 const Mesh& mesh, const DimSizes& sizes,
                                                 DType dtype, const Tariff& tariff,
                                                 const WayLimits& limits);

Json ToJson(const std::vector<OperandGradient>& gradients, const Mesh& mesh, const DimSizes& sizes);

// The operations of a program, frees left out, with what the largest rank does in each.
Json StepsToJson(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes);

}  // namespace chorus::answer
