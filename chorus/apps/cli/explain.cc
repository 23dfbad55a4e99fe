#include "chorus/apps/cli/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "chorus/apps/answer/explain_answer.h"
#include "chorus/apps/cli/explain_run.h"
#include "chorus/apps/cli/explain_ways.h"
#include "chorus/apps/cli/machine_option.h"
#include "chorus/apps/cli/title_column.h"
#include "chorus/mesh/draw.h"
#include "chorus/program/account.h"
#include "chorus/program/chunked.h"

namespace chorus::cli {
namespace {

using answer::ExplainAnswer;
using answer::ExplainQuestion;

constexpr std::size_t kAlternativesShown = 5;
constexpr std::size_t kWaysShown = 40;  // with --alternatives

struct ExplainOptions {
  ExplainQuestion question;
  bool draw = false;
  bool json = false;
  RunOptions run;
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

void PrintCases(const ExplainAnswer& q) {
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

void PrintSteps(const ExplainAnswer& q) {
  const StepProgram& program = q.answer.program;
  std::vector<std::string> titles;
  for (const ProgramOp& op : program.ops()) titles.push_back(answer::OpText(program, op));
  const TitleColumn column(titles, 44);
  fmt::print("\n{}{:>14}{:>16}\n", column.Cell("step"), "FLOP per rank", "bytes sent");
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const ProgramOp& op = program.ops()[i];
    if (op.kind == ProgramOpKind::kFree) continue;
    fmt::print("{}{:>14}{:>16}\n", column.Cell(titles[i]),
               ProductFlops(program, op, q.mesh, q.sizes, 0).value(),
               answer::SentBy(q, op).value());
  }
}

void PrintArrays(const ExplainAnswer& q) {
  std::vector<std::string> titles;
  std::size_t shape_width = 20;  // the whole's is the longer of the two
  for (const ProgramValue& value : q.answer.program.values()) {
    titles.push_back(value.spec.ToString());
    shape_width = std::max(shape_width, GlobalShape(value.spec, q.sizes).ToString().size() + 2);
  }
  const TitleColumn column(titles, 24);
  fmt::print("\n{}{:<{}}{:<{}}{:>16}\n", column.Cell("array"), "global shape", shape_width,
             "local shape", shape_width, "bytes per rank");
  for (const ProgramValue& value : q.answer.program.values()) {
    fmt::print("{}{:<{}}{:<{}}{:>16}\n", column.Cell(value.spec.ToString()),
               GlobalShape(value.spec, q.sizes).ToString(), shape_width,
               LocalShape(value, q.mesh, q.sizes, 0).ToString(), shape_width,
               LocalBytes(value, q.mesh, q.sizes, 0).value());
  }
}

// One drawing an array, where its last move or product has left it.
Status PrintDrawings(const ExplainAnswer& q) {
  for (const ProgramValue& value : q.answer.program.values()) {
    CHORUS_ASSIGN_OR_RETURN(const std::string drawn, DrawSpec(value.spec, q.mesh, q.sizes));
    fmt::print("\n{}   ranks by block; , another copy, + another addend\n{}", value.spec.ToString(),
               drawn);
  }
  return OkStatus();
}

void PrintTotals(const ExplainAnswer& q) {
  const StepProgram& program = q.answer.program;
  Bytes sent;
  for (const ProgramOp& op : program.ops()) sent += answer::SentBy(q, op);
  const Bytes peak = MostMemory(program, q.mesh, q.sizes);
  const Flops flops = ProductFlops(program, q.mesh, q.sizes, 0);
  fmt::print("\nrank 0, whose blocks are the largest:\n");
  fmt::print("  sends    {} bytes ({})\n", sent.value(), ToString(sent));
  fmt::print("  computes {} FLOP ({})\n", flops.value(), ToString(flops));
  fmt::print("  holds    {} bytes at most ({})\n", peak.value(), ToString(peak));
}

void PrintRejected(const ExplainAnswer& q) {
  const std::vector<ChainPlan>& plans = q.answer.plans;
  const bool looped = HasShifts(q.answer.program);
  if (plans.size() > 1) {
    fmt::print("\nrejected, {} first ({}; chosen: {:.0f})\n",
               looped ? "what takes least time with what can be hidden" : "cheapest",
               PriceText(q.tariff, !q.product.wanted), Price(plans[0].cost, q.tariff));
    fmt::print("{:>16}{:>16}{:>16}  plan\n", "price", "mean sent", "FLOP per rank");
  }
  for (std::size_t i = 1; i < plans.size() && i <= kAlternativesShown; ++i) {
    fmt::print("{:>16.0f}{:>16}{:>16}  {}\n", Price(plans[i].cost, q.tariff),
               plans[i].cost.bytes_sent.value(), plans[i].cost.flops.value(), Describe(plans[i]));
  }
  if (plans.size() > kAlternativesShown + 1) {
    fmt::print("and {} more{}; see --json\n", plans.size() - kAlternativesShown - 1,
               q.answer.are_all ? "" : fmt::format(" of the {} cheapest", kWaysListed));
  }
}

void PrintSpellings(const ExplainAnswer& q) {
  if (!q.answer.spellings.empty()) {
    fmt::print("\n{} is still a sum to be done. Write one of\n",
               q.answer.plans[0].Final().ToString());
    for (const std::string& spelling : q.answer.spellings) fmt::print("  {}\n", spelling);
  }
}

Status Print(const ExplainAnswer& q, bool draw, std::size_t ways_shown) {
  fmt::print("{}   on {}, {}, {}\n\n", q.product.ToString(),
             q.mesh.axes().empty() ? "one rank" : q.mesh.ToString(), Name(q.dtype),
             ToString(q.sizes));
  PrintCases(q);
  PrintSteps(q);
  PrintArrays(q);
  PrintTotals(q);
  if (q.placement) {
    CHORUS_RETURN_IF_ERROR(PrintPlacement(*q.placement, q.dtype));
    PrintTimes(q.ways[0]);
  }
  PrintBreakEvens(q.break_evens, q.tariff);
  if (q.ways.empty()) {
    PrintRejected(q);
  } else {
    PrintWays(q.ways, q.tariff, !q.product.wanted, ways_shown);
  }
  PrintGradients(q.gradients);
  PrintSpellings(q);
  return draw ? PrintDrawings(q) : OkStatus();
}

Status Explain(const ExplainOptions& o, int& exit_code) {
  ExplainQuestion question = o.question;
  question.on_this_host = o.run.run;
  CHORUS_ASSIGN_OR_RETURN(const ExplainAnswer q, Answer(question));
  if (o.draw && q.mesh.size() > kMostRanksDrawn) {
    return InvalidArgument(fmt::format("--draw shows at most {} ranks, but --mesh {} has {}",
                                       kMostRanksDrawn, q.mesh.ToString(), q.mesh.size()));
  }
  const RunRequest request{q.product, q.answer, q.mesh, q.sizes, q.dtype};
  if (o.run.run) CHORUS_RETURN_IF_ERROR(CheckRun(request));
  const answer::Json json = o.json ? ToJson(q) : answer::Json();
  if (!o.json) {
    CHORUS_RETURN_IF_ERROR(
        Print(q, o.draw, o.question.alternatives ? kWaysShown : kAlternativesShown + 1));
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
  auto o = std::make_shared<ExplainOptions>();
  CLI::App* explain =
      app.add_subcommand("explain", "Say what a sharded matrix product costs, and why");
  explain
      ->add_option("PRODUCT", o->question.product,
                   "'A[I, J_X] * B[J_X, K] -> C[I, K]', or a chain of up to 6 operands; "
                   "'-> C' may be left out; for * also . \u00b7 or \u00d7, for -> also \u2192")
      ->required();
  explain->add_option("--mesh", o->question.mesh, "Axes and their sizes, like X=2,Y=2")->required();
  explain
      ->add_option("--dims", o->question.dims, "Sizes of the dimensions, like I=1024,J=1024,K=1024")
      ->required();
  explain->add_option("--dtype", o->question.dtype, "f32 (default), f64, f16 or bf16");
  explain->add_option("--flops-per-byte", o->question.flops_per_byte,
                      "FLOP a rank does while it sends a byte (default 2198, an H100 in its node; "
                      "with --on, its own; with --overlap --run, this host's)");
  explain->add_flag("--alternatives", o->question.alternatives,
                    "List the ways there are, best first, with bytes, memory and time");
  explain->add_flag("--gradients", o->question.gradients,
                    "Also the gradient of each operand: its product, plan, bytes and time");
  explain->add_flag("--overlap", o->question.overlap,
                    "Multiply chunks while others are on their way: a collective as a loop");
  explain->add_option("--memory", o->question.memory,
                      "Most memory of a rank, operands and result included, like 16GiB");
  AddMachineOptions(*explain, o->question.machine);
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
