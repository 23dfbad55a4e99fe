#include "chorus/apps/cli/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "chorus/apps/answer/machine_choice.h"
#include "chorus/apps/cli/calibrate_logs.h"
#include "chorus/apps/cli/option_rules.h"
#include "chorus/base/counted.h"
#include "chorus/base/nearest.h"
#include "chorus/base/rate.h"
#include "chorus/cost/calibrate/fit.h"
#include "chorus/cost/calibrate/link_of_fits.h"
#include "chorus/cost/formula/formula.h"
#include "chorus/probe/write_file.h"

namespace chorus::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CalibrateOptions {
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

// What --op, --ranks and --nodes say, as far as they are given.
Result<LogDefaults> Defaults(const CalibrateOptions& o) {
  LogDefaults defaults;
  if (!o.op.empty()) {
    defaults.op = OperationOfName(o.op);
    if (defaults.op.empty()) {
      return InvalidArgument(fmt::format("--op {}; {}", o.op, NearestAdvice(o.op, FormulaOps())));
    }
  }
  for (const auto& [name, given] : {std::pair("--ranks", o.ranks), std::pair("--nodes", o.nodes)}) {
    if (!given || (*given >= 1 && *given <= kMostMeasuredRanks)) continue;
    return InvalidArgument(fmt::format("{} {}; give 1 to {}", name, *given, kMostMeasuredRanks));
  }
  defaults.ranks = o.ranks.value_or(0);
  defaults.nodes = o.nodes.value_or(0);
  return defaults;
}

// The machine that was measured: what --like says, or as many processes on this host, with the link
// that the measurements give. `link` says which that is and why.
Result<Machine> MeasuredMachine(const CalibrateOptions& o, std::vector<FittedCurve> fits,
                                std::string& link) {
  std::int64_t ranks = 1, nodes = 1;
  for (const FittedCurve& fit : fits) {
    ranks = std::max(ranks, fit.ranks);
    nodes = std::max(nodes, fit.nodes);
  }
  CHORUS_ASSIGN_OR_RETURN(const Catalogue catalogue, answer::ReadCatalogue(o.catalogues));
  const std::string like = o.like.empty() ? fmt::format("host-{}", ranks) : o.like;
  CHORUS_ASSIGN_OR_RETURN(Machine machine, answer::MachineOn(like, catalogue));
  if (ranks > machine.topology.device_count()) {
    return InvalidArgument(fmt::format("--like {} has {}, but {} ranks were measured", like,
                                       Counted(machine.topology.device_count(), "device"), ranks));
  }
  if (nodes > machine.topology.definition().nodes) {
    return InvalidArgument(
        fmt::format("--like {} has {}, but {} were measured; name it as h100-8x{}", like,
                    Counted(machine.topology.definition().nodes, "node"), nodes, nodes));
  }
  const Result<LinkOfFits> found = FindLinkOfFits(machine, fits);
  if (found.ok()) {
    Topology::Definition d = machine.topology.definition();
    d.link = found->link;
    CHORUS_ASSIGN_OR_RETURN(machine.topology, Topology::Make(std::move(d)));
    link = found->ToString();
  } else {
    link = fmt::format("that of {}; {}", like, found.status().message());
  }
  machine.fits = std::move(fits);
  return machine;
}

Json ToJson(const Measured& m) {
  Json json = {{"value", m.value}, {"low", nullptr}, {"high", nullptr}};
  if (!m.IntervalKnown()) return json;
  json["low"] = m.low;
  json["high"] = m.high;
  return json;
}

Json ToJson(const LinkSpec& link, const std::string& why) {
  return {{"bandwidth_bytes_per_second", link.bandwidth.value()},
          {"latency_seconds", link.latency.value()},
          {"why", why}};
}

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
                    {"error_held_out", nullptr}});
    if (f.error_held_out) json.back()["error_held_out"] = *f.error_held_out;
  }
  return json;
}

// "10 us (9 us .. 11 us)".
std::string WithInterval(const std::string& value, const std::string& low, const std::string& high,
                         bool known) {
  return known ? fmt::format("{} ({} .. {})", value, low, high) : value + " (unknown)";
}

void PrintTable(const std::vector<FittedCurve>& fits) {
  fmt::print("{:<15} {:>5} {:>26} {:>12} {:>32} {:>7} {:>7} {:>9}\n", "operation", "ranks",
             "latency (95 %)", "at 1 MiB +", "algorithm bandwidth (95 %)", "points", "fitted",
             "held out");
  for (const FittedCurve& f : fits) {
    const auto rate = [](double inverse) {
      return inverse > 0 ? ToString(BytesPerSecond(1 / inverse)) : std::string("no limit");
    };
    const auto time = [](double seconds) { return ToString(Seconds(seconds)); };
    fmt::print("{:<15} {:>5} {:>26} {:>12} {:>32} {:>7} {:>6.1f}% {:>9}\n", f.op, f.ranks,
               WithInterval(time(f.latency.value), time(f.latency.low), time(f.latency.high),
                            f.latency.IntervalKnown()),
               time(f.saturation.value * 1024),
               WithInterval(rate(f.inverse.value), rate(f.inverse.high), rate(f.inverse.low),
                            f.inverse.IntervalKnown()),
               f.points, 100 * f.error_fitted,
               f.error_held_out ? fmt::format("{:.1f}%", 100 * *f.error_held_out) : "-");
  }
}

// How far the fits are off on other measurements of the machine, each; the middle one counts.
struct CheckedLog {
  std::vector<std::pair<Measurement, double>> rows;  // and what was predicted, s
  double median = 0;                                 // of |predicted / measured - 1|
};

Result<CheckedLog> Check(const CalibrateOptions& o, const LogDefaults& defaults,
                         const std::vector<FittedCurve>& fits, std::vector<std::string>& remarks) {
  const Result<MeasurementLog> log = ReadLogs(o.checks, defaults);
  if (!log.ok()) return log.status().WithContext("--check");
  for (const std::string& remark : log->Remarks()) remarks.push_back("--check: " + remark);
  const std::vector<Measurement> seconds = Medians(log->measurements());
  CheckedLog checked;
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

void PrintChecked(const CheckedLog& checked) {
  fmt::print("\n{:<15} {:>6} {:>12} {:>11} {:>11} {:>8}\n", "checked", "ranks", "bytes", "measured",
             "predicted", "off");
  for (const auto& [m, predicted] : checked.rows) {
    fmt::print("{:<15} {:>6} {:>12.0f} {:>11} {:>11} {:>+7.1f}%\n", m.op, m.ranks, m.bytes,
               ToString(Seconds(m.seconds)), ToString(Seconds(predicted)),
               100 * (predicted / m.seconds - 1));
  }
  fmt::print("median of {}: {:.1f} %\n", checked.rows.size(), 100 * checked.median);
}

// Only a file that reads back is written.
Status WriteMachine(const CalibrateOptions& o, const Machine& machine, std::size_t count) {
  std::string logs;
  for (const std::string& log : o.logs) logs += " " + log;
  const std::string text = MachineText(
      machine, fmt::format("Made by chorus calibrate of{}: {} measurements.\nUse it as --on {}.",
                           logs, count, o.out));
  const Result<Machine> again = ParseMachine(text, o.out, Catalogue::BuiltIn());
  if (!again.ok()) return Internal("the machine file would be wrong: " + again.status().message());
  return WriteFile(o.out, text, "--out");
}

Status RunCalibrate(const CalibrateOptions& o, const CLI::App& command) {
  CHORUS_RETURN_IF_ERROR(CheckNoneEmpty(command));
  CHORUS_ASSIGN_OR_RETURN(const LogDefaults defaults, Defaults(o));
  CHORUS_ASSIGN_OR_RETURN(const MeasurementLog log, ReadLogs(o.logs, defaults));
  std::vector<Measurement> measurements = Medians(log.measurements());
  const std::size_t count = measurements.size();
  std::vector<std::string> remarks = log.Remarks();
  CHORUS_ASSIGN_OR_RETURN(Fits fits, FitAll(std::move(measurements)));
  for (const std::string& why : fits.too_few) remarks.push_back("left out: " + why);
  for (const FittedCurve& fit : fits.curves) {
    if (!IsDoubtful(fit)) continue;
    remarks.push_back(fmt::format(
        "WARNING: the curve of {} over {} is {:.0f} % off: the measurements contradict each other, "
        "or the machine was busy; measure again before you rely on it",
        fit.op, Counted(fit.ranks, "rank"),
        100 * std::max(fit.error_fitted, fit.error_held_out.value_or(0))));
  }
  std::string link;
  CHORUS_ASSIGN_OR_RETURN(const Machine machine, MeasuredMachine(o, std::move(fits.curves), link));
  CheckedLog checked;
  if (!o.checks.empty()) {
    CHORUS_ASSIGN_OR_RETURN(checked, Check(o, defaults, machine.fits, remarks));
  }
  if (!o.out.empty()) CHORUS_RETURN_IF_ERROR(WriteMachine(o, machine, count));
  if (o.json) {
    Json json = {{"machine", machine.name},
                 {"measurements", count},
                 {"link", ToJson(machine.topology.definition().link, link)},
                 {"fits", ToJson(machine.fits)},
                 {"remarks", remarks}};
    if (!checked.rows.empty()) {
      json["checked"] = {{"rows", checked.rows.size()}, {"median_off", checked.median}};
    }
    fmt::print("{}\n", json.dump(2));
    return OkStatus();
  }
  PrintTable(machine.fits);
  if (std::any_of(machine.fits.begin(), machine.fits.end(),
                  [](const FittedCurve& f) { return !f.latency.IntervalKnown(); })) {
    remarks.push_back(
        fmt::format("(unknown): {} sizes or fewer make a curve through all, right or wrong; "
                    "measure more to know how sure it is",
                    kCurveNumbers));
  }
  fmt::print("link: {}\n", link);
  for (const std::string& remark : remarks) fmt::print("{}\n", remark);
  if (!checked.rows.empty()) PrintChecked(checked);
  if (!o.out.empty()) {
    fmt::print("\nwritten: {}; now chorus estimate all_reduce --bytes 1MiB --on {}\n", o.out,
               o.out);
  }
  return OkStatus();
}

}  // namespace

void AddCalibrate(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<CalibrateOptions>();
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
      "Of 7 sizes or more of an operation every other is held out and predicted. Of rows that are "
      "repeated\n"
      "(-N 5) the median counts. Rows whose result was wrong are left out.\n"
      "Examples:\n"
      "  chorus bench all -b 1K -e 64M -f 2 -N 5 -J here.json\n"
      "  chorus calibrate here.json --out ./here.toml --check again.json\n"
      "  chorus calibrate nccl.log --like a100-8 --out ./a100.toml");
  calibrate->callback([o, calibrate, &outcome] { outcome.status = RunCalibrate(*o, *calibrate); });
}

}  // namespace chorus::cli
