#include "chorus/apps/answer/gradient_answer.h"

#include <fmt/format.h>

#include <utility>

#include "chorus/program/account.h"
#include "chorus/shard/gradient.h"
#include "chorus/shard/traffic.h"

namespace chorus::answer {

Result<std::vector<OperandGradient>> GradientsOf(const Product& product, const Spec& result_lies,
                                                 const Mesh& mesh, const DimSizes& sizes,
                                                 DType dtype, const Tariff& tariff,
                                                 const WayLimits& limits) {
  WayLimits own;
  own.placement = limits.placement;
  own.most_memory = limits.most_memory;
  std::vector<OperandGradient> gradients;
  for (std::size_t k = 0; k < product.operands.size(); ++k) {
    OperandGradient gradient;
    gradient.operand = product.operands[k].name();
    gradient.product = GradientOf(product, k, result_lies);
    Result<ProductAnswer> answer =
        ExplainProduct(gradient.product, mesh, sizes, dtype, tariff, own);
    if (!answer.ok()) {
      return answer.status().WithContext(fmt::format("the gradient of {}", gradient.operand));
    }
    gradient.answer = *std::move(answer);
    const StepProgram& program = gradient.answer.program;
    gradient.sent = MostSent(program, mesh, sizes);
    gradient.flops = ProductFlops(program, mesh, sizes, 0);
    gradient.peak = MostMemory(program, mesh, sizes);
    if (own.placement != nullptr) {
      CHORUS_ASSIGN_OR_RETURN(gradient.time, TimeOf(program, *own.placement, sizes));
    }
    gradients.push_back(std::move(gradient));
  }
  return gradients;
}

Json StepsToJson(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes) {
  Json steps = Json::array();
  for (const ProgramOp& op : program.ops()) {
    if (op.kind == ProgramOpKind::kFree) continue;
    const bool computes = op.kind == ProgramOpKind::kCompute;
    const Bytes sent = SendsBytes(op.kind) ? MostSent(program, op, mesh, sizes) : Bytes(0);
    steps.push_back({{"operation", computes ? Name(op.compute) : Name(op.kind)},
                     {"result", program.value(op.result).spec.ToString()},
                     {"axes", JoinAxes(op.axes)},
                     {"bytes_sent_per_rank", sent.value()},
                     {"flops_per_rank", ProductFlops(program, op, mesh, sizes, 0).value()}});
  }
  return steps;
}

Json ToJson(const std::vector<OperandGradient>& gradients, const Mesh& mesh,
            const DimSizes& sizes) {
  Json json = Json::array();
  for (const OperandGradient& gradient : gradients) {
    const ChainPlan& plan = gradient.answer.plans[0];
    json.push_back({{"operand", gradient.operand},
                    {"product", gradient.product.ToString()},
                    {"case", gradient.answer.number},
                    {"plan", plan.rule},
                    {"order", plan.order},
                    {"steps", StepsToJson(gradient.answer.program, mesh, sizes)},
                    {"bytes_sent_per_rank", gradient.sent.value()},
                    {"flops_per_rank", gradient.flops.value()},
                    {"peak_memory_bytes_per_rank", gradient.peak.value()}});
    if (gradient.time) json.back()["seconds"] = gradient.time->Elapsed().value();
  }
  return json;
}

}  // namespace chorus::answer
