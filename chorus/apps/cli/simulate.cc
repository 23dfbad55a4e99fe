#include "chorus/apps/cli/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "chorus/apps/cli/bench_plot.h"
#include "chorus/apps/cli/choose_schedule.h"
#include "chorus/apps/cli/machine_option.h"
#include "chorus/base/rate.h"
#include "chorus/cost/formula/formula.h"
#include "chorus/cost/simulate/simulate.h"
#include "chorus/probe/read_file.h"

namespace chorus::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kStepsShown = 12;
constexpr std::size_t kLinksShown = 6;

struct Options {
  std::string op;
  MachineOptions machine;
  std::string algorithm;
  std::string file;
  std::string bytes = "1MiB";
  std::optional<std::int64_t> ranks;
  std::int64_t root = 0;
  double accumulator_ratio = 1;
  std::string tile;
  std::vector<std::string> slow;  // "3:2"
  double jitter = 0;
  std::uint64_t seed = 1;
  std::string local;
  bool no_symmetry = false;
  std::string trace;
  bool compare = false;
  std::string plot;
  bool json = false;
};

// What is simulated: one schedule, or all of the operation.
Result<std::vector<Schedule>> Chosen(const Options& o, std::int64_t ranks, Bytes bytes) {
  if (!o.file.empty()) {
    CHORUS_ASSIGN_OR_RETURN(const std::string text,
                            ReadFile(o.file, "schedule", "give the path of a text file"));
    const Result<Schedule> schedule = Schedule::Parse(text);
    if (!schedule.ok()) return schedule.status().WithContext(o.file);
    return std::vector<Schedule>{*schedule};
  }
  if (!o.algorithm.empty()) {
    CHORUS_ASSIGN_OR_RETURN(const std::shared_ptr<const Algorithm> named,
                            AlgorithmNamed(o.algorithm, o.op));
    CHORUS_RETURN_IF_ERROR(named->Fits(ranks));
    return std::vector<Schedule>{named->Build()};
  }
  CHORUS_ASSIGN_OR_RETURN(const OpKind op, OperationNamed(o.op));
  std::vector<Schedule> all;
  if (o.compare) {
    for (const Algorithm* algorithm : AlgorithmsFor(op)) {
      if (algorithm->Fits(ranks).ok()) all.push_back(algorithm->Build());
    }
    return all;
  }
  // A ring where there is one, since it is what estimates speak of first.
  const auto ring = FindAlgorithm("ring", op);
  all.push_back(ring.ok() ? (*ring)->Build() : ChooseAlgorithm(op, ranks, bytes).Build());
  return all;
}

// "3:2": device 3, twice as slow.
Result<SlowDevice> ParseSlow(const std::string& text) {
  SlowDevice slow;
  const char* end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, slow.device);
  if (error == std::errc() && colon != end && *colon == ':') {
    const auto [stop, second] = std::from_chars(colon + 1, end, slow.factor);
    if (second == std::errc() && stop == end) return slow;
  }
  return InvalidArgument(
      fmt::format("--slow '{}' is no DEVICE:FACTOR; write for example 3:2", text));
}

Result<SimulateOptions> OptionsOf(const Options& o) {
  SimulateOptions options;
  options.symmetry = !o.no_symmetry;
  options.jitter = o.jitter;
  options.seed = o.seed;
  options.trace = !o.trace.empty();
  for (const std::string& text : o.slow) {
    CHORUS_ASSIGN_OR_RETURN(const SlowDevice slow, ParseSlow(text));
    options.slow_devices.push_back(slow);
  }
  if (!o.local.empty()) {
    const Result<BytesPerSecond> rate = ParseBandwidth(o.local);
    if (!rate.ok()) return rate.status().WithContext("--local");
    if (rate->value() <= 0) return InvalidArgument("--local must be above 0, as 1TB/s");
    options.local_seconds_per_byte = 1 / rate->value();
  }
  return options;
}

std::string StepText(const TimedStep& t) {
  const std::string what = t.peer < 0 ? fmt::format("{} on rank {}", Name(t.verb), t.rank)
                                      : fmt::format("rank {} -> {}", t.rank, t.peer);
  return fmt::format("{:>10} .. {:>10}  {}, {}", ToString(Seconds(t.begin)),
                     ToString(Seconds(t.end)), what,
                     ToString(Bytes(static_cast<std::int64_t>(t.bytes))));
}

void PrintPath(const std::vector<TimedStep>& path) {
  fmt::print("critical path, {} steps:\n", path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool shown = i < kStepsShown / 2 || i + kStepsShown / 2 >= path.size();
    if (shown) fmt::print("  {}\n", StepText(path[i]));
    if (i == kStepsShown / 2 && !shown)
      fmt::print("  ... and {} more\n", path.size() - kStepsShown);
  }
}

void Print(const Machine& machine, const Schedule& schedule, const SimulatedCall& call,
           const Simulation& s, Bytes bytes) {
  fmt::print("{} {} of {} on {}, {} ranks: {}\n", schedule.name(), Name(schedule.op()),
             SizeText(bytes), machine.name, call.group_size, ToString(Seconds(s.seconds)));
  fmt::print("  {}\n", machine.topology.ToString());
  if (s.seconds > 0) {
    const BytesPerSecond algbw = bytes / Seconds(s.seconds);
    fmt::print(
        "  algbw {}, busbw {}\n", ToString(algbw),
        ToString(BytesPerSecond(algbw.value() * BusFactor(Name(schedule.op()), call.group_size))));
  }
  if (s.shift < call.group_size) {
    fmt::print("  by symmetry {} of {} ranks stand for all: ranks r, r + {}, ... are alike\n",
               s.shift, call.group_size, s.shift);
  }
  double first = s.seconds, last = 0;
  for (double finish : s.finish[0]) {
    first = std::min(first, finish);
    last = std::max(last, finish);
  }
  fmt::print("  ranks end from {} to {}; {} messages, {} events\n", ToString(Seconds(first)),
             ToString(Seconds(last)), s.messages, s.events);
  fmt::print("busiest links:\n");
  for (std::size_t i = 0; i < std::min(s.links.size(), kLinksShown); ++i) {
    fmt::print("  {:>5.1f} %  {}  {}\n", 100 * s.links[i].busy,
               machine.topology.LinkName(s.links[i].link),
               ToString(Bytes(static_cast<std::int64_t>(s.links[i].bytes))));
  }
  PrintPath(s.critical_path);
}

Json ToJson(const Machine& machine, const Schedule& schedule, const SimulatedCall& call,
            const Simulation& s, Bytes bytes) {
  Json json = {{"algorithm", schedule.name()},  {"operation", Name(schedule.op())},
               {"machine", machine.name},       {"topology", machine.topology.ToString()},
               {"bytes", bytes.value()},        {"ranks", call.group_size},
               {"seconds", s.seconds},          {"orbit_shift", s.shift},
               {"messages", s.messages},        {"events", s.events},
               {"finish_seconds", s.finish[0]}, {"links", Json::array()},
               {"critical_path", Json::array()}};
  for (const LinkUse& use : s.links) {
    json["links"].push_back(
        {{"link", machine.topology.LinkName(use.link)}, {"bytes", use.bytes}, {"busy", use.busy}});
  }
  for (const TimedStep& t : s.critical_path) {
    json["critical_path"].push_back({{"verb", Name(t.verb)},
                                     {"rank", t.rank},
                                     {"peer", t.peer},
                                     {"bytes", t.bytes},
                                     {"begin_seconds", t.begin},
                                     {"end_seconds", t.end}});
  }
  return json;
}

// One schedule with one size.
struct Simulated {
  Schedule schedule;
  SimulatedCall call;  // its schedule is null
  Bytes bytes;
  Simulation result;
};

Result<SimulatedCall> CallOf(const Options& o, OpKind op, std::int64_t ranks, Bytes bytes) {
  SimulatedCall call;
  call.group_size = ranks;
  call.root = o.root;
  CHORUS_RETURN_IF_ERROR(CheckAccumulatorRatio(o.accumulator_ratio));
  call.payload.accumulator_ratio = o.accumulator_ratio;
  // Sizes are those of nccl-tests: of all_to_all what one rank sends, whose blocks are of pairs.
  const bool pairs = op == OpKind::kAllToAll;
  call.payload.bytes =
      static_cast<double>(bytes.value()) * (pairs ? static_cast<double>(ranks) : 1);
  if (!o.tile.empty()) {
    const Result<Bytes> tile = ParseBytes(o.tile);
    if (!tile.ok()) return tile.status().WithContext("--tile");
    call.payload.tile_bytes = static_cast<double>(tile->value());
  }
  return call;
}

// All schedules with all sizes, of each size the fastest first. Where several are compared those
// that are too much to simulate are left out, and named in `left_out`.
Result<std::vector<Simulated>> SimulateAll(const Options& o, const Machine& machine,
                                           std::string& left_out) {
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t ranks, RanksOn(machine, o.ranks));
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Bytes> sizes, ParseByteRange(o.bytes));
  CHORUS_ASSIGN_OR_RETURN(const SimulateOptions options, OptionsOf(o));
  std::vector<Simulated> all;
  for (const Bytes bytes : sizes) {
    CHORUS_ASSIGN_OR_RETURN(const std::vector<Schedule> schedules, Chosen(o, ranks, bytes));
    std::vector<Simulated> of_size;
    for (const Schedule& schedule : schedules) {
      CHORUS_ASSIGN_OR_RETURN(SimulatedCall call, CallOf(o, schedule.op(), ranks, bytes));
      call.schedule = &schedule;
      Result<Simulation> s = Simulate(machine.topology, {call}, options);
      call.schedule = nullptr;
      if (!s.ok() && schedules.size() == 1) return s.status();
      if (!s.ok()) {
        left_out += fmt::format("{} is left out: {}\n", schedule.name(), s.status().message());
        continue;
      }
      of_size.push_back({schedule, std::move(call), bytes, *std::move(s)});
    }
    std::stable_sort(of_size.begin(), of_size.end(), [](const auto& a, const auto& b) {
      return a.result.seconds < b.result.seconds;
    });
    for (Simulated& one : of_size) all.push_back(std::move(one));
  }
  if (all.empty()) return InvalidArgument(left_out);
  return all;
}

BytesPerSecond AlgBandwidth(const Simulated& one) {
  return one.result.seconds > 0 ? one.bytes / Seconds(one.result.seconds) : BytesPerSecond(0);
}

void PrintTable(const std::vector<Simulated>& all) {
  fmt::print("{:<20} {:>10} {:>10} {:>12} {:>12} {:>10}\n", "algorithm", "bytes", "time", "algbw",
             "busbw", "messages");
  for (const Simulated& one : all) {
    const double factor = BusFactor(Name(one.schedule.op()), one.call.group_size);
    fmt::print("{:<20} {:>10} {:>10} {:>12} {:>12} {:>10}\n", one.schedule.name(),
               SizeText(one.bytes), ToString(Seconds(one.result.seconds)),
               ToString(AlgBandwidth(one)),
               ToString(BytesPerSecond(AlgBandwidth(one).value() * factor)), one.result.messages);
  }
}

Status WritePlot(const Options& o, const Machine& machine, const std::vector<Simulated>& all) {
  std::vector<TimePoint> points;
  for (const Simulated& one : all) {
    points.push_back(
        {one.schedule.name(), static_cast<double>(one.bytes.value()), one.result.seconds});
  }
  CHORUS_ASSIGN_OR_RETURN(const std::string svg,
                          DrawTimes(fmt::format("{} on {}, {} ranks, simulated", o.op, machine.name,
                                                all[0].call.group_size),
                                    points));
  return WriteText("--plot", o.plot, svg);
}

Status Run(const Options& o) {
  CHORUS_ASSIGN_OR_RETURN(const Machine machine, ChosenMachine(o.machine));
  std::string left_out;
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Simulated> all, SimulateAll(o, machine, left_out));
  if (!o.trace.empty() && all.size() > 1) {
    return InvalidArgument("--trace is of one simulation; give one size, and no --compare");
  }
  if (!o.trace.empty()) {
    CHORUS_RETURN_IF_ERROR(WriteText("--trace", o.trace, TraceJson(all[0].result)));
  }
  if (!o.plot.empty()) CHORUS_RETURN_IF_ERROR(WritePlot(o, machine, all));
  if (all.size() > 1) {
    if (!o.json) {
      PrintTable(all);
      fmt::print("{}", left_out);
      return OkStatus();
    }
    Json json = Json::array();
    for (const Simulated& one : all) {
      json.push_back(ToJson(machine, one.schedule, one.call, one.result, one.bytes));
    }
    fmt::print("{}\n", json.dump(2));
    return OkStatus();
  }
  const Simulated& one = all[0];
  if (o.json) {
    fmt::print("{}\n", ToJson(machine, one.schedule, one.call, one.result, one.bytes).dump(2));
  } else {
    Print(machine, one.schedule, one.call, one.result, one.bytes);
  }
  return OkStatus();
}

}  // namespace

void AddSimulate(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<Options>();
  CLI::App* simulate =
      app.add_subcommand("simulate", "Carry out a schedule on a machine, event by event");
  simulate->add_option("OPERATION", o->op, "all_reduce, all_gather, broadcast, ...")->required();
  AddMachineOptions(*simulate, o->machine);
  simulate->add_option("--algorithm", o->algorithm, "ring, direct, binomial, ... (default: ring)");
  simulate->add_option("--file", o->file, "The schedule text in this file instead");
  simulate->add_option("--bytes", o->bytes,
                       "Size as nccl-tests counts it: 1GB, 1KiB..1GiB, 1MB,2MB (default 1MiB)");
  simulate->add_option("--ranks", o->ranks, "Fewer than all devices");
  simulate->add_option("--root", o->root, "Root of broadcast and reduce (default 0)");
  simulate->add_option("--accumulator-ratio", o->accumulator_ratio,
                       "Bytes of a partial sum / of an element");
  simulate->add_option("--tile", o->tile, "Blocks go in pieces of this size (default: whole)");
  simulate->add_option("--slow", o->slow, "DEVICE:FACTOR, as 3:2; may be given several times");
  simulate->add_option("--jitter", o->jitter, "Latencies vary by exp(J x normal): 0.1 is little");
  simulate->add_option("--seed", o->seed, "Of the jitter (default 1)");
  simulate->add_option("--local", o->local, "Rate of reduce and copy, as 1TB/s (default: no time)");
  simulate->add_flag("--no-symmetry", o->no_symmetry, "Simulate every rank");
  simulate->add_option("--trace", o->trace, "Write a trace for chrome://tracing or Perfetto");
  simulate->add_flag("--compare", o->compare, "All algorithms, fastest first");
  simulate->add_option("--plot", o->plot, "Draw time over bytes into this SVG file");
  simulate->add_flag("--json", o->json, "JSON instead of text");
  simulate->footer(
      "Examples:\n"
      "  chorus simulate all_reduce --bytes 1GB --on h100-8x16\n"
      "  chorus simulate all_reduce --bytes 1MB --on h100-8 --slow 3:2 --trace slow.json\n"
      "  chorus simulate all_reduce --bytes 1KiB..1GiB --on h100-8 --compare --plot time.svg");
  simulate->callback([o, &outcome] { outcome.status = Run(*o); });
}

}  // namespace chorus::cli
