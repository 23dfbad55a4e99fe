#include "chorus/apps/cli/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "chorus/apps/answer/choose_schedule.h"
#include "chorus/apps/answer/simulate_answer.h"
#include "chorus/apps/cli/bench_plot.h"
#include "chorus/apps/cli/machine_option.h"
#include "chorus/apps/cli/option_rules.h"
#include "chorus/base/counted.h"
#include "chorus/base/rate.h"
#include "chorus/probe/write_file.h"

namespace chorus::cli {
namespace {

using answer::SimulateAnswer;
using answer::Simulated;
using answer::SimulateQuestion;
using answer::SizeText;
using answer::WholeBytes;

constexpr std::size_t kStepsShown = 12;
constexpr std::size_t kLinksShown = 6;

struct SimulateOptions {
  SimulateQuestion question;
  std::string trace;
  std::string plot;
  bool json = false;
};

// Those of the answer, and of what the command line alone offers.
const std::vector<answer::OptionRule>& RulesSimulate() {
  static const std::vector<answer::OptionRule> rules = [] {
    std::vector<answer::OptionRule> all = answer::SimulateRules();
    all.push_back({"--plot", answer::SizedCollectives()});
    all.push_back({"--compare", answer::AnyQuestion(), {"--trace"}});
    return all;
  }();
  return rules;
}

std::string StepText(const TimedStep& t) {
  const std::string what = t.peer < 0 ? fmt::format("{} on rank {}", Name(t.verb), t.rank)
                                      : fmt::format("rank {} -> {}", t.rank, t.peer);
  return fmt::format("{:>10} .. {:>10}  {}, {}", ToString(Seconds(t.begin)),
                     ToString(Seconds(t.end)), what, ToString(WholeBytes(t.bytes)));
}

void PrintPath(const std::vector<TimedStep>& path) {
  fmt::print("critical path, {}:\n", Counted(static_cast<std::int64_t>(path.size()), "step"));
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool shown = i < kStepsShown / 2 || i + kStepsShown / 2 >= path.size();
    if (shown) fmt::print("  {}\n", StepText(path[i]));
    if (i == kStepsShown / 2 && !shown)
      fmt::print("  ... and {} more\n", path.size() - kStepsShown);
  }
}

void Print(const Machine& machine, const Simulated& one) {
  const Simulation& s = one.result;
  const std::string size = one.op == OpKind::kBarrier ? "" : " of " + SizeText(one.bytes);
  fmt::print("{} {}{} on {}, {}: {}\n", one.name, Name(one.op), size, machine.name,
             Counted(one.call.group_size, "rank"), ToString(Seconds(s.seconds)));
  fmt::print("  {}\n", machine.topology.ToString());
  if (one.Algbw().value() > 0) {
    fmt::print("  algbw {}, busbw {}\n", ToString(one.Algbw()), ToString(one.Busbw()));
  }
  if (s.shift < one.call.group_size) {
    fmt::print("  by symmetry {} of {} ranks stand for all: ranks r, r + {}, ... are alike\n",
               s.shift, one.call.group_size, s.shift);
  }
  double first = s.seconds, last = 0;
  for (double finish : s.finish[0]) {
    first = std::min(first, finish);
    last = std::max(last, finish);
  }
  fmt::print("  ranks end from {} to {}; {}, {}\n", ToString(Seconds(first)),
             ToString(Seconds(last)), Counted(s.messages, "message"), Counted(s.events, "event"));
  fmt::print("busiest links:\n");
  for (std::size_t i = 0; i < std::min(s.links.size(), kLinksShown); ++i) {
    fmt::print("  {:>5.1f} %  {}  {}\n", 100 * s.links[i].busy,
               machine.topology.LinkName(s.links[i].link), ToString(WholeBytes(s.links[i].bytes)));
  }
  PrintPath(s.critical_path);
}

void PrintTable(const std::vector<Simulated>& all) {
  fmt::print("{:<20} {:>10} {:>10} {:>12} {:>12} {:>10}\n", "algorithm", "bytes", "time", "algbw",
             "busbw", "messages");
  for (const Simulated& one : all) {
    fmt::print("{:<20} {:>10} {:>10} {:>12} {:>12} {:>10}\n", one.name, SizeText(one.bytes),
               ToString(Seconds(one.result.seconds)), ToString(one.Algbw()), ToString(one.Busbw()),
               one.result.messages);
  }
}

Status WritePlot(const SimulateOptions& o, const Machine& machine,
                 const std::vector<Simulated>& all) {
  std::vector<TimePoint> points;
  for (const Simulated& one : all) {
    points.push_back({one.name, static_cast<double>(one.bytes.value()), one.result.seconds});
  }
  CHORUS_ASSIGN_OR_RETURN(
      const std::string svg,
      DrawTimes(fmt::format("{} on {}, {}, simulated", o.question.op, machine.name,
                            Counted(all[0].call.group_size, "rank")),
                points));
  return WriteFile(o.plot, svg, "--plot");
}

Status RunSimulate(const SimulateOptions& o, const CLI::App& command) {
  CHORUS_RETURN_IF_ERROR(answer::OperationNamed(o.question.op).status());
  CHORUS_RETURN_IF_ERROR(CheckOptions(command, RulesSimulate(), o.question.op));
  SimulateQuestion question = o.question;
  question.trace = !o.trace.empty();
  CHORUS_ASSIGN_OR_RETURN(const SimulateAnswer answer, Answer(question));
  const std::vector<Simulated>& all = answer.simulations;
  if (!o.trace.empty() && all.size() > 1) {
    return InvalidArgument("--trace is of one simulation; give one size");
  }
  if (!o.trace.empty()) {
    CHORUS_RETURN_IF_ERROR(WriteFile(o.trace, TraceJson(all[0].result), "--trace"));
  }
  if (!o.plot.empty()) CHORUS_RETURN_IF_ERROR(WritePlot(o, answer.machine, all));
  if (o.json) {
    fmt::print("{}\n", ToJson(answer).dump(2));
  } else if (all.size() > 1) {
    PrintTable(all);
    for (const std::string& line : answer.left_out) fmt::print("{}\n", line);
  } else {
    Print(answer.machine, all[0]);
  }
  return OkStatus();
}

}  // namespace

void AddSimulate(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<SimulateOptions>();
  CLI::App* simulate =
      app.add_subcommand("simulate", "Carry out a schedule on a machine, event by event");
  simulate->add_option("OPERATION", o->question.op, "all_reduce, all_gather, broadcast, ...")
      ->required();
  AddMachineOptions(*simulate, o->question.machine);
  simulate->add_option("--algorithm", o->question.algorithm,
                       "ring, direct, binomial, ... (default: ring)");
  simulate->add_option("--file", o->question.file, "The schedule text in this file instead");
  simulate->add_option("--bytes", o->question.bytes,
                       "Size as nccl-tests counts it: 1GB, 1KiB..1GiB, 1MB,2MB (default 1MiB)");
  simulate->add_option("--ranks", o->question.ranks, "Fewer than all devices");
  simulate->add_option("--root", o->question.root,
                       "Root of broadcast, reduce, gather, scatter (default 0)");
  simulate->add_option("--accumulator-ratio", o->question.accumulator_ratio,
                       "Bytes of a partial sum / of an element");
  simulate->add_option("--tile", o->question.tile,
                       "Blocks go in pieces of this size (default: whole)");
  simulate->add_option("--slow", o->question.slow,
                       "DEVICE:FACTOR, as 3:2; may be given several times");
  simulate->add_option("--jitter", o->question.jitter,
                       "Latencies vary by exp(J x normal): 0.1 is little");
  simulate->add_option("--seed", o->question.seed, "Of the jitter (default 1)");
  simulate->add_option("--local", o->question.local,
                       "Rate of reduce and copy, as 1TB/s (default: no time)");
  simulate->add_flag("--no-symmetry", o->question.no_symmetry, "Simulate every rank");
  simulate->add_option("--trace", o->trace, "Write a trace for chrome://tracing or Perfetto");
  simulate->add_flag("--compare", o->question.compare, "All algorithms, fastest first");
  simulate->add_option("--plot", o->plot, "Draw time over bytes into this SVG file");
  simulate->add_flag("--json", o->json, "JSON instead of text");
  simulate->footer(
      "Examples:\n"
      "  chorus simulate all_reduce --bytes 1GB --on h100-8x16\n"
      "  chorus simulate all_reduce --bytes 1MB --on h100-8 --slow 3:2 --trace slow.json\n"
      "  chorus simulate all_reduce --bytes 1KiB..1GiB --on h100-8 --compare --plot time.svg");
  GroupOptions(*simulate, RulesSimulate());
  simulate->callback([o, simulate, &outcome] { outcome.status = RunSimulate(*o, *simulate); });
}

}  // namespace chorus::cli
