#include "chorus/apps/cli/explain_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "chorus/apps/cli/command.h"
#include "chorus/apps/cli/explain_ways.h"
#include "chorus/apps/cli/rank_table.h"
#include "chorus/apps/cli/title_column.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/probe/memory.h"
#include "chorus/probe/speeds.h"
#include "chorus/program/account.h"
#include "chorus/shard/traffic.h"
#include "chorus/tensor/runtime.h"
#include "chorus/tensor/trial.h"

namespace chorus::cli {
namespace {

// Bytes of f64 copies that the check makes of every element of every array, with reorderings.
constexpr std::int64_t kCheckBytes = 32;
// What a rank takes besides, and for each rank that it has channels to: measured on 8 to 48 ranks.
constexpr double kRankBytes = 8e6;
constexpr double kPeerBytes = 0.64e6;

// What passes in one operation through the core of a rank: what it sends or, in an all_gather, all
// that it joins, its own block too.
Bytes PassedBy(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
               const DimSizes& sizes) {
  if (op.kind == ProgramOpKind::kShift) return ShiftedBytes(program, op, mesh, sizes, 0);
  const CollectiveShape shape = ShapeOf(program, op, mesh, sizes, 0);
  const Bytes sent = BytesSent(op.kind, shape);
  if (op.kind != ProgramOpKind::kAllGather || shape.group.size() == 1) return sent;
  return std::max(sent, Bytes(shape.elements * SizeOf(shape.dtype)));
}

// How long the largest rank's part of one operation takes by what the host does; empty where there
// is no figure.
std::optional<Seconds> Predicted(const RunRequest& q, const HostSpeeds& host, const ProgramOp& op) {
  const StepProgram& program = q.answer.program;
  const double ranks_a_core =
      std::max(1.0, static_cast<double>(q.mesh.size()) / static_cast<double>(host.cores));
  if (SendsBytes(op.kind)) {
    const Bytes passed = PassedBy(program, op, q.mesh, q.sizes);
    // What is longer does not lie in a cache, and all ranks copy at the same time.
    const BytesPerSecond rate = passed > Bytes(kHandedOver) ? host.copy : host.hand_over;
    return Seconds(((passed / rate).value() + host.one_way.value()) * ranks_a_core);
  }
  if (op.kind != ProgramOpKind::kCompute || q.dtype != DType::kF32) return std::nullopt;
  const Flops flops = ProductFlops(program, op, q.mesh, q.sizes, 0);
  return Seconds((flops / host.product).value() * ranks_a_core);
}

std::string StepText(const StepProgram& program, const ProgramOp& op) {
  const std::string& result = program.value(op.result).name();
  std::string operands;
  for (const ValueId id : op.operands) {
    operands += (operands.empty() ? "" : ", ") + program.value(id).name();
  }
  return fmt::format("{} = {}({}{})", result,
                     op.kind == ProgramOpKind::kCompute ? Name(op.compute) : Name(op.kind),
                     operands, op.axes.empty() ? "" : ", " + JoinAxes(op.axes));
}

std::string RateText(const RunRequest& q, Seconds time) {
  double flops = 0;
  for (std::int64_t rank = 0; rank < q.mesh.size(); ++rank) {
    flops += static_cast<double>(ProductFlops(q.answer.program, q.mesh, q.sizes, rank).value());
  }
  return fmt::format("{:.1f} GFLOP/s", flops / time.value() / 1e9);
}

std::string CheckText(const DenseCheck& check) {
  const std::string what =
      check.checked == check.elements
          ? fmt::format("all {} elements", Grouped(check.elements))
          : fmt::format("{} of {} elements", Grouped(check.checked), Grouped(check.elements));
  if (!check.right()) {
    return fmt::format("WRONG: {} of {} differ from the dense product; {}", Grouped(check.wrong),
                       what, check.first_wrong);
  }
  if (check.allowed == 0) return fmt::format("right: {} equal the dense product", what);
  return fmt::format(
      "right: {} are within {:.3g} of the dense product, whose largest is {:.3g}; rounding allows "
      "{:.3g}",
      what, check.largest_error, check.largest_value, check.allowed);
}

void PrintTimes(const RunRequest& q, const HostSpeeds& host, const Trial& trial) {
  const StepProgram& program = q.answer.program;
  std::vector<std::string> titles;
  for (const ProgramOp& op : program.ops()) {
    titles.push_back(op.kind == ProgramOpKind::kFree ? "" : StepText(program, op));
  }
  const TitleColumn column(titles, 48, "  ");
  fmt::print("\n{}{:>12}{:>12}\n", column.Cell("time of the slowest rank"), "predicted",
             "measured");
  Seconds sum;
  bool known = true;  // every part of the sum
  for (std::size_t i = 0; i < program.ops().size(); ++i) {
    const ProgramOp& op = program.ops()[i];
    if (op.kind == ProgramOpKind::kFree) continue;
    const std::optional<Seconds> predicted = Predicted(q, host, op);
    fmt::print("{}{:>12}{:>12}\n", column.Cell(titles[i]), predicted ? ToString(*predicted) : "-",
               ToString(trial.op_times[i]));
    if (predicted) sum += *predicted;
    known = known && (predicted || op.kind == ProgramOpKind::kSlice);
  }
  fmt::print("{}{:>12}{:>12}\n", column.Cell("in all"), known ? ToString(sum) : "-",
             ToString(trial.total));
  if (HasShifts(program)) {
    fmt::print(
        "  a shift is measured until it is seen to be done, whatever is computed meanwhile\n");
  }
  fmt::print(
      "  predicted by what this host did just now: f32 products {:.0f} GFLOP/s a core, {:.3g} GB/s "
      "from core\n  to core, {:.3g} GB/s where caches are too small; {} cores\n",
      host.product.value() / 1e9, host.hand_over.value() / 1e9, host.copy.value() / 1e9,
      host.cores);
}

void PrintTrial(const RunRequest& q, const RunOptions& o, const HostSpeeds& host,
                const Trial& trial) {
  fmt::print("\nrun on {} rank{} ({}), {} times after one to warm up: {} ({})\n", q.mesh.size(),
             q.mesh.size() == 1 ? "" : "s", o.processes ? "processes" : "threads", o.repetitions,
             ToString(trial.total), RateText(q, trial.total));
  PrintTimes(q, host, trial);
  fmt::print("\n{}\n{}\n", RankTable(trial.ranks, "run"), CheckText(trial.check));
}

nlohmann::ordered_json TrialJson(const RunRequest& q, const RunOptions& o, const HostSpeeds& host,
                                 const Trial& trial) {
  const StepProgram& program = q.answer.program;
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < program.ops().size(); ++i) {
    const ProgramOp& op = program.ops()[i];
    if (op.kind == ProgramOpKind::kFree) continue;
    const std::optional<Seconds> predicted = Predicted(q, host, op);
    steps.push_back({{"step", StepText(program, op)},
                     {"predicted_seconds", predicted ? nlohmann::ordered_json(predicted->value())
                                                     : nlohmann::ordered_json()},
                     {"measured_seconds", trial.op_times[i].value()}});
  }
  const DenseCheck& check = trial.check;
  return {{"ranks", q.mesh.size()},
          {"kind", o.processes ? "processes" : "threads"},
          {"repetitions", o.repetitions},
          {"seconds", trial.total.value()},
          {"steps", steps},
          {"host",
           {{"product_flops_per_second", host.product.value()},
            {"hand_over_bytes_per_second", host.hand_over.value()},
            {"copy_bytes_per_second", host.copy.value()},
            {"cores", host.cores}}},
          {"counts", RanksJson(trial.ranks, "run")},
          {"checked_elements", check.checked},
          {"elements", check.elements},
          {"wrong_elements", check.wrong},
          {"largest_error", check.largest_error},
          {"allowed_error", check.allowed},
          {"right", trial.right()}};
}

}  // namespace

void AddRunOptions(CLI::App& explain, RunOptions& options) {
  CLI::Option* run = explain.add_flag(
      "--run", options.run, "Do it on ranks of this host and compare with the dense product");
  explain.add_flag("--processes", options.processes, "Ranks are processes, not threads")
      ->needs(run);
  explain.add_option("--repetitions", options.repetitions, "Runs, of which medians are shown")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000))
      ->needs(run);
  options.trace.AddTo(explain)->needs(run);
}

Status CheckRun(const RunRequest& q) {
  if (q.dtype == DType::kF16) {
    return InvalidArgument("--run: --dtype f16 has no kernels; write f32, f64 or bf16");
  }
  if (q.mesh.size() > kMostLocalRanks) {
    return InvalidArgument(fmt::format("--run: --mesh {} has {} ranks; at most {} run on one host",
                                       q.mesh.ToString(), q.mesh.size(), kMostLocalRanks));
  }
  // May be more than 64 bits count. A rank has channels to every other one, and buffers of its own.
  const auto ranks = static_cast<double>(q.mesh.size());
  double bytes = q.mesh.size() == 1 ? 0 : ranks * (kRankBytes + ranks * kPeerBytes);
  for (std::int64_t rank = 0; rank < q.mesh.size(); ++rank) {
    bytes += static_cast<double>(PeakMemory(q.answer.program, q.mesh, q.sizes, rank).peak.value());
    for (const Spec& operand : q.product.operands) {
      bytes += static_cast<double>(GlobalShape(operand, q.sizes).elements()) * kCheckBytes;
    }
  }
  const auto memory = static_cast<double>(HostMemory().value());
  if (bytes <= memory) return OkStatus();
  return InvalidArgument(
      fmt::format("--run: {} ranks and their check take about {:.3g} GB, but this host has {:.3g} "
                  "GB of memory; give smaller --dims or fewer ranks",
                  q.mesh.size(), bytes / 1e9, memory / 1e9));
}

Status RunExplained(const RunRequest& q, const RunOptions& o, const nlohmann::ordered_json* json,
                    bool& right) {
  CHORUS_ASSIGN_OR_RETURN(const HostSpeeds host, MeasureHostSpeeds());
  CHORUS_RETURN_IF_ERROR(o.trace.Begin());
  std::fflush(stdout);  // forked ranks must not print it again
  const auto ranks = static_cast<int>(q.mesh.size());
  const Result<std::vector<std::string>> outcome = CollectFromRanks(
      ranks, o.processes ? RankKind::kProcesses : RankKind::kThreads,
      [&](Group& world) -> Result<std::string> {
        ShareCores(world.size());
        CHORUS_ASSIGN_OR_RETURN(const auto runtime, Runtime::Create(world, q.mesh, {}));
        CHORUS_ASSIGN_OR_RETURN(const Trial trial, TryProduct(*runtime, q.product, q.answer,
                                                              q.sizes, q.dtype, o.repetitions));
        if (world.rank() == 0 && json == nullptr) PrintTrial(q, o, host, trial);
        if (world.rank() == 0 && json != nullptr) {
          nlohmann::ordered_json all = *json;
          all["run"] = TrialJson(q, o, host, trial);
          fmt::print("{}\n", all.dump(2));
        }
        std::fflush(stdout);
        return std::string(trial.right() ? "right" : "");
      });
  Status traced = o.trace.End(ranks);
  CHORUS_RETURN_IF_ERROR(outcome.status());
  right = !(*outcome)[0].empty();
  return traced;
}

}  // namespace chorus::cli
