#include "chorus/apps/cli/estimate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "chorus/apps/answer/estimate_answer.h"
#include "chorus/apps/cli/bench_plot.h"
#include "chorus/apps/cli/machine_option.h"
#include "chorus/apps/cli/option_rules.h"
#include "chorus/base/counted.h"
#include "chorus/base/rate.h"
#include "chorus/probe/write_file.h"

namespace chorus::cli {
namespace {

using answer::EstimateAnswer;
using answer::EstimateQuestion;
using answer::MeasuredBeside;
using answer::SizeOf;
using answer::SizeText;
using answer::WholeBytes;

struct EstimateOptions {
  EstimateQuestion question;
  std::string plot;
  bool json = false;
};

// Those of the answer, and of what the command line alone offers.
const std::vector<answer::OptionRule>& RulesEstimate() {
  static const std::vector<answer::OptionRule> rules = [] {
    std::vector<answer::OptionRule> all = answer::EstimateRules();
    all.push_back({"--plot", answer::SizedCollectives()});
    return all;
  }();
  return rules;
}

// One line a row, so that it can be read beside the others; --algorithm shows the reason of one.
void PrintTable(const std::vector<Estimate>& estimates) {
  fmt::print("{:<26} {:>10} {:>10} {:>12} {:>12} {:>10} {:>10}  {}\n", "algorithm", "bytes", "time",
             "algbw", "busbw", "bandwidth", "latency", "bound");
  for (const Estimate& e : estimates) {
    const std::string name =
        e.protocol.empty() ? e.algorithm : fmt::format("{} ({})", e.algorithm, e.protocol);
    fmt::print("{:<26} {:>10} {:>10} {:>12} {:>12} {:>10} {:>10}  {}\n", name, SizeText(SizeOf(e)),
               ToString(e.time), ToString(e.algbw), ToString(e.busbw), ToString(e.bandwidth),
               ToString(e.latency), e.Bound());
  }
  const auto fit = std::find_if(estimates.begin(), estimates.end(),
                                [](const Estimate& e) { return e.algorithm == "measured"; });
  if (fit != estimates.end()) {
    fmt::print("measured, {}: {}\n", SizeText(SizeOf(*fit)), fit->Reason());
  }
  if (const std::vector<std::string> names = answer::WithoutSchedule(estimates); !names.empty()) {
    fmt::print("formulas without a schedule: {}\n", fmt::join(names, ", "));
  }
  fmt::print("--algorithm NAME with one size, or --json, shows the reason\n");
}

void PrintOne(const EstimateQuestion& o, const EstimateAnswer& asked) {
  const Estimate& e = asked.estimates[0];
  const std::string size = o.op == "barrier" ? "" : " of " + SizeText(SizeOf(e));
  fmt::print("{}{} on {}, {}: {}\n", o.op, size, asked.machine.name,
             Counted(asked.wiring.ranks, "rank"), ToString(e.time));
  fmt::print("  {}\n", asked.machine.topology.ToString());
  if (e.algorithm == "measured") {
    fmt::print("  as measured on this machine:\n");
  } else {
    fmt::print("  {}{}, latency model {}:\n", e.algorithm,
               e.protocol.empty() ? "" : " with " + e.protocol, Name(e.model));
  }
  if (!answer::WithoutSchedule({e}).empty()) {
    const Result<const Formula*> formula = FindFormula(e.op, e.algorithm);
    fmt::print("    a formula without a schedule{}\n",
               formula.ok() ? ": " + std::string((*formula)->idea) : "");
  }
  for (const Term& term : e.terms) fmt::print("    {}\n", term.reason);
  fmt::print("    {}; algbw {}, busbw {}\n", e.Bound(), ToString(e.algbw), ToString(e.busbw));
  const LowerBound& bound = asked.lower_bounds[0];
  if (asked.wiring.ranks > 1) fmt::print("  lower bound: {}\n", bound.reason);
  const LinkSpec link = asked.wiring.RingLink();
  if (asked.wiring.ranks > 1) {
    fmt::print("  below latency x bandwidth = {} a message is bound by latency\n",
               ToString(WholeBytes(link.latency.value() * link.bandwidth.value())));
  }
  if (o.op == "all_reduce" && asked.wiring.ranks > 1) {
    fmt::print("  below V* = N x latency x bandwidth = {} a ring is bound by latency\n",
               ToString(WholeBytes(RingKnee(asked.wiring))));
  }
  if (asked.fastest && asked.fastest->algorithm != e.algorithm && asked.fastest->time < e.time) {
    // The formulas know the links, not what this machine's measurements say of them.
    fmt::print("  fastest by formula{}: {}, {}; --compare shows all\n",
               e.algorithm == "measured" ? " (which is not calibrated)" : "",
               asked.fastest->algorithm, ToString(asked.fastest->time));
  }
}

void PrintMeasured(const EstimateAnswer& asked, const MeasuredBeside& m) {
  fmt::print("  measured {}: algbw {}, busbw = algbw x {:.4g} = {}", ToString(m.time),
             ToString(m.algbw), m.factor, ToString(m.busbw));
  fmt::print("{}\n", std::isfinite(m.times) ? fmt::format("; {:.3g} x the estimate", m.times) : "");
  const BytesPerSecond link = asked.wiring.DeviceBandwidth();
  if (asked.wiring.nodes == 1 && m.busbw > link) {
    fmt::print(
        "  busbw is above the {} that leave a device: busbw supposes a ring, and a tree or a "
        "switch that reduces moves less\n",
        ToString(link));
  }
}

Status WritePlot(const EstimateOptions& o, const EstimateAnswer& asked) {
  std::vector<TimePoint> points;
  for (const Estimate& e : asked.estimates)
    points.push_back({e.algorithm, e.bytes, e.time.value()});
  CHORUS_ASSIGN_OR_RETURN(const std::string svg,
                          DrawTimes(fmt::format("{} on {}, {}", o.question.op, asked.machine.name,
                                                Counted(asked.wiring.ranks, "rank")),
                                    points));
  return WriteFile(o.plot, svg, "--plot");
}

Status RunEstimate(const EstimateOptions& o, const CLI::App& command) {
  CHORUS_RETURN_IF_ERROR(answer::CheckEstimateOperation(o.question.op));
  CHORUS_RETURN_IF_ERROR(CheckOptions(command, RulesEstimate(), o.question.op));
  CHORUS_ASSIGN_OR_RETURN(const EstimateAnswer all, Answer(o.question));
  if (!o.plot.empty()) CHORUS_RETURN_IF_ERROR(WritePlot(o, all));
  if (o.json) {
    fmt::print("{}\n", ToJson(all).dump(2));
  } else if (all.compute) {
    fmt::print("{}", all.compute->text);
  } else if (all.estimates.size() == 1) {
    PrintOne(o.question, all);
    if (all.measured) PrintMeasured(all, *all.measured);
  } else {
    PrintTable(all.estimates);
  }
  if (!o.json) {
    for (const std::string& remark : all.remarks) fmt::print("{}\n", remark);
  }
  return OkStatus();
}

}  // namespace

void AddEstimate(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<EstimateOptions>();
  CLI::App* estimate =
      app.add_subcommand("estimate", "Work out what a collective costs, by formula, and why");
  estimate
      ->add_option("OPERATION", o->question.op,
                   "all_reduce, all_gather, ...; or product, layer, training, read")
      ->required();
  AddMachineOptions(*estimate, o->question.machine);
  estimate->add_option("--bytes", o->question.bytes,
                       "Size as nccl-tests counts it: 16GB, 1KiB..1GiB (powers of two), 1MB,2MB");
  estimate->add_option("--ranks", o->question.ranks, "Fewer than all devices, node after node");
  estimate->add_option("--root", o->question.root,
                       "Root of broadcast, reduce, gather, scatter (default 0)");
  estimate->add_option("--algorithm", o->question.algorithm,
                       "ring, tree, torus, sharp, ... (default: usual)");
  estimate->add_option("--model", o->question.model, "Latency model: sum (default), max, nccl");
  estimate->add_option("--accumulator-ratio", o->question.accumulator_ratio,
                       "Bytes of a partial sum / of an element: 2 for bf16 summed in f32");
  estimate->add_option("--measured", o->question.measured,
                       "A time that was measured, to set beside it");
  estimate->add_option("--dims", o->question.dims,
                       "product: B,D,F,X; layer: B,S,D,F and H,K,C,G; training: P and L,B,S,D,E,M");
  estimate->add_option("--element", o->question.element,
                       "Bytes of an element of --dims (default 2)");
  estimate->add_flag("--compare", o->question.compare, "All algorithms, fastest first");
  estimate->add_option("--plot", o->plot, "Draw time over bytes into this SVG file");
  estimate->add_flag("--json", o->json, "JSON instead of text");
  estimate->footer(
      "Bandwidth is per direction everywhere.\n"
      "Examples:\n"
      "  chorus estimate all_reduce --bytes 16GB --on h100-8\n"
      "  chorus estimate all_reduce --bytes 1KiB..1GiB --on h100-8x4 --compare --plot time.svg\n"
      "  chorus estimate all_gather --bytes 128KiB --on v5e-4 --model max\n"
      "  chorus estimate product --dims B=4096,D=8192,F=28672,X=4 --on v5p-4x4x4\n"
      "  chorus estimate layer --dims B=32,S=1,D=8192,F=28672,H=64,K=8,C=4096 --on h100\n"
      "  chorus estimate training --dims P=70000000000,L=80 --on h100-8x8");
  GroupOptions(*estimate, RulesEstimate());
  estimate->callback([o, estimate, &outcome] { outcome.status = RunEstimate(*o, *estimate); });
}

}  // namespace chorus::cli
