#include "chorus/shard/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "chorus/shard/emitter.h"
#include "chorus/shard/ways.h"

namespace chorus {
namespace {

// The dimension of `spec` that `axis` splits, "" if none.
std::string SplitDim(const Spec& spec, const std::string& axis) {
  for (const SpecDim& dim : spec.dims()) {
    if (std::find(dim.axes.begin(), dim.axes.end(), axis) != dim.axes.end()) return dim.name;
  }
  return "";
}

// The case of one axis in a * b; nothing if no operand is split by it.
std::optional<AxisCase> CaseOf(const Spec& a, const Spec& b, const Spec& result,
                               const std::string& axis) {
  const std::string in_a = SplitDim(a, axis);
  const std::string in_b = SplitDim(b, axis);
  if (in_a.empty() && in_b.empty()) return std::nullopt;
  const auto contracted = [&result](const std::string& dim) {
    return !dim.empty() && result.FindDim(dim) < 0;
  };
  const auto says = [&](const std::string& dim, const Spec& spec) {
    return fmt::format("splits {}{} in {}", contracted(dim) ? "the contracted " : "", dim,
                       spec.name());
  };
  if (in_a == in_b) {
    return AxisCase{axis, contracted(in_a) ? 3 : 1,
                    fmt::format("{} and in {}", says(in_a, a), b.name())};
  }
  if (in_a.empty() || in_b.empty()) {
    const std::string& dim = in_a.empty() ? in_b : in_a;
    const Spec& split = in_a.empty() ? b : a;
    const Spec& other = in_a.empty() ? a : b;
    if (!contracted(dim)) return AxisCase{axis, 1, says(dim, split)};
    return AxisCase{axis, 2, fmt::format("{} and nothing in {}", says(dim, split), other.name())};
  }
  const std::string both = fmt::format("{} and {}", says(in_a, a), says(in_b, b));
  return AxisCase{axis, contracted(in_a) || contracted(in_b) ? 2 : 4, both};
}

// If C is a sum nobody asked for: the ways to write it otherwise.
std::vector<std::string> Spellings(const Product& product, const ChainPlan& plan) {
  std::vector<std::string> spellings;
  const Spec& left = plan.Final();
  if (product.wanted || left.partial().empty()) return spellings;
  const std::string axes = JoinAxes(left.partial());
  const Spec whole = *left.WithPartial({});
  spellings.push_back(fmt::format("-> {}   all_reduce over {}", whole.ToString(), axes));
  for (const SpecDim& dim : whole.dims()) {
    AxisNames split = dim.axes;
    split.insert(split.end(), left.partial().begin(), left.partial().end());
    spellings.push_back(fmt::format("-> {}   reduce_scatter {} over {}",
                                    whole.WithAxes(dim.name, split)->ToString(), dim.name, axes));
  }
  spellings.push_back(fmt::format("-> {}   leave it a sum", left.ToString()));
  return spellings;
}

// All plans or the `most` cheapest, cheapest first. One price of a byte does not suit a machine
// whose axes are of different speed: there also those that leave idle axes alone, where they
// differ, so that time may decide.
Result<std::vector<ChainPlan>> PlansOf(const Product& product, const Mesh& mesh,
                                       const DimSizes& sizes, DType dtype, const Tariff& tariff,
                                       bool on_machine, std::optional<std::size_t> most) {
  ReshardPlanner planner(dtype, mesh, sizes, tariff);
  const auto plan = [&](IdleAxes idle) {
    return PlanChain(product.operands, product.result, product.wanted, planner, most, idle);
  };
  CHORUS_ASSIGN_OR_RETURN(std::vector<ChainPlan> plans, plan(IdleAxes::kBorrow));
  if (!on_machine) return plans;
  std::set<std::string> seen;
  for (const ChainPlan& known : plans) seen.insert(Describe(known));
  CHORUS_ASSIGN_OR_RETURN(std::vector<ChainPlan> more, plan(IdleAxes::kLeave));
  for (ChainPlan& other : more) {
    if (seen.count(Describe(other)) == 0) plans.push_back(std::move(other));
  }
  std::stable_sort(plans.begin(), plans.end(), [&](const ChainPlan& a, const ChainPlan& b) {
    return Price(a.cost, tariff) < Price(b.cost, tariff);
  });
  if (most && plans.size() > *most) plans.resize(*most);
  return plans;
}

}  // namespace

Result<StepProgram> ProgramOf(const Product& product, const ChainPlan& plan, DType dtype,
                              const std::vector<Alternative>& rejected) {
  ProgramEmitter emitter;
  std::vector<ValueId> values;
  for (const Spec& operand : product.operands) {
    values.push_back(emitter.Bind(operand, dtype, StorageClass::kInput));
  }
  for (const ChainStep& step : plan.steps) {
    const ComputePlan& how = step.plan;
    const std::string& c = how.result.name();
    const Provenance why{c, "", how.rule, {}};
    ProgramOp op;
    op.kind = ProgramOpKind::kCompute;
    op.compute = GraphOp::kContract;
    op.why = why;
    ReshardPlan after = how.result_moves;
    for (const int k : {step.left, step.right}) {
      const ValueId from = values[static_cast<std::size_t>(k)];
      ReshardPlan before = how.operand_moves[op.operands.size()];
      const std::size_t operand = op.operands.size();
      const auto of = operand == 0 ? ChunkLoop::Of::kLeft : ChunkLoop::Of::kRight;
      const bool in_chunks = step.loop && step.loop->of == of;
      const bool in_panels = step.stream && ComesInPanels(how, step.stream->dim, operand);
      if (in_chunks || in_panels) before.moves.pop_back();
      op.operands.push_back(emitter.Move(from, before, emitter.value(from).name() + ".use",
                                         StorageClass::kWorkspace, why));
    }
    if (step.loop && step.loop->of == ChunkLoop::Of::kResult) {
      after.moves.erase(after.moves.begin());
    }
    if (&step == &plan.steps.back()) op.why.rejected = rejected;
    const bool moves = !after.moves.empty();
    const std::string left_as = moves ? c + ".local" : c;
    ValueId local = kNoValue;
    if (step.loop) {
      local = EmitLoop(emitter, how, *step.loop, op.operands[0], op.operands[1], left_as, op.why);
    } else if (step.stream) {
      local =
          EmitStream(emitter, how, *step.stream, op.operands[0], op.operands[1], left_as, op.why);
    } else {
      local = emitter.Add(std::move(op), how.result.WithName(left_as), dtype,
                          StorageClass::kActivation);
    }
    values.push_back(emitter.Move(local, after, c, StorageClass::kActivation, why));
  }
  return emitter.Finish({values.back()});
}

Result<ProductAnswer> ExplainProduct(const Product& product, const Mesh& mesh,
                                     const DimSizes& sizes, DType dtype, const Tariff& tariff,
                                     const WayLimits& limits) {
  ProductAnswer answer;
  const bool is_limited = limits.placement != nullptr || limits.most_memory || limits.overlap;
  const auto answer_by = [&](std::optional<std::size_t> most) -> Status {
    CHORUS_ASSIGN_OR_RETURN(answer.plans, PlansOf(product, mesh, sizes, dtype, tariff,
                                                  limits.placement != nullptr, most));
    std::vector<ChainPlan> looked_at = answer.plans;
    if (!is_limited) looked_at.resize(std::min(looked_at.size(), kRejectedKept + 1));
    CHORUS_ASSIGN_OR_RETURN(answer.ways,
                            WaysOf(product, looked_at, mesh, sizes, dtype, tariff, limits));
    return OkStatus();
  };
  answer.are_all = product.operands.size() > 2 || mesh.axes().size() <= kAxesListed;
  Status status = answer_by(answer.are_all ? std::nullopt : std::optional(kWaysListed));
  if (!status.ok() && !answer.are_all && limits.most_memory) {
    status = answer_by(std::nullopt);
    answer.are_all = true;
  }
  CHORUS_RETURN_IF_ERROR(status);
  std::vector<Alternative> rejected;
  for (std::size_t i = 1; i < std::min(answer.ways.size(), kRejectedKept + 1); ++i) {
    const ProductWay& way = answer.ways[i];
    rejected.push_back({Describe(way.plan), way.sent, way.flops, way.peak});
  }
  if (is_limited) {
    answer.plans.clear();
    for (const ProductWay& way : answer.ways) answer.plans.push_back(way.plan);
  }
  std::vector<Spec> lie = product.operands;
  for (const ChainStep& step : answer.plans[0].steps) {
    const Spec& left = lie[static_cast<std::size_t>(step.left)];
    const Spec& right = lie[static_cast<std::size_t>(step.right)];
    for (const MeshAxis& axis : mesh.axes()) {
      if (std::optional<AxisCase> found = CaseOf(left, right, step.plan.result, axis.name)) {
        answer.number = std::max(answer.number, found->number);
        answer.cases.push_back(std::move(*found));
      }
    }
    lie.push_back(step.plan.Final());
  }
  CHORUS_ASSIGN_OR_RETURN(answer.program, ProgramOf(product, answer.plans[0], dtype, rejected));
  answer.spellings = Spellings(product, answer.plans[0]);
  return answer;
}

}  // namespace chorus
