#include "chorus/apps/cli/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "chorus/apps/cli/explain_run.h"
#include "chorus/apps/cli/explain_ways.h"
#include "chorus/apps/cli/machine_option.h"
#include "chorus/mesh/draw.h"
#include "chorus/program/account.h"
#include "chorus/program/chunked.h"
#include "chorus/shard/product.h"
#include "chorus/shard/traffic.h"
#include "chorus/tensor/runtime.h"

namespace chorus::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kAlternativesShown = 5;
constexpr std::size_t kWaysShown = 40;  // with --alternatives

struct Options {
  std::string product;
  std::string mesh;
  std::string dims;
  std::string dtype = "f32";
  std::optional<double> flops_per_byte;  // empty: of the machine, else of an H100
  answer::MachineOptions machine;
  std::string memory;
  bool alternatives = false;
  bool overlap = false;
  bool draw = false;
  bool json = false;
  RunOptions run;
};

// The question with all its parts read, and the answer. Numbers of ranks are those of rank 0, which
// holds the largest blocks.
struct Question {
  Product product;
  Mesh mesh;
  DimSizes sizes;
  DType dtype = DType::kF32;
  Tariff tariff;
  std::optional<MeshPlacement> placement;
  std::optional<Bytes> most_memory;
  ProductAnswer answer;
  std::vector<ProductWay> ways;  // those of answer.plans, if they are asked for
  std::vector<BreakEven> break_evens;
};

std::string_view CaseTitle(int number) {
  switch (number) {
    case 1:
      return "no contracted dimension is split: the product itself moves nothing";
    case 2:
      return "a contracted dimension is split in one operand only: gather it, or slice the other "
             "and reduce";
    case 3:
      return "a contracted dimension is split alike in both operands: multiply, then reduce";
    default:
      return "one axis splits kept dimensions of both operands: gather the cheaper";
  }
}

Result<Question> Read(const Options& o) {
  Question q;
  CHORUS_ASSIGN_OR_RETURN(q.product, ParseProduct(o.product));
  CHORUS_ASSIGN_OR_RETURN(q.mesh, Mesh::Parse(o.mesh));
  if (q.mesh.size() > kMostRanks) {
    return InvalidArgument(fmt::format("--mesh {} has {} ranks; at most {} can be explained",
                                       q.mesh.ToString(), q.mesh.size(), kMostRanks));
  }
  CHORUS_ASSIGN_OR_RETURN(q.sizes, ParseDimSizes(o.dims));
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
  if (!o.machine.on.empty()) {
    CHORUS_ASSIGN_OR_RETURN(Machine machine, answer::ChosenMachine(o.machine));
    CHORUS_ASSIGN_OR_RETURN(q.placement, MeshPlacement::Create(std::move(machine), q.mesh));
    CHORUS_ASSIGN_OR_RETURN(q.tariff.flops_per_byte, FlopsPerByteOn(*q.placement));
  }
  // Where it is run and no machine is named, chunks are as many as suit the cores of a host.
  if (o.overlap && o.run.run && !q.placement) q.tariff = kHostTariff;
  if (o.flops_per_byte) q.tariff.flops_per_byte = *o.flops_per_byte;
  if (!o.memory.empty()) {
    CHORUS_ASSIGN_OR_RETURN(q.most_memory, ParseBytes(o.memory));
  }
  for (const auto& [dim, size] : q.sizes) {
    const auto has = [&dim = dim](const Spec& spec) { return spec.FindDim(dim) >= 0; };
    if (std::none_of(q.product.operands.begin(), q.product.operands.end(), has)) {
      return InvalidArgument(fmt::format("--dims gives {} = {}, but {} has no dimension {}", dim,
                                         size, q.product.ToString(), dim));
    }
  }
  CHORUS_RETURN_IF_ERROR(CheckProduct(o.product, q.mesh, q.sizes));
  const WayLimits limits{q.placement ? &*q.placement : nullptr, q.most_memory, o.overlap};
  CHORUS_ASSIGN_OR_RETURN(q.answer,
                          ExplainProduct(q.product, q.mesh, q.sizes, q.dtype, q.tariff, limits));
  if (o.alternatives || q.placement) {
    CHORUS_ASSIGN_OR_RETURN(
        q.ways, WaysOf(q.product, q.answer.plans, q.mesh, q.sizes, q.dtype, q.tariff, limits));
  }
  q.break_evens = BreakEvensOf(q.product, q.answer.cases, q.mesh, q.sizes, q.dtype, q.tariff);
  return q;
}

// What rank 0 sends in one operation; where blocks change ranks, the busiest rank.
Bytes SentBy(const Question& q, const ProgramOp& op) {
  if (!SendsBytes(op.kind)) return Bytes(0);
  return MostSent(q.answer.program, op, q.mesh, q.sizes);
}

Json ToJson(const Question& q) {
  const StepProgram& program = q.answer.program;
  Json json = {{"product", q.product.ToString()}, {"mesh", q.mesh.ToString()},
               {"dtype", Name(q.dtype)},          {"flops_per_byte", q.tariff.flops_per_byte},
               {"case", q.answer.number},         {"result", q.answer.plans[0].Final().ToString()},
               {"plan", q.answer.plans[0].rule},  {"order", q.answer.plans[0].order}};
  for (const AxisCase& axis : q.answer.cases) {
    json["axes"].push_back({{"axis", axis.axis}, {"case", axis.number}, {"reason", axis.reason}});
  }
  std::int64_t sent = 0;
  json["steps"] = Json::array();
  for (const ProgramOp& op : program.ops()) {
    if (op.kind == ProgramOpKind::kFree) continue;
    const bool computes = op.kind == ProgramOpKind::kCompute;
    const std::int64_t bytes = SentBy(q, op).value();
    json["steps"].push_back(
        {{"operation", computes ? Name(op.compute) : Name(op.kind)},
         {"result", program.value(op.result).spec.ToString()},
         {"axes", JoinAxes(op.axes)},
         {"bytes_sent_per_rank", bytes},
         {"flops_per_rank", ProductFlops(program, op, q.mesh, q.sizes, 0).value()}});
    sent += bytes;
  }
  for (const ProgramValue& value : program.values()) {
    json["arrays"].push_back({{"array", value.spec.ToString()},
                              {"global_shape", GlobalShape(value.spec, q.sizes).sizes()},
                              {"local_shape", LocalShape(value, q.mesh, q.sizes, 0).sizes()},
                              {"bytes_per_rank", LocalBytes(value, q.mesh, q.sizes, 0).value()}});
  }
  json["bytes_sent_per_rank"] = sent;
  json["flops_per_rank"] = ProductFlops(program, q.mesh, q.sizes, 0).value();
  json["peak_memory_bytes_per_rank"] = PeakMemory(program, q.mesh, q.sizes, 0).peak.value();
  json["repeated_along"] = q.answer.plans[0].repeated;
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
  return json;
}

void PrintCases(const Question& q) {
  fmt::print("case {}: {}\n", q.answer.number, CaseTitle(q.answer.number));
  for (const AxisCase& axis : q.answer.cases) {
    fmt::print("  axis {} ({} ranks) {}: case {}\n", axis.axis, q.mesh.AxisSize(axis.axis),
               axis.reason, axis.number);
  }
  const ChainPlan& plan = q.answer.plans[0];
  if (plan.steps.size() > 1) {
    fmt::print("order: {}\n", plan.order);
    for (const ChainStep& step : plan.steps) {
      fmt::print("  {}: {}\n", step.plan.result.name(), step.plan.rule);
    }
  } else {
    fmt::print("plan: {}\n", plan.rule);
  }
  if (!q.product.wanted) fmt::print("result: {}, as the plan likes\n", plan.Final().ToString());
  if (!plan.repeated.empty()) {
    fmt::print("  all ranks along {} do the same product; the work is not shared along it\n",
               JoinAxes(plan.repeated));
  }
}

void PrintSteps(const Question& q) {
  const StepProgram& program = q.answer.program;
  fmt::print("\n{:<44}{:>14}{:>16}\n", "step", "FLOP per rank", "bytes sent");
  for (const ProgramOp& op : program.ops()) {
    if (op.kind == ProgramOpKind::kFree) continue;
    std::string text = ToString(program, op);
    const std::size_t type = text.find(": ");
    const std::size_t equals = text.find(" = ");
    text.erase(type, equals - type);  // the dtype is the same everywhere
    text.resize(std::min(text.size(), text.find(" into ")));
    fmt::print("{:<44}{:>14}{:>16}\n", text, ProductFlops(program, op, q.mesh, q.sizes, 0).value(),
               SentBy(q, op).value());
  }
}

void PrintArrays(const Question& q) {
  fmt::print("\n{:<24}{:<20}{:<20}{:>16}\n", "array", "global shape", "local shape",
             "bytes per rank");
  for (const ProgramValue& value : q.answer.program.values()) {
    fmt::print("{:<24}{:<20}{:<20}{:>16}\n", value.spec.ToString(),
               GlobalShape(value.spec, q.sizes).ToString(),
               LocalShape(value, q.mesh, q.sizes, 0).ToString(),
               LocalBytes(value, q.mesh, q.sizes, 0).value());
  }
}

// One drawing an array, where its last move or product has left it.
Status PrintDrawings(const Question& q) {
  for (const ProgramValue& value : q.answer.program.values()) {
    CHORUS_ASSIGN_OR_RETURN(const std::string drawn, DrawSpec(value.spec, q.mesh, q.sizes));
    fmt::print("\n{}   ranks by block; , another copy, + another addend\n{}", value.spec.ToString(),
               drawn);
  }
  return OkStatus();
}

void PrintTotals(const Question& q) {
  const StepProgram& program = q.answer.program;
  Bytes sent;
  for (const ProgramOp& op : program.ops()) sent += SentBy(q, op);
  const Bytes peak = PeakMemory(program, q.mesh, q.sizes, 0).peak;
  const Flops flops = ProductFlops(program, q.mesh, q.sizes, 0);
  fmt::print("\nrank 0, whose blocks are the largest:\n");
  fmt::print("  sends    {} bytes ({})\n", sent.value(), ToString(sent));
  fmt::print("  computes {} FLOP ({})\n", flops.value(), ToString(flops));
  fmt::print("  holds    {} bytes at most ({})\n", peak.value(), ToString(peak));
}

void PrintRejected(const Question& q) {
  const std::vector<ChainPlan>& plans = q.answer.plans;
  if (plans.size() > 1) {
    fmt::print("\nrejected, cheapest first (price = mean bytes sent + FLOP / {}; chosen: {:.0f})\n",
               q.tariff.flops_per_byte, Price(plans[0].cost, q.tariff));
    fmt::print("{:>16}{:>16}{:>16}  plan\n", "price", "mean sent", "FLOP per rank");
  }
  for (std::size_t i = 1; i < plans.size() && i <= kAlternativesShown; ++i) {
    fmt::print("{:>16.0f}{:>16}{:>16}  {}\n", Price(plans[i].cost, q.tariff),
               plans[i].cost.bytes_sent.value(), plans[i].cost.flops.value(), Describe(plans[i]));
  }
  if (plans.size() > kAlternativesShown + 1) {
    fmt::print("and {} more; see --json\n", plans.size() - kAlternativesShown - 1);
  }
}

void PrintSpellings(const Question& q) {
  if (!q.answer.spellings.empty()) {
    fmt::print("\n{} is still a sum to be done. Write one of\n",
               q.answer.plans[0].Final().ToString());
    for (const std::string& spelling : q.answer.spellings) fmt::print("  {}\n", spelling);
  }
}

Status Print(const Question& q, bool draw, std::size_t ways_shown) {
  fmt::print("{}   on {}, {}, {}\n\n", q.product.ToString(),
             q.mesh.axes().empty() ? "one rank" : q.mesh.ToString(), Name(q.dtype),
             ToString(q.sizes));
  PrintCases(q);
  PrintSteps(q);
  PrintArrays(q);
  PrintTotals(q);
  if (q.placement) {
    PrintPlacement(*q.placement);
    PrintTimes(q.ways[0]);
  }
  PrintBreakEvens(q.break_evens, q.tariff);
  if (q.ways.empty()) {
    PrintRejected(q);
  } else {
    PrintWays(q.ways, ways_shown);
  }
  PrintSpellings(q);
  return draw ? PrintDrawings(q) : OkStatus();
}

Status Explain(const Options& o, int& exit_code) {
  CHORUS_ASSIGN_OR_RETURN(const Question q, Read(o));
  if (o.draw && q.mesh.size() > kMostRanksDrawn) {
    return InvalidArgument(fmt::format("--draw shows at most {} ranks, but --mesh {} has {}",
                                       kMostRanksDrawn, q.mesh.ToString(), q.mesh.size()));
  }
  const RunRequest request{q.product, q.answer, q.mesh, q.sizes, q.dtype};
  if (o.run.run) CHORUS_RETURN_IF_ERROR(CheckRun(request));
  const Json json = o.json ? ToJson(q) : Json();
  if (!o.json) {
    CHORUS_RETURN_IF_ERROR(Print(q, o.draw, o.alternatives ? kWaysShown : kAlternativesShown + 1));
  } else if (!o.run.run) {
    fmt::print("{}\n", json.dump(2));
  }
  if (!o.run.run) return OkStatus();
  bool right = false;
  CHORUS_RETURN_IF_ERROR(RunExplained(request, o.run, o.json ? &json : nullptr, right));
  exit_code = right ? 0 : 1;
  return OkStatus();
}

}  // namespace

void AddExplain(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<Options>();
  CLI::App* explain =
      app.add_subcommand("explain", "Say what a sharded matrix product costs, and why");
  explain
      ->add_option("PRODUCT", o->product,
                   "'A[I, J_X] * B[J_X, K] -> C[I, K]', or a chain of up to 6 operands; "
                   "'-> C' may be left out")
      ->required();
  explain->add_option("--mesh", o->mesh, "Axes and their sizes, like X=2,Y=2")->required();
  explain->add_option("--dims", o->dims, "Sizes of the dimensions, like I=1024,J=1024,K=1024")
      ->required();
  explain->add_option("--dtype", o->dtype, "f32 (default), f64, f16 or bf16");
  explain->add_option("--flops-per-byte", o->flops_per_byte,
                      "FLOP a rank does while it sends a byte (default 2198, an H100 in its node; "
                      "with --on, its own)");
  explain->add_flag("--alternatives", o->alternatives,
                    "List the ways there are, best first, with bytes, memory and time");
  explain->add_flag("--overlap", o->overlap,
                    "Multiply chunks while others are on their way: a collective as a loop");
  explain->add_option("--memory", o->memory,
                      "Most memory of a rank, operands and result included, like 16GiB");
  AddMachineOptions(*explain, o->machine);
  CLI::Option* draw =
      explain->add_flag("--draw", o->draw, "Also draw which rank holds which block of each array");
  explain->add_flag("--json", o->json, "JSON instead of tables")->excludes(draw);
  AddRunOptions(*explain, o->run);
  explain->footer(
      "Example:\n"
      "  chorus explain 'A[I, J_X] * B[J_X, K] -> C[I, K]' --mesh X=4 "
      "--dims I=1024,J=1024,K=1024\n"
      "  chorus explain 'A[I_X, J] * B[J, K_Y] * D[K_Y, L]' --mesh X=2,Y=2 "
      "--dims I=64,J=64,K=64,L=64\n"
      "  chorus explain 'A[I_X, J] * B[J_X, K] -> C[I_X, K]' --mesh X=2 "
      "--dims I=2048,J=2048,K=2048 --run\n"
      "  chorus explain 'A[I, J] * B[J_X, K] -> C[I, K]' --mesh X=4,Y=8 --on h100-8x4 "
      "--dims I=512,J=8192,K=8192 --dtype bf16 --alternatives\n"
      "  chorus explain 'A[I_X, J] * B[J_X, K] -> C[I_X, K]' --mesh X=2 --overlap --run "
      "--dims I=2048,J=2048,K=2048\n"
      "With --run the exit code is 0 only if the result is that of the dense product and every "
      "rank\ndid what was predicted.");
  explain->callback([o, &outcome] { outcome.status = Explain(*o, outcome.exit_code); });
}

}  // namespace chorus::cli
