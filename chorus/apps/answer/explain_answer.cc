#include "chorus/apps/answer/explain_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chorus/apps/answer/about.h"
#include "chorus/mesh/spelling.h"
#include "chorus/program/account.h"
#include "chorus/program/chunked.h"
#include "chorus/shard/traffic.h"
#include "chorus/tensor/runtime.h"

namespace chorus::answer {
namespace {

// When each operation that takes time begins and ends; and if all that can were hidden, what
// computes and what moves each in a lane of its own.
Json TimelineJson(const ProductWay& way) {
  Json json = Json::array();
  double compute = 0, move = 0;
  for (std::size_t i = 0; i < way.program.ops().size(); ++i) {
    const OpTime& one = way.time->ops[i];
    if (one.why.empty()) continue;
    const ProgramOp& op = way.program.ops()[i];
    const Timeline::Span& span = way.time->line.ops[i];
    const bool computes = op.kind == ProgramOpKind::kCompute;
    double& lane = computes ? compute : move;
    const double begin = lane;
    lane += one.time.value();
    json.push_back({{"text", OpText(way.program, op)},
                    {"kind", computes ? "compute" : "move"},
                    {"begin_seconds", span.begin.value()},
                    {"end_seconds", span.end.value()},
                    {"hidden_begin_seconds", begin},
                    {"hidden_end_seconds", lane},
                    {"why", one.why}});
  }
  return json;
}

Json WaysToJson(const std::vector<ProductWay>& ways) {
  Json json = Json::array();
  for (const ProductWay& way : ways) {
    json.push_back({{"plan", way.plan.rule},
                    {"order", way.plan.order},
                    {"result", way.plan.Final().ToString()},
                    {"bytes_sent_per_rank", way.sent.value()},
                    {"flops_per_rank", way.flops.value()},
                    {"peak_memory_bytes_per_rank", way.peak.value()}});
    if (!way.time) continue;
    json.back()["seconds"] = way.time->Elapsed().value();
    json.back()["one_after_another_seconds"] = way.time->OneAfterAnother().value();
    json.back()["compute_seconds"] = way.time->compute.value();
    json.back()["move_seconds"] = way.time->moves.value();
    json.back()["hidden_seconds"] = way.time->Overlapped().value();
    json.back()["timeline"] = TimelineJson(way);
  }
  return json;
}

Json BreakEvensToJson(const std::vector<BreakEven>& points) {
  Json json = Json::array();
  for (const BreakEven& p : points) {
    json.push_back({{"axis", p.axis},
                    {"operand", p.operand},
                    {"reduce", p.reduce},
                    {"gather_bytes_per_rank", p.gather_bytes.value()},
                    {"reduce_bytes_per_rank", p.reduce_bytes.value()},
                    {"dimension", p.dim},
                    {"size", p.size},
                    {"size_in_bytes", p.in_bytes},
                    {"size_if_hidden", p.hidden},
                    {"rows", p.rows},
                    {"rows_to_hide", p.rows_to_hide}});
  }
  return json;
}

// What a refusal of ExplainProduct is about: no way to overlap, none within the memory.
std::string_view OptionOf(const ExplainQuestion& o, const Status& status) {
  if (o.overlap && status.code() == StatusCode::kUnsupported) return "--overlap";
  return o.memory.empty() ? "--product" : "--memory";
}

// Error if a size is of no dimension of the product.
Status CheckNoneIsLeftOver(const ExplainAnswer& q) {
  DimSizes used;
  for (const Spec& operand : q.product.operands) {
    for (const std::string& dim : operand.DimNames()) used[dim] = q.sizes.find(dim)->second;
  }
  for (const auto& [dim, size] : q.sizes) {
    if (used.count(dim) > 0) continue;
    return InvalidArgument(fmt::format(
        "--dims gives {} = {}, but {} has no dimension {}, so {}", dim, size, q.product.ToString(),
        dim, used.empty() ? "give none" : "write " + chorus::ToString(used)));
  }
  return OkStatus();
}

}  // namespace

Result<ExplainAnswer> Answer(const ExplainQuestion& o) {
  ExplainAnswer q;
  CHORUS_ASSIGN_OR_RETURN(q.product, About("--product", ParseProduct(o.product)));
  CHORUS_ASSIGN_OR_RETURN(q.mesh, About("--mesh", Mesh::Parse(o.mesh)));
  if (q.mesh.size() > o.most_ranks) {
    return InvalidArgument(fmt::format("--mesh {} has {} ranks; at most {} can be explained",
                                       q.mesh.ToString(), q.mesh.size(), o.most_ranks));
  }
  CHORUS_ASSIGN_OR_RETURN(q.sizes, About("--dims", ParseDimSizes(o.dims)));
  const std::optional<DType> dtype = ParseDType(o.dtype);
  if (!dtype || !IsFloat(*dtype)) {
    return InvalidArgument(
        fmt::format("--dtype {} is no float; write f32, f64, f16 or bf16", o.dtype));
  }
  q.dtype = *dtype;
  if (o.flops_per_byte && !(*o.flops_per_byte > 0)) {
    return InvalidArgument(
        fmt::format("--flops-per-byte {} must be above 0, like 2198", *o.flops_per_byte));
  }
  CHORUS_RETURN_IF_ERROR(CheckMachineIsNamed(o.machine));
  if (!o.machine.on.empty()) {
    CHORUS_ASSIGN_OR_RETURN(Machine machine, ChosenMachine(o.machine));
    CHORUS_ASSIGN_OR_RETURN(q.placement,
                            About("--mesh", MeshPlacement::Create(std::move(machine), q.mesh)));
    CHORUS_ASSIGN_OR_RETURN(q.tariff, About("--on", TariffOn(*q.placement)));
  }
  // Where it is run and no machine is named, chunks are as many as suit the cores of a host.
  if (o.overlap && o.on_this_host && !q.placement) q.tariff = kHostTariff;
  if (o.flops_per_byte) q.tariff.flops_per_byte = *o.flops_per_byte;
  if (!o.memory.empty()) {
    CHORUS_ASSIGN_OR_RETURN(q.most_memory, About("--memory", ParseBytes(o.memory)));
  }
  CHORUS_RETURN_IF_ERROR(About("--product", CheckProduct(o.product, q.mesh, q.sizes)));
  CHORUS_RETURN_IF_ERROR(CheckNoneIsLeftOver(q));
  for (const Spec& operand : q.product.operands) {
    CHORUS_RETURN_IF_ERROR(About("--dims", CheckSizes(operand, q.sizes)));
  }
  const WayLimits limits{q.placement ? &*q.placement : nullptr, q.most_memory, o.overlap,
                         /*streams=*/o.alternatives};
  Result<ProductAnswer> explained =
      ExplainProduct(q.product, q.mesh, q.sizes, q.dtype, q.tariff, limits);
  if (!explained.ok()) return About(OptionOf(o, explained.status()), explained.status());
  q.answer = *std::move(explained);
  if (q.placement || q.most_memory || o.overlap) {
    if (o.alternatives || q.placement) q.ways = std::move(q.answer.ways);
  } else if (o.alternatives) {
    CHORUS_ASSIGN_OR_RETURN(
        q.ways, WaysOf(q.product, q.answer.plans, q.mesh, q.sizes, q.dtype, q.tariff, limits));
  }
  if (o.gradients) {
    CHORUS_ASSIGN_OR_RETURN(q.gradients, GradientsOf(q.product, q.answer.plans[0].Final(), q.mesh,
                                                     q.sizes, q.dtype, q.tariff, limits));
  }
  q.break_evens = BreakEvensOf(q.product, q.answer.cases, q.mesh, q.sizes, q.dtype, q.tariff);
  return q;
}

std::string OpText(const StepProgram& program, const ProgramOp& op) {
  std::string text = ToString(program, op);
  text = text.substr(0, text.find(':')) + text.substr(std::min(text.find(" = "), text.size()));
  text.resize(std::min(text.size(), text.find(" into ")));
  return text;
}

std::vector<std::string> SpellingsFor(const ExplainQuestion& question) {
  Result<Product> product = ParseProduct(question.product);
  if (!product.ok()) return ProductSpellings(question.product);
  const Result<Mesh> mesh = Mesh::Parse(question.mesh);
  if (!mesh.ok()) return {};
  const std::string asked = product->ToString();
  for (Spec& operand : product->operands) operand = NearestOn(operand, *mesh);
  if (product->wanted) product->wanted = NearestOn(*product->wanted, *mesh);
  std::string legal = product->ToString();
  if (legal == asked || !ParseProduct(legal).ok()) return {};
  return {std::move(legal)};
}

Bytes SentBy(const ExplainAnswer& q, const ProgramOp& op) {
  if (!SendsBytes(op.kind)) return Bytes(0);
  return MostSent(q.answer.program, op, q.mesh, q.sizes);
}

Json ToJson(const ExplainAnswer& q) {
  const StepProgram& program = q.answer.program;
  Json json = {{"product", q.product.ToString()},
               {"mesh", q.mesh.ToString()},
               {"dtype", Name(q.dtype)},
               {"flops_per_byte", q.tariff.flops_per_byte},
               {"latency_bytes", q.tariff.latency_bytes},
               {"case", q.answer.number},
               {"result", q.answer.plans[0].Final().ToString()},
               {"plan", q.answer.plans[0].rule},
               {"order", q.answer.plans[0].order}};
  for (const AxisCase& axis : q.answer.cases) {
    json["axes"].push_back({{"axis", axis.axis}, {"case", axis.number}, {"reason", axis.reason}});
  }
  json["steps"] = StepsToJson(program, q.mesh, q.sizes);
  for (const ProgramValue& value : program.values()) {
    json["arrays"].push_back({{"array", value.spec.ToString()},
                              {"global_shape", GlobalShape(value.spec, q.sizes).sizes()},
                              {"local_shape", LocalShape(value, q.mesh, q.sizes, 0).sizes()},
                              {"bytes_per_rank", LocalBytes(value, q.mesh, q.sizes, 0).value()}});
  }
  json["bytes_sent_per_rank"] = MostSent(program, q.mesh, q.sizes).value();
  json["flops_per_rank"] = ProductFlops(program, q.mesh, q.sizes, 0).value();
  json["peak_memory_bytes_per_rank"] = MostMemory(program, q.mesh, q.sizes).value();
  json["repeated_along"] = q.answer.plans[0].repeated;
  if (!q.answer.are_all) json["listed"] = fmt::format("the {} cheapest ways", kWaysListed);
  json["rejected"] = Json::array();
  for (std::size_t i = 1; i < q.answer.plans.size(); ++i) {
    const ChainPlan& plan = q.answer.plans[i];
    json["rejected"].push_back({{"plan", plan.rule},
                                {"order", plan.order},
                                {"mean_bytes_sent_per_rank", plan.cost.bytes_sent.value()},
                                {"flops_per_rank", plan.cost.flops.value()}});
  }
  json["spellings"] = q.answer.spellings;
  json["break_even"] = BreakEvensToJson(q.break_evens);
  if (q.placement) {
    json["machine"] = q.placement->machine().name;
    for (const MeshAxis& axis : q.mesh.axes()) {
      json["placement"][axis.name] = q.placement->Describe(axis.name);
    }
  }
  if (!q.ways.empty()) json["ways"] = WaysToJson(q.ways);
  if (!q.gradients.empty()) json["gradients"] = ToJson(q.gradients, q.mesh, q.sizes);
  return json;
}

}  // namespace chorus::answer
