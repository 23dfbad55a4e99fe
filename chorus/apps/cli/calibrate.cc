#include "chorus/apps/cli/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "chorus/apps/cli/machine_option.h"
#include "chorus/base/nearest.h"
#include "chorus/base/rate.h"
#include "chorus/cost/calibrate/fit.h"
#include "chorus/cost/formula/formula.h"
#include "chorus/probe/read_file.h"

namespace chorus::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> logs;
  std::string like;
  std::vector<std::string> catalogues;
  std::string op;  // of a log that does not say it, and so on
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> nodes;
  std::string out;
  std::vector<std::string> checks;  // other logs of the same machine, to be predicted
  bool json = false;
};

// The JSON of chorus bench: {"ranks", "rows": [{"operation", "size_bytes", "out_of_place":
// {"time_us", "median_us"}}]}. The median is taken where it is there: a disturbance leaves it
// alone.
Result<std::vector<Measurement>> ReadBenchJson(const std::string& text, const std::string& origin) {
  const Json json = Json::parse(text, nullptr, false);
  const Status wrong = InvalidArgument(
      origin + ": this is no JSON of chorus bench; make one with chorus bench all -J FILE");
  if (!json.is_object() || !json.contains("rows") || !json["rows"].is_array() ||
      !json.contains("ranks") || !json["ranks"].is_number_integer()) {
    return wrong;
  }
  if (json["ranks"] < 1) {
    return InvalidArgument(
        fmt::format("{}: {} ranks; there must be 1 or more", origin, json["ranks"].dump()));
  }
  std::vector<Measurement> found;
  for (const Json& row : json["rows"]) {
    if (!row.is_object() || !row.contains("operation") || !row["operation"].is_string() ||
        !row.contains("size_bytes") || !row["size_bytes"].is_number()) {
      return wrong;
    }
    const Json timing = row.value("out_of_place", Json());
    if (!timing.is_object() || !timing.contains("time_us")) continue;
    const Json& time = timing.contains("median_us") ? timing["median_us"] : timing["time_us"];
    if (!time.is_number()) return wrong;
    const std::string op = OperationOfName(row["operation"].get<std::string>());
    if (op.empty()) {
      return InvalidArgument(fmt::format("{}: there is no operation {}; make it with chorus bench",
                                         origin, row["operation"].dump()));
    }
    Measurement m = {op, json["ranks"], 1, row["size_bytes"], time.get<double>() * 1e-6};
    if (m.bytes > 0 && m.seconds > 0) found.push_back(std::move(m));
  }
  if (found.empty()) return InvalidArgument(origin + ": there is no row with a size and a time");
  return found;
}

// What --op, --ranks and --nodes say, as far as they are given.
Result<LogDefaults> Defaults(const Options& o) {
  LogDefaults defaults;
  if (!o.op.empty()) {
    defaults.op = OperationOfName(o.op);
    if (defaults.op.empty()) {
      return InvalidArgument(fmt::format("--op {}; {}", o.op, NearestAdvice(o.op, FormulaOps())));
    }
  }
  for (const auto& [name, given] : {std::pair("--ranks", o.ranks), std::pair("--nodes", o.nodes)}) {
    if (!given || *given >= 1) continue;
    return InvalidArgument(fmt::format("{} {}; give 1 or more", name, *given));
  }
  defaults.ranks = o.ranks.value_or(0);
  defaults.nodes = o.nodes.value_or(0);
  return defaults;
}

Result<std::vector<Measurement>> ReadLogs(const Options& o, const std::vector<std::string>& logs) {
  CHORUS_ASSIGN_OR_RETURN(const LogDefaults defaults, Defaults(o));
  std::vector<Measurement> all;
  for (const std::string& path : logs) {
    CHORUS_ASSIGN_OR_RETURN(
        const std::string text,
        ReadFile(path, "log", "give the output of nccl-tests, or chorus bench's JSON"));
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool is_json = first != std::string::npos && text[first] == '{';
    CHORUS_ASSIGN_OR_RETURN(
        const std::vector<Measurement> some,
        is_json ? ReadBenchJson(text, path) : ParseNcclTestsLog(text, path, defaults));
    all.insert(all.end(), some.begin(), some.end());
  }
  return Medians(all);
}

// The machine that was measured: what --like says, or as many processes on this host, with the link
// that the measurements give.
Result<Machine> MeasuredMachine(const Options& o, std::vector<FittedCurve> fits) {
  std::int64_t ranks = 1;
  for (const FittedCurve& fit : fits) ranks = std::max(ranks, fit.ranks);
  CHORUS_ASSIGN_OR_RETURN(const Catalogue catalogue, ReadCatalogue(o.catalogues));
  const std::string like = o.like.empty() ? fmt::format("host-{}", ranks) : o.like;
  CHORUS_ASSIGN_OR_RETURN(Machine machine, MachineNamed(like, catalogue));
  if (ranks > machine.topology.device_count()) {
    return InvalidArgument(fmt::format("--like {} has {} devices, but {} ranks were measured", like,
                                       machine.topology.device_count(), ranks));
  }
  const Result<LinkSpec> link = LinkFromFits(fits);
  if (link.ok() && machine.topology.definition().nodes == 1) {
    Topology::Definition d = machine.topology.definition();
    d.link = *link;
    CHORUS_ASSIGN_OR_RETURN(machine.topology, Topology::Make(std::move(d)));
  }
  machine.fits = std::move(fits);
  return machine;
}

Json ToJson(const Measured& m) { return {{"value", m.value}, {"low", m.low}, {"high", m.high}}; }

Json ToJson(const std::vector<FittedCurve>& fits) {
  Json json = Json::array();
  for (const FittedCurve& f : fits) {
    json.push_back({{"operation", f.op},
                    {"ranks", f.ranks},
                    {"nodes", f.nodes},
                    {"latency_seconds", ToJson(f.latency)},
                    {"saturation_seconds_per_sqrt_byte", ToJson(f.saturation)},
                    {"inverse_bandwidth_seconds_per_byte", ToJson(f.inverse)},
                    {"points", f.points},
                    {"error_fitted", f.error_fitted},
                    {"error_held_out", f.error_held_out}});
  }
  return json;
}

void PrintTable(const std::vector<FittedCurve>& fits) {
  fmt::print("{:<15} {:>5} {:>26} {:>12} {:>32} {:>7} {:>7} {:>9}\n", "operation", "ranks",
             "latency (95 %)", "at 1 MiB +", "algorithm bandwidth (95 %)", "points", "fitted",
             "held out");
  for (const FittedCurve& f : fits) {
    const auto rate = [](double inverse) {
      return inverse > 0 ? ToString(BytesPerSecond(1 / inverse)) : std::string("no limit");
    };
    fmt::print("{:<15} {:>5} {:>26} {:>12} {:>32} {:>7} {:>6.1f}% {:>9}\n", f.op, f.ranks,
               fmt::format("{} ({} .. {})", ToString(Seconds(f.latency.value)),
                           ToString(Seconds(f.latency.low)), ToString(Seconds(f.latency.high))),
               ToString(Seconds(f.saturation.value * 1024)),
               fmt::format("{} ({} .. {})", rate(f.inverse.value), rate(f.inverse.high),
                           rate(f.inverse.low)),
               f.points, 100 * f.error_fitted,
               f.error_held_out < 0 ? "-" : fmt::format("{:.1f}%", 100 * f.error_held_out));
  }
}

// How far the fits are off on other measurements of the machine, each; the middle one counts.
struct Checked {
  std::vector<std::pair<Measurement, double>> rows;  // and what was predicted, s
  double median = 0;                                 // of |predicted / measured - 1|
};

Result<Checked> Check(const Options& o, const std::vector<FittedCurve>& fits) {
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Measurement> seconds, ReadLogs(o, o.checks));
  Checked checked;
  std::vector<double> off;
  for (const Measurement& m : seconds) {
    for (const FittedCurve& fit : fits) {
      if (fit.op != m.op || fit.ranks != m.ranks || fit.nodes != m.nodes) continue;
      checked.rows.emplace_back(m, fit.Time(m.bytes));
      off.push_back(std::abs(fit.Time(m.bytes) / m.seconds - 1));
    }
  }
  if (off.empty()) {
    return InvalidArgument("--check: nothing in it was measured in the first logs as well");
  }
  std::sort(off.begin(), off.end());
  checked.median = off[off.size() / 2];
  return checked;
}

void PrintChecked(const Checked& checked) {
  fmt::print("\n{:<15} {:>6} {:>12} {:>11} {:>11} {:>8}\n", "checked", "ranks", "bytes", "measured",
             "predicted", "off");
  for (const auto& [m, predicted] : checked.rows) {
    fmt::print("{:<15} {:>6} {:>12.0f} {:>11} {:>11} {:>+7.1f}%\n", m.op, m.ranks, m.bytes,
               ToString(Seconds(m.seconds)), ToString(Seconds(predicted)),
               100 * (predicted / m.seconds - 1));
  }
  fmt::print("median of {}: {:.1f} %\n", checked.rows.size(), 100 * checked.median);
}

Status Run(const Options& o) {
  CHORUS_ASSIGN_OR_RETURN(std::vector<Measurement> measurements, ReadLogs(o, o.logs));
  const std::size_t count = measurements.size();
  CHORUS_ASSIGN_OR_RETURN(std::vector<FittedCurve> fits, FitAll(std::move(measurements)));
  CHORUS_ASSIGN_OR_RETURN(const Machine machine, MeasuredMachine(o, std::move(fits)));
  std::string logs;
  for (const std::string& log : o.logs) logs += " " + log;
  if (!o.out.empty()) {
    const std::string comment = fmt::format(
        "Made by chorus calibrate of{}: {} measurements.\nUse it as --on {}.", logs, count, o.out);
    CHORUS_RETURN_IF_ERROR(WriteText("--out", o.out, MachineText(machine, comment)));
  }
  Checked checked;
  if (!o.checks.empty()) {
    CHORUS_ASSIGN_OR_RETURN(checked, Check(o, machine.fits));
  }
  if (o.json) {
    Json json = {
        {"machine", machine.name}, {"measurements", count}, {"fits", ToJson(machine.fits)}};
    if (!checked.rows.empty()) {
      json["checked"] = {{"rows", checked.rows.size()}, {"median_off", checked.median}};
    }
    fmt::print("{}\n", json.dump(2));
    return OkStatus();
  }
  PrintTable(machine.fits);
  if (!checked.rows.empty()) PrintChecked(checked);
  if (!o.out.empty()) {
    fmt::print("\nwritten: {}; now chorus estimate all_reduce --bytes 1MiB --on {}\n", o.out,
               o.out);
  }
  return OkStatus();
}

}  // namespace

void AddCalibrate(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<Options>();
  CLI::App* calibrate =
      app.add_subcommand("calibrate", "Make a machine file of measurements, with error bars");
  calibrate
      ->add_option("LOG", o->logs, "Output of nccl-tests or chorus bench, or the latter's JSON")
      ->required();
  calibrate->add_option("--like", o->like, "What was measured, as a100-8 (default: this host)");
  calibrate->add_option("--catalogue", o->catalogues, "More hardware, from this TOML file");
  calibrate->add_option("--op", o->op, "Operation of a log that does not say it");
  calibrate->add_option("--ranks", o->ranks, "Ranks of a log that does not say them");
  calibrate->add_option("--nodes", o->nodes, "Nodes of a log that does not say them");
  calibrate->add_option("--out", o->out, "Write the machine into this TOML file");
  calibrate->add_option("--check", o->checks, "Predict this other log of the machine, row by row");
  calibrate->add_flag("--json", o->json, "JSON instead of a table");
  calibrate->footer(
      "Every other size of an operation is held out and predicted. Of rows that are repeated (-N "
      "5)\n"
      "the median counts.\n"
      "Examples:\n"
      "  chorus bench all -b 1K -e 64M -f 2 -N 5 -J here.json\n"
      "  chorus calibrate here.json --out ./here.toml --check again.json\n"
      "  chorus calibrate nccl.log --like a100-8 --out ./a100.toml");
  calibrate->callback([o, &outcome] { outcome.status = Run(*o); });
}

}  // namespace chorus::cli
