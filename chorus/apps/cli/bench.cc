#include "chorus/apps/cli/bench.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/apps/answer/choose_schedule.h"
#include "chorus/apps/cli/bench_plot.h"
#include "chorus/apps/cli/bench_run.h"
#include "chorus/apps/cli/bench_settings.h"
#include "chorus/apps/cli/bench_table.h"
#include "chorus/apps/cli/trace_option.h"
#include "chorus/collective/group.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/launch/environment.h"
#include "chorus/launch/spawn.h"
#include "chorus/probe/cores.h"
#include "chorus/probe/read_file.h"
#include "chorus/probe/write_file.h"

namespace chorus::cli {
namespace {

struct BenchOptions {
  std::string op;
  std::string minimum = "32M";
  std::string maximum = "32M";
  std::string step = "1M";
  double factor = 1;
  int ranks = 2;
  bool threads = false;
  int iterations = 20;
  int warmup = 1;
  int aggregated = 1;
  int cycles = 1;
  int average = 1;
  int checks = 1;
  std::string reduce = "sum";
  std::string dtype = "float";
  std::string root = "0";
  int unaligned = 0;
  int timeout = 0;
  int registered = 0;
  bool symmetric = false;
  BenchCalls calls = BenchCalls::kSync;
  bool strict = false;
  std::vector<std::string> algorithms;
  std::string bind_to = "core";
  std::string schedule;
  std::string plot;
  std::string json_file;
  TraceOption trace;
  bool json = false;
};

Status ReadOperations(const BenchOptions& o, BenchSettings& s) {
  if (o.op == "all") {
    for (const OpKind op : kAllOpKinds) s.ops.push_back(op);
    return OkStatus();
  }
  CHORUS_ASSIGN_OR_RETURN(const OpKind op, answer::OperationNamed(o.op));
  s.ops = {op};
  return OkStatus();
}

Status ReadTypes(const BenchOptions& o, BenchSettings& s) {
  if (o.dtype == "all") {
    s.dtypes = AllBenchDTypes();
  } else {
    CHORUS_ASSIGN_OR_RETURN(const DType dtype, ParseBenchDType(o.dtype));
    s.dtypes = {dtype};
  }
  if (o.reduce == "all") return OkStatus();  // of each type those that it has
  CHORUS_ASSIGN_OR_RETURN(const ReduceOp reduce, ParseBenchReduce(o.reduce));
  s.reduces = {reduce};
  if (reduce == ReduceOp::kAvg && s.ops.size() == 1 && IsScan(s.ops[0])) {
    return Unsupported(fmt::format(
        "-o avg: {} has no average over the ranks up to one; give -o sum", Name(s.ops[0])));
  }
  for (const DType dtype : s.dtypes) {
    if (Supports(reduce, dtype)) continue;
    return Unsupported(
        fmt::format("-o {} -d {}: {}", o.reduce, Name(dtype), WhyUnsupported(reduce, dtype)));
  }
  return OkStatus();
}

Status ReadSizes(const BenchOptions& o, BenchSettings& s) {
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t minimum, ParseBenchSize(o.minimum));
  CHORUS_ASSIGN_OR_RETURN(s.maximum, ParseBenchSize(o.maximum));
  CHORUS_ASSIGN_OR_RETURN(s.step, ParseBenchSize(o.step));
  s.factor = o.factor;
  CHORUS_ASSIGN_OR_RETURN(s.sizes, BenchSizes(minimum, s.maximum, s.step, o.factor));
  return OkStatus();
}

Status ReadRoot(const BenchOptions& o, BenchSettings& s) {
  s.all_roots = o.root == "all" || o.root == "-1";
  if (s.all_roots) return OkStatus();
  char* end = nullptr;
  const long root = std::strtol(o.root.c_str(), &end, 10);
  if (o.root.empty() || *end != '\0' || root < 0 || root >= s.ranks) {
    return InvalidArgument(
        fmt::format("-r {} is no rank; give 0 to {}, or all", o.root, s.ranks - 1));
  }
  s.root = static_cast<int>(root);
  return OkStatus();
}

Status ReadSchedule(const BenchOptions& o, BenchSettings& s) {
  if (!o.algorithms.empty()) s.algorithms = o.algorithms;
  for (const std::string& algorithm : o.algorithms) {
    for (const OpKind op : s.ops) CHORUS_RETURN_IF_ERROR(FindAlgorithm(algorithm, op).status());
  }
  if (o.schedule.empty()) return OkStatus();
  CHORUS_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(o.schedule, "schedule", "give the path of a text file"));
  Result<Schedule> schedule = Schedule::Parse(text);
  if (!schedule.ok()) return schedule.status().WithContext(o.schedule);
  if (s.ops.size() != 1 || s.ops[0] != schedule->op()) {
    return InvalidArgument(
        fmt::format("{} is a schedule of {}, not of {}", o.schedule, Name(schedule->op()), o.op));
  }
  s.schedule = std::make_shared<const Schedule>(*std::move(schedule));
  return OkStatus();
}

// All that can be wrong with the input, before any rank starts. `ranks`: those that there will be.
Result<BenchSettings> ReadSettings(const BenchOptions& o, int ranks) {
  BenchSettings s;
  s.ranks = ranks;
  s.iterations = o.iterations;
  s.warmup = o.warmup;
  s.aggregated = o.aggregated;
  s.cycles = o.cycles;
  s.average = static_cast<BenchAverage>(o.average);
  s.checks = o.checks;
  s.unaligned = o.unaligned;
  s.timeout = std::chrono::seconds(o.timeout);
  s.strict = o.strict;
  s.calls = o.calls;
  s.memory = o.symmetric || o.registered > 0 ? BenchMemory::kSymmetric : BenchMemory::kOrdinary;
  CHORUS_RETURN_IF_ERROR(ReadOperations(o, s));
  CHORUS_RETURN_IF_ERROR(ReadTypes(o, s));
  CHORUS_RETURN_IF_ERROR(ReadSizes(o, s));
  CHORUS_RETURN_IF_ERROR(ReadRoot(o, s));
  CHORUS_RETURN_IF_ERROR(ReadSchedule(o, s));
  return s;
}

// Whether the mean bandwidth is at least 0.9 of what NCCL_TESTS_MIN_BW asks; empty if unset.
std::optional<bool> FastEnough(const BenchReport& report) {
  const char* asked = std::getenv("NCCL_TESTS_MIN_BW");  // NOLINT(concurrency-mt-unsafe)
  if (asked == nullptr) return std::nullopt;
  return report.AverageBusBandwidth() >= 0.9 * std::strtod(asked, nullptr);
}

// What each rank does; rank 0 speaks for all. Gives whether all is right, the same on all ranks.
Result<bool> BenchRank(const BenchOptions& o, const BenchSettings& settings, Group& world) {
  const bool prints = world.rank() == 0 && !o.json;
  bool right = true;
  BenchReport all;
  for (int cycle = 0; settings.cycles == 0 || cycle < settings.cycles; ++cycle) {
    for (const OpKind op : settings.ops) {
      BenchListener listener;
      listener.on_start = [&](OpKind which, const BenchPlace& place) {
        if (prints) fmt::print("{}", BenchHead(settings, which, o.threads, place));
      };
      listener.on_row = [&](const BenchRow& row) {
        if (!prints) return;
        fmt::print("{}", BenchLine(row));
        std::fflush(stdout);
      };
      CHORUS_ASSIGN_OR_RETURN(const BenchReport report, RunBench(world, settings, op, listener));
      const std::optional<bool> fast = FastEnough(report);
      if (prints) fmt::print("{}\n", BenchFoot(report, fast));
      right = right && report.wrong() == 0 && report.checks_ok() && fast.value_or(true);
      // Of a bench that goes on for ever nothing is written at its end.
      if (settings.cycles > 0) {
        all.rows.insert(all.rows.end(), report.rows.begin(), report.rows.end());
      }
    }
  }
  if (world.rank() != 0) return right;
  const std::string json = ToJson(settings, all).dump(2) + "\n";
  if (o.json) fmt::print("{}", json);
  std::fflush(stdout);
  if (!o.json_file.empty()) CHORUS_RETURN_IF_ERROR(WriteFile(o.json_file, json, "-J"));
  if (!o.plot.empty()) {
    const std::string title =
        fmt::format("{}, {}, {} ranks", o.op, Name(settings.dtypes[0]), settings.ranks);
    CHORUS_RETURN_IF_ERROR(WriteFile(o.plot, DrawBench(all, title), "--plot"));
  }
  return right;
}

// This process's own command line: what its ranks are started with.
Result<std::vector<std::string>> OwnCommand() {
  CHORUS_ASSIGN_OR_RETURN(const std::string line,
                          ReadFile("/proc/self/cmdline", "own command line", "mount /proc"));
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find('\0', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) words[0] = self.string();
  return words;
}

// Keeps this rank on a core, as --bind-to says, if there is one for each.
Status BindRank(const BenchOptions& o) {
  CHORUS_ASSIGN_OR_RETURN(const std::optional<int> rank,
                          NumberFromEnvironment("RANK", 0, kMostLocalRanks));
  CHORUS_ASSIGN_OR_RETURN(const std::optional<int> size,
                          NumberFromEnvironment("WORLD_SIZE", 1, kMostLocalRanks));
  if (rank && size && o.bind_to == "core" && *size <= UsableCores()) PinToCore(*rank);
  return OkStatus();
}

Status RunBench(const BenchOptions& o, int& exit_code) {
  if (std::getenv("RANK") != nullptr) {  // one of the ranks that this command, or run, started
    CHORUS_RETURN_IF_ERROR(o.trace.CheckInRank());
    CHORUS_RETURN_IF_ERROR(BindRank(o));
    CHORUS_ASSIGN_OR_RETURN(Group world, Join());
    CHORUS_ASSIGN_OR_RETURN(const BenchSettings settings, ReadSettings(o, world.size()));
    const Result<bool> right = BenchRank(o, settings, world);
    if (!right.ok()) return right.status().WithContext(fmt::format("rank {}", world.rank()));
    // Rank 0 alone says that something is wrong: when a rank fails the others are ended, and it may
    // still be printing.
    exit_code = *right || world.rank() != 0 ? 0 : 1;
    return OkStatus();
  }
  CHORUS_ASSIGN_OR_RETURN(const BenchSettings settings, ReadSettings(o, o.ranks));
  CHORUS_RETURN_IF_ERROR(o.trace.Begin());
  if (o.threads) {
    CHORUS_ASSIGN_OR_RETURN(
        const std::vector<std::string> right,
        CollectFromRanks(o.ranks, RankKind::kThreads, [&](Group& world) -> Result<std::string> {
          CHORUS_ASSIGN_OR_RETURN(const bool mine, BenchRank(o, settings, world));
          return std::string(mine ? "right" : "");
        }));
    exit_code = right[0].empty() ? 1 : 0;
    return o.trace.End(o.ranks);
  }
  SpawnOptions spawn;
  spawn.ranks = o.ranks;
  CHORUS_ASSIGN_OR_RETURN(spawn.command, OwnCommand());
  CHORUS_ASSIGN_OR_RETURN(const SpawnOutcome outcome, SpawnRanks(spawn));
  exit_code = outcome.exit_code;
  // A wrong result ends rank 0 with 1 and was told; anything else is told here.
  if (!outcome.failure.empty() && exit_code != 1) {
    fmt::print(stderr, "chorus bench: {}\n", outcome.failure);
  }
  return o.trace.End(o.ranks);
}

void AddSizeOptions(CLI::App& bench, BenchOptions& o) {
  bench.add_option("-b,--minbytes", o.minimum, "First size; K, M, G are powers of 1024")
      ->capture_default_str();
  bench.add_option("-e,--maxbytes", o.maximum, "Last size")->capture_default_str();
  bench.add_option("-i,--stepbytes", o.step, "Added from size to size")->capture_default_str();
  bench.add_option("-f,--stepfactor", o.factor, "Or multiplied, if more than 1")
      ->capture_default_str();
}

void AddRunOptions(CLI::App& bench, BenchOptions& o) {
  constexpr int kMany = 1'000'000'000;
  bench
      .add_option("-g,--ranks,--ngpus", o.ranks, "Ranks on this host (-n is iterations, as there)")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostLocalRanks));
  bench.add_flag("--threads", o.threads, "Ranks are threads of one process, not processes");
  bench.add_option("-n,--iters", o.iterations, "Timed calls (ranks are -g)")
      ->capture_default_str()
      ->check(CLI::Range(1, kMany));
  bench.add_option("-w,--warmup_iters", o.warmup, "Calls before")
      ->capture_default_str()
      ->check(CLI::Range(0, kMany));
  bench.add_option("-m,--agg_iters", o.aggregated, "Calls in flight at once in each iteration")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  bench.add_option("-N,--run_cycles", o.cycles, "Whole sweeps; 0 goes on for ever")
      ->capture_default_str()
      ->check(CLI::Range(0, kMany));
  bench
      .add_option("-a,--average", o.average, "Time: 0 of rank 0, 1 mean, 2 least, 3 most of ranks")
      ->capture_default_str()
      ->check(CLI::Range(0, 3));
  bench.add_option("-u,--unalign", o.unaligned, "Buffers begin so many elements off")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  bench.add_option("-T,--timeout", o.timeout, "Seconds that a call may wait; 0: as CHORUS_TIMEOUT")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  bench
      .add_option("-R,--local_register", o.registered,
                  "Memory: 0 ordinary, 1 or 2 symmetric (Group::Allocate)")
      ->capture_default_str()
      ->check(CLI::Range(0, 2));
  bench.add_flag("--symmetric", o.symmetric, "The same as -R 2");
  bench
      .add_option("--bind-to", o.bind_to,
                  "core: each process keeps to one, if there are enough; or none")
      ->capture_default_str()
      ->check(CLI::IsMember({"core", "none"}));
  static const std::map<std::string, BenchCalls> kCalls = {{"sync", BenchCalls::kSync},
                                                           {"async", BenchCalls::kAsync},
                                                           {"list", BenchCalls::kList},
                                                           {"persistent", BenchCalls::kPersistent}};
  bench
      .add_option_function<std::string>(
          "--calls", [&o](const std::string& name) { o.calls = kCalls.at(name); },
          "How: with -m more than 1 sync is async; list: a CallList")
      ->check(CLI::IsMember({"sync", "async", "list", "persistent"}))
      ->default_str("sync");
}

void AddWhatOptions(CLI::App& bench, BenchOptions& o) {
  bench.add_option("-o,--op", o.reduce, "sum prod min max avg mulsum ..., or all")
      ->capture_default_str();
  bench
      .add_option("-d,--datatype", o.dtype, "float half bfloat16 int32 ... or f32 bf16 ..., or all")
      ->capture_default_str();
  bench.add_option("-r,--root", o.root, "Root of rooted operations, or all")->capture_default_str();
  bench.add_option("-c,--check", o.checks, "Times the result of each size is checked")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  bench.add_flag("--strict", o.strict,
                 "Own checks too: equal bits, error against f64, uneven counts, no elements");
  CLI::Option* algorithm =
      bench
          .add_option("--algorithm", o.algorithms,
                      "ring, or ring,direct,... to compare, instead of the chosen one")
          ->delimiter(',');
  bench.add_option("--schedule", o.schedule, "Run the schedule text in this file")
      ->excludes(algorithm);
  bench.add_option("--plot", o.plot, "Draw bus bandwidth and time into this SVG");
  o.trace.AddTo(bench);
  bench.add_option("-J,--output_file", o.json_file, "Write the results as JSON to this file");
  bench.add_flag("--json", o.json, "JSON instead of lines");
}

}  // namespace

void AddBench(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<BenchOptions>();
  CLI::App* bench = app.add_subcommand("bench", "Measure collectives, as nccl-tests does");
  bench->add_option("OPERATION", o->op, "all_reduce, broadcast, ..., or all")->required();
  AddSizeOptions(*bench, *o);
  AddRunOptions(*bench, *o);
  AddWhatOptions(*bench, *o);
  bench->footer(
      "Columns are those of nccl-tests: size is the larger of what a rank sends and gets, algbw =\n"
      "size / time, busbw what it is worth on links, 1 GB = 1e9 B; then the fraction of the "
      "bound,\n"
      "which is all ranks moving the least bytes in their own memory, measured in this run.\n"
      "Exit code 1 if an element is wrong, a check fails, or the mean of busbw is below 0.9 x\n"
      "NCCL_TESTS_MIN_BW.\n"
      "Examples:\n"
      "  chorus bench all_reduce -b 8 -e 128M -f 2\n"
      "  chorus bench all_reduce -b 8 -e 128M -f 2 --symmetric\n"
      "  chorus bench all_reduce -g 4 -b 1M -e 64M -f 4 -d bfloat16 --strict --plot reduce.svg\n"
      "  chorus bench all -b 1K -e 1M -f 32 -J results.json");
  bench->callback([o, &outcome] { outcome.status = RunBench(*o, outcome.exit_code); });
}

}  // namespace chorus::cli
