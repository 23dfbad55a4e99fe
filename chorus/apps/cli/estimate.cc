#include "chorus/apps/cli/estimate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "chorus/apps/cli/bench_plot.h"
#include "chorus/apps/cli/estimate_compute.h"
#include "chorus/apps/cli/machine_option.h"
#include "chorus/apps/cli/option_rules.h"
#include "chorus/base/counted.h"
#include "chorus/base/nearest.h"
#include "chorus/base/rate.h"
#include "chorus/cost/calibrate/predict.h"
#include "chorus/cost/formula/formula.h"
#include "chorus/probe/write_file.h"

namespace chorus::cli {
namespace {

using Json = nlohmann::ordered_json;

// Which options go with which questions.
const std::vector<OptionRule>& Rules() {
  const Questions shapes = With({}, {"product", "layer", "training"});
  static const std::vector<OptionRule> rules = {
      {"--bytes", With(SizedCollectives(), {"read"})},
      {"--ranks", Collectives()},
      {"--root", RootedCollectives()},
      {"--algorithm", Collectives(), {"--compare"}},
      {"--model", Collectives()},
      {"--accumulator-ratio", ReducingCollectives()},
      {"--measured", Collectives(), {"--compare"}},
      {"--dims", shapes},
      {"--element", shapes},
      {"--compare", Collectives()},
      {"--plot", SizedCollectives()},
      {"--bandwidth", With(Collectives(), {"product"})},
      {"--latency", Collectives()},
      {"--wrap", Collectives()},
  };
  return rules;
}

struct Options {
  std::string op;
  MachineOptions machine;
  std::string bytes;
  std::optional<std::int64_t> ranks;  // empty: all devices
  std::int64_t root = 0;
  std::string algorithm;
  std::string model;  // empty: sum
  double accumulator_ratio = 1;
  bool compare = false;
  std::string measured;  // a time, to compare with
  std::string dims;      // of product, layer, training
  double element = 2;
  std::string plot;
  bool json = false;
};

Status CheckOperation(const std::string& op) {
  std::vector<std::string> known = FormulaOps();
  for (const char* other : {"product", "layer", "training", "read"}) known.emplace_back(other);
  if (std::find(known.begin(), known.end(), op) != known.end()) return OkStatus();
  return NotFound(fmt::format("there is no operation '{}'; {}", op, NearestAdvice(op, known)));
}

// What people expect to be told about first: the textbook algorithm of the machine at hand.
std::string UsualAlgorithm(const std::string& op, const Wiring& w, LatencyModel model) {
  const bool torus = w.fabric == Fabric::kTorus;
  if (op == "broadcast" || op == "reduce") return "binomial";
  if (op == "barrier") return "dissemination";
  if (op == "scan" || op == "exscan") return "linear";
  if (op == "all_to_all") return torus ? "torus" : "direct";
  if (op == "gather" || op == "scatter") return "direct";
  if (torus) return "torus";
  if (model == LatencyModel::kNccl) return "ring";
  return w.nodes > 1 && w.node_size > 1 ? "pipelined_two_level" : "ring";
}

Bytes SizeOf(const Estimate& e) { return WholeBytes(e.bytes); }

Json ToJson(const Estimate& e) {
  Json json = {{"operation", e.op},
               {"algorithm", e.algorithm},
               {"model", Name(e.model)},
               {"bytes", SizeOf(e).value()},
               {"ranks", e.ranks},
               {"seconds", e.time.value()},
               {"bandwidth_seconds", e.bandwidth.value()},
               {"latency_seconds", e.latency.value()},
               {"algbw_bytes_per_second", e.algbw.value()},
               {"busbw_bytes_per_second", e.busbw.value()},
               {"bound", e.Bound()},
               {"reason", e.Reason()}};
  if (!e.protocol.empty()) json["protocol"] = e.protocol;
  return json;
}

// "v5e-4x2"; of a machine file what to write into it.
std::string SliceName(const Machine& machine, const std::vector<std::int64_t>& sizes) {
  if (!machine.origin.empty())
    return fmt::format("a file with axes = [{}]", fmt::join(sizes, ", "));
  return fmt::format("{}-{}", machine.hardware.name, fmt::join(sizes, "x"));
}

struct Asked {
  Machine machine;
  Wiring wiring;
  LatencyModel model;
  std::vector<Bytes> sizes;
};

Result<Asked> Read(const Options& o) {
  CHORUS_ASSIGN_OR_RETURN(Machine machine, ChosenMachine(o.machine));
  CHORUS_ASSIGN_OR_RETURN(const LatencyModel model,
                          ParseLatencyModel(o.model.empty() ? "sum" : o.model));
  if (o.bytes.empty() && o.op != "barrier") {
    return InvalidArgument("--bytes is missing; say how much, as --bytes 16GB or 1KiB..1GiB");
  }
  CHORUS_ASSIGN_OR_RETURN(std::vector<Bytes> sizes,
                          ParseByteRange(o.bytes.empty() ? "0" : o.bytes));
  const std::int64_t devices = machine.topology.device_count();
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t ranks, RanksOn(machine, o.ranks));
  if (ranks < devices && machine.topology.definition().fabric == Fabric::kTorus) {
    const std::vector<std::int64_t> slice = NearestSlice(machine.topology, ranks);
    return InvalidArgument(fmt::format(
        "--ranks {} is no slice of the torus; the nearest is --on {}, or chorus simulate works it "
        "out",
        ranks, SliceName(machine, slice)));
  }
  CHORUS_RETURN_IF_ERROR(CheckAccumulatorRatio(o.accumulator_ratio));
  Wiring wiring = WiringOf(machine, ranks);
  return Asked{std::move(machine), std::move(wiring), model, std::move(sizes)};
}

Question QuestionOf(const Options& o, Bytes size) {
  return {o.op, static_cast<double>(size.value()), o.root, o.accumulator_ratio, {}};
}

// `why` an algorithm has no formula on the machine, and which have.
Status Instead(const Asked& asked, const Question& q, const Status& why) {
  const Result<std::vector<Estimate>> all = CompareAlgorithms(asked.wiring, q, asked.model);
  if (!all.ok()) return why;
  std::vector<std::string> names;
  for (const Estimate& e : *all) names.push_back(e.algorithm);
  return Unsupported(
      fmt::format("{}; for {} here there is {}", why.message(), q.op, fmt::join(names, ", ")));
}

// All that there is to say about one size: one algorithm, or all of them. What was measured answers
// where nobody asks for a formula.
Result<std::vector<Estimate>> Answers(const Options& o, const Asked& asked, Bytes size) {
  const Question q = QuestionOf(o, size);
  const bool measured = HasFit(asked.wiring, q);
  if (o.compare) {
    CHORUS_ASSIGN_OR_RETURN(std::vector<Estimate> all,
                            CompareAlgorithms(asked.wiring, q, asked.model));
    if (measured) all.insert(all.begin(), EstimateFromFit(asked.wiring, q));
    return all;
  }
  const std::string usual = UsualAlgorithm(o.op, asked.wiring, asked.model);
  if (measured && o.algorithm.empty()) {
    if (o.model.empty()) return std::vector<Estimate>{EstimateFromFit(asked.wiring, q)};
    return InvalidArgument(fmt::format(
        "--model is of formulas, and {} over {} was measured on {}; leave it out, or ask "
        "for a formula, as --algorithm {}",
        o.op, Counted(asked.wiring.ranks, "rank"), asked.machine.name, usual));
  }
  const std::string name = o.algorithm.empty() ? usual : o.algorithm;
  Result<Estimate> one = EstimateCollective(asked.wiring, q, name, asked.model);
  if (one.ok()) return std::vector<Estimate>{*std::move(one)};
  const bool others =
      one.status().code() == StatusCode::kUnsupported && FindFormula(o.op, name).ok();
  return others ? Instead(asked, q, one.status()) : one.status();
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
  fmt::print("--algorithm NAME with one size, or --json, shows the reason\n");
}

void PrintOne(const Options& o, const Asked& asked, const Estimate& e) {
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
  for (const Term& term : e.terms) fmt::print("    {}\n", term.reason);
  fmt::print("    {}; algbw {}, busbw {}\n", e.Bound(), ToString(e.algbw), ToString(e.busbw));
  const Question q = QuestionOf(o, SizeOf(e));
  const LowerBound bound = LowerBoundOf(asked.wiring, q);
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
  const Result<std::vector<Estimate>> all = CompareAlgorithms(asked.wiring, q, asked.model);
  if (all.ok() && all->front().algorithm != e.algorithm && all->front().time < e.time) {
    // The formulas know the links, not what this machine's measurements say of them.
    fmt::print("  fastest by formula{}: {}, {}; --compare shows all\n",
               e.algorithm == "measured" ? " (which is not calibrated)" : "",
               all->front().algorithm, ToString(all->front().time));
  }
}

// A time that somebody measured, beside the estimate.
struct Beside {
  Seconds time;
  BytesPerSecond algbw;
  double factor;
  BytesPerSecond busbw;
  double times;  // that of the estimate
};

Beside SetBeside(Seconds time, const Estimate& e) {
  const BytesPerSecond algbw(e.bytes / time.value());
  const double factor = chorus::BusFactor(e.op, e.ranks);
  return {time, algbw, factor, BytesPerSecond(algbw.value() * factor),
          time.value() / e.time.value()};
}

Json ToJson(const Beside& m) {
  Json json = {{"seconds", m.time.value()},
               {"algbw_bytes_per_second", m.algbw.value()},
               {"busbw_bytes_per_second", m.busbw.value()},
               {"times_the_estimate", nullptr}};
  if (std::isfinite(m.times)) json["times_the_estimate"] = m.times;
  return json;
}

void PrintMeasured(const Asked& asked, const Beside& m) {
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

Result<std::optional<Seconds>> MeasuredTime(const Options& o, const Asked& asked) {
  if (o.measured.empty()) return std::optional<Seconds>();
  const Result<Seconds> time = ParseSeconds(o.measured);
  if (!time.ok()) return time.status().WithContext("--measured");
  if (time->value() <= 0) return InvalidArgument("--measured must be above 0, as 1.6ms");
  if (asked.sizes.size() > 1) {
    return InvalidArgument(fmt::format(
        "--measured is a time of one size, and --bytes {} are {}; give the size that was measured",
        o.bytes, asked.sizes.size()));
  }
  return std::optional<Seconds>(*time);
}

Status WritePlot(const Options& o, const Asked& asked, const std::vector<Estimate>& estimates) {
  std::vector<TimePoint> points;
  for (const Estimate& e : estimates) points.push_back({e.algorithm, e.bytes, e.time.value()});
  CHORUS_ASSIGN_OR_RETURN(const std::string svg,
                          DrawTimes(fmt::format("{} on {}, {}", o.op, asked.machine.name,
                                                Counted(asked.wiring.ranks, "rank")),
                                    points));
  return WriteFile(o.plot, svg, "--plot");
}

Status RunCompute(const Options& o) {
  CHORUS_ASSIGN_OR_RETURN(const Machine machine, ChosenMachine(o.machine));
  if (o.bytes.empty() && o.op == "read") {
    return InvalidArgument("--bytes is missing; say how much is read, as --bytes 1MiB");
  }
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Bytes> sizes,
                          ParseByteRange(o.bytes.empty() ? "0" : o.bytes));
  if (sizes.size() > 1) {
    return InvalidArgument(
        fmt::format("read takes one size, as --bytes 1MiB; {} are {}", o.bytes, sizes.size()));
  }
  return EstimateCompute({o.op, o.dims, o.element, sizes[0], o.json}, machine);
}

Status Run(const Options& o, const CLI::App& command) {
  CHORUS_RETURN_IF_ERROR(CheckOperation(o.op));
  CHORUS_RETURN_IF_ERROR(CheckOptions(command, Rules(), o.op));
  if (IsComputeQuestion(o.op)) return RunCompute(o);
  CHORUS_ASSIGN_OR_RETURN(const Asked asked, Read(o));
  CHORUS_ASSIGN_OR_RETURN(const std::optional<Seconds> measured, MeasuredTime(o, asked));
  std::vector<Estimate> estimates;
  for (Bytes size : asked.sizes) {
    CHORUS_ASSIGN_OR_RETURN(const std::vector<Estimate> some, Answers(o, asked, size));
    estimates.insert(estimates.end(), some.begin(), some.end());
  }
  if (!o.plot.empty()) CHORUS_RETURN_IF_ERROR(WritePlot(o, asked, estimates));
  if (o.json) {
    Json json = {{"machine", asked.machine.name},
                 {"topology", asked.machine.topology.ToString()},
                 {"estimates", Json::array()}};
    for (const Estimate& e : estimates) json["estimates"].push_back(ToJson(e));
    if (measured) json["measured"] = ToJson(SetBeside(*measured, estimates[0]));
    fmt::print("{}\n", json.dump(2));
  } else if (estimates.size() == 1) {
    PrintOne(o, asked, estimates[0]);
    if (measured) PrintMeasured(asked, SetBeside(*measured, estimates[0]));
  } else {
    PrintTable(estimates);
  }
  return OkStatus();
}

}  // namespace

void AddEstimate(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<Options>();
  CLI::App* estimate =
      app.add_subcommand("estimate", "Work out what a collective costs, by formula, and why");
  estimate
      ->add_option("OPERATION", o->op,
                   "all_reduce, all_gather, ...; or product, layer, training, read")
      ->required();
  AddMachineOptions(*estimate, o->machine);
  estimate->add_option("--bytes", o->bytes,
                       "Size as nccl-tests counts it: 16GB, 1KiB..1GiB (powers of two), 1MB,2MB");
  estimate->add_option("--ranks", o->ranks, "Fewer than all devices, node after node");
  estimate->add_option("--root", o->root, "Root of broadcast, reduce, gather, scatter (default 0)");
  estimate->add_option("--algorithm", o->algorithm,
                       "ring, tree, torus, sharp, ... (default: usual)");
  estimate->add_option("--model", o->model, "Latency model: sum (default), max, nccl");
  estimate->add_option("--accumulator-ratio", o->accumulator_ratio,
                       "Bytes of a partial sum / of an element: 2 for bf16 summed in f32");
  estimate->add_option("--measured", o->measured, "A time that was measured, to set beside it");
  estimate->add_option("--dims", o->dims,
                       "product: B,D,F,X; layer: B,S,D,F and H,K,C,G; training: P and L,B,S,D,E,M");
  estimate->add_option("--element", o->element, "Bytes of an element of --dims (default 2)");
  estimate->add_flag("--compare", o->compare, "All algorithms, fastest first");
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
  GroupOptions(*estimate, Rules());
  estimate->callback([o, estimate, &outcome] { outcome.status = Run(*o, *estimate); });
}

}  // namespace chorus::cli
