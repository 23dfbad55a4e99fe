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
#include "chorus/apps/cli/option_rules.h"
#include "chorus/base/counted.h"
#include "chorus/base/rate.h"
#include "chorus/cost/formula/formula.h"
#include "chorus/cost/simulate/simulate.h"
#include "chorus/probe/read_file.h"
#include "chorus/probe/write_file.h"

namespace chorus::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostSimulatedRanks = std::int64_t{1} << 18;  // in seconds and 1 GiB
constexpr std::size_t kStepsShown = 12;
constexpr std::size_t kLinksShown = 6;

// Which options go with which operations.
const std::vector<OptionRule>& Rules() {
  static const std::vector<OptionRule> rules = {
      {"--bytes", SizedCollectives()},
      {"--root", RootedCollectives()},
      {"--accumulator-ratio", ReducingCollectives()},
      {"--tile", SizedCollectives()},
      {"--plot", SizedCollectives()},
      {"--compare", AnyQuestion(), {"--algorithm", "--file", "--trace"}},
      {"--file", AnyQuestion(), {"--algorithm"}},
      {"--seed", AnyQuestion(), {}, "--jitter"},
  };
  return rules;
}

struct Options {
  std::string op;
  MachineOptions machine;
  std::string algorithm;
  std::string file;
  std::string bytes;  // empty: 1 MiB, and of a barrier none
  std::optional<std::int64_t> ranks;
  std::int64_t root = 0;
  double accumulator_ratio = 1;
  std::string tile;
  std::vector<std::string> slow;  // "3:2"
  double jitter = 0;
  std::string seed;  // empty: 1
  std::string local;
  bool no_symmetry = false;
  std::string trace;
  bool compare = false;
  std::string plot;
  bool json = false;
};

// A schedule and what it is called on the command line: "two_level:4".
struct Named {
  std::string name;
  Schedule schedule;
};

Result<Schedule> ReadSchedule(const Options& o) {
  CHORUS_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(o.file, "schedule", "give the path of a text file"));
  Result<Schedule> schedule = Schedule::Parse(text);
  if (!schedule.ok()) return schedule.status().WithContext(o.file);
  if (Name(schedule->op()) == o.op) return schedule;
  return InvalidArgument(fmt::format("{} is a schedule of {}; write chorus simulate {} --file {}",
                                     o.file, Name(schedule->op()), Name(schedule->op()), o.file));
}

// What is simulated: one schedule, or all of the operation.
Result<std::vector<Named>> Chosen(const Options& o, std::int64_t ranks, Bytes bytes) {
  if (!o.file.empty()) {
    CHORUS_ASSIGN_OR_RETURN(Schedule schedule, ReadSchedule(o));
    return std::vector<Named>{{schedule.name(), std::move(schedule)}};
  }
  if (!o.algorithm.empty()) {
    CHORUS_ASSIGN_OR_RETURN(const std::shared_ptr<const Algorithm> named,
                            AlgorithmNamed(o.algorithm, o.op));
    CHORUS_RETURN_IF_ERROR(named->Fits(ranks));
    return std::vector<Named>{{o.algorithm, named->Build()}};
  }
  CHORUS_ASSIGN_OR_RETURN(const OpKind op, OperationNamed(o.op));
  std::vector<Named> all;
  if (o.compare) {
    for (const Algorithm* algorithm : AlgorithmsFor(op)) {
      if (!algorithm->Fits(ranks).ok()) continue;
      all.push_back({std::string(algorithm->name), algorithm->Build()});
    }
    return all;
  }
  // A ring where there is one, since it is what estimates speak of first.
  const auto ring = FindAlgorithm("ring", op);
  const Algorithm& usual = ring.ok() ? **ring : ChooseAlgorithm(op, ranks, bytes);
  all.push_back({std::string(usual.name), usual.Build()});
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
  if (!o.seed.empty()) {
    const char* end = o.seed.data() + o.seed.size();
    const auto [rest, error] = std::from_chars(o.seed.data(), end, options.seed);
    if (error != std::errc() || rest != end) {
      return InvalidArgument(
          fmt::format("--seed '{}'; give a whole number from 0 to 2^64 - 1", o.seed));
    }
  }
  options.trace = !o.trace.empty();
  for (const std::string& text : o.slow) {
    CHORUS_ASSIGN_OR_RETURN(const SlowDevice slow, ParseSlow(text));
    for (const SlowDevice& other : options.slow_devices) {
      if (other.device != slow.device) continue;
      return InvalidArgument(
          fmt::format("--slow names device {} twice; give each once", slow.device));
    }
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

// One schedule with one size.
struct Simulated {
  std::string name;  // of the algorithm, or of the schedule of a file
  OpKind op;
  SimulatedCall call;  // its schedule is null
  Bytes bytes;
  Simulation result;

  // Of no bytes, or in no time, none.
  BytesPerSecond Algbw() const {
    return result.seconds > 0 ? bytes / Seconds(result.seconds) : BytesPerSecond(0);
  }
  BytesPerSecond Busbw() const {
    return BytesPerSecond(Algbw().value() * BusFactor(Name(op), call.group_size));
  }
};

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

// The keys that estimate has as well are called the same there.
Json ToJson(const Machine& machine, const Simulated& one) {
  const Simulation& s = one.result;
  Json json = {{"operation", Name(one.op)},
               {"algorithm", one.name},
               {"bytes", one.bytes.value()},
               {"ranks", one.call.group_size},
               {"seconds", s.seconds},
               {"algbw_bytes_per_second", one.Algbw().value()},
               {"busbw_bytes_per_second", one.Busbw().value()},
               {"orbit_shift", s.shift},
               {"messages", s.messages},
               {"events", s.events},
               {"finish_seconds", s.finish[0]},
               {"links", Json::array()},
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
    if (tile->value() == 0) return InvalidArgument("--tile must be above 0, as 1MiB");
    call.payload.tile_bytes = static_cast<double>(tile->value());
  }
  return call;
}

// All schedules with all sizes, of each size the fastest first. Where several are compared those
// that are too much to simulate are left out, and named in `left_out`.
Result<std::vector<Simulated>> SimulateAll(const Options& o, const Machine& machine,
                                           std::string& left_out) {
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t ranks, RanksOn(machine, o.ranks));
  if (ranks > kMostSimulatedRanks) {
    return InvalidArgument(fmt::format(
        "{} ranks are more than the {} that are simulated; add --ranks {}, or ask chorus estimate",
        ranks, kMostSimulatedRanks, kMostSimulatedRanks));
  }
  const char* usual_size = o.op == Name(OpKind::kBarrier) ? "0" : "1MiB";
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Bytes> sizes,
                          ParseByteRange(o.bytes.empty() ? usual_size : o.bytes));
  CHORUS_ASSIGN_OR_RETURN(const SimulateOptions options, OptionsOf(o));
  std::vector<Simulated> all;
  for (const Bytes bytes : sizes) {
    CHORUS_ASSIGN_OR_RETURN(const std::vector<Named> schedules, Chosen(o, ranks, bytes));
    std::vector<Simulated> of_size;
    for (const auto& [name, schedule] : schedules) {
      CHORUS_ASSIGN_OR_RETURN(SimulatedCall call, CallOf(o, schedule.op(), ranks, bytes));
      call.schedule = &schedule;
      Result<Simulation> s = Simulate(machine.topology, {call}, options);
      call.schedule = nullptr;
      if (!s.ok() && schedules.size() == 1) return s.status();
      if (!s.ok()) {
        left_out += fmt::format("{} is left out: {}\n", name, s.status().message());
        continue;
      }
      of_size.push_back({name, schedule.op(), std::move(call), bytes, *std::move(s)});
    }
    std::stable_sort(of_size.begin(), of_size.end(), [](const auto& a, const auto& b) {
      return a.result.seconds < b.result.seconds;
    });
    for (Simulated& one : of_size) all.push_back(std::move(one));
  }
  if (all.empty()) return InvalidArgument(left_out);
  return all;
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

Status WritePlot(const Options& o, const Machine& machine, const std::vector<Simulated>& all) {
  std::vector<TimePoint> points;
  for (const Simulated& one : all) {
    points.push_back({one.name, static_cast<double>(one.bytes.value()), one.result.seconds});
  }
  CHORUS_ASSIGN_OR_RETURN(const std::string svg,
                          DrawTimes(fmt::format("{} on {}, {}, simulated", o.op, machine.name,
                                                Counted(all[0].call.group_size, "rank")),
                                    points));
  return WriteFile(o.plot, svg, "--plot");
}

Status Run(const Options& o, const CLI::App& command) {
  CHORUS_RETURN_IF_ERROR(OperationNamed(o.op).status());
  CHORUS_RETURN_IF_ERROR(CheckOptions(command, Rules(), o.op));
  CHORUS_ASSIGN_OR_RETURN(const Machine machine, ChosenMachine(o.machine));
  std::string left_out;
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Simulated> all, SimulateAll(o, machine, left_out));
  if (!o.trace.empty() && all.size() > 1) {
    return InvalidArgument("--trace is of one simulation; give one size");
  }
  if (!o.trace.empty()) {
    CHORUS_RETURN_IF_ERROR(WriteFile(o.trace, TraceJson(all[0].result), "--trace"));
  }
  if (!o.plot.empty()) CHORUS_RETURN_IF_ERROR(WritePlot(o, machine, all));
  if (o.json) {
    Json json = {{"machine", machine.name},
                 {"topology", machine.topology.ToString()},
                 {"simulations", Json::array()}};
    for (const Simulated& one : all) json["simulations"].push_back(ToJson(machine, one));
    fmt::print("{}\n", json.dump(2));
  } else if (all.size() > 1) {
    PrintTable(all);
    fmt::print("{}", left_out);
  } else {
    Print(machine, all[0]);
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
  GroupOptions(*simulate, Rules());
  simulate->callback([o, simulate, &outcome] { outcome.status = Run(*o, *simulate); });
}

}  // namespace chorus::cli
