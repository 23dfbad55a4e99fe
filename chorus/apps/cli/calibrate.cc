#include "chorus/apps/cli/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "chorus/apps/answer/machine_choice.h"
#include "chorus/apps/cli/calibrate_logs.h"
#include "chorus/base/counted.h"
#include "chorus/base/nearest.h"
#include "chorus/base/rate.h"
#include "chorus/cost/calibrate/doubts.h"
#include "chorus/cost/calibrate/fit.h"
#include "chorus/cost/calibrate/link_of_fits.h"
#include "chorus/cost/calibrate/placement.h"
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
  std::string algorithm;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> nodes;
  std::string out;
  std::vector<std::string> checks;  // other logs of the same machine, to be predicted
  bool json = false;
};

// True if any operation has a formula for it.
bool HasFormula(const std::string& algorithm, const std::string& op) {
  for (const std::string& each : FormulaOps()) {
    if ((op.empty() || op == each) && FindFormula(each, algorithm).ok()) return true;
  }
  return false;
}

std::vector<std::string> AlgorithmsOf(const std::string& op) {
  std::set<std::string> names;
  for (const Formula& formula : AllFormulas()) {
    if (!op.empty() && op != formula.op) continue;
    const bool numbered = formula.algorithm.back() == ':';
    names.insert(std::string(formula.algorithm) + (numbered ? "4" : ""));
  }
  return {names.begin(), names.end()};
}

// What --op, --algorithm, --ranks and --nodes say, as far as they are given.
Result<LogDefaults> Defaults(const CalibrateOptions& o) {
  LogDefaults defaults;
  if (!o.op.empty()) {
    defaults.op = OperationOfName(o.op);
    if (defaults.op.empty()) {
      return InvalidArgument(fmt::format("--op {}; {}", o.op, NearestAdvice(o.op, FormulaOps())));
    }
  }
  if (!o.algorithm.empty() && !HasFormula(o.algorithm, defaults.op)) {
    return InvalidArgument(fmt::format("--algorithm {}; {}", o.algorithm,
                                       NearestAdvice(o.algorithm, AlgorithmsOf(defaults.op))));
  }
  defaults.algorithm = o.algorithm;
  for (const auto& [name, given] : {std::pair("--ranks", o.ranks), std::pair("--nodes", o.nodes)}) {
    if (!given || (*given >= 1 && *given <= kMostMeasuredRanks)) continue;
    return InvalidArgument(fmt::format("{} {}; give 1 to {}", name, *given, kMostMeasuredRanks));
  }
  defaults.ranks = o.ranks.value_or(0);
  defaults.nodes = o.nodes.value_or(0);
  return defaults;
}

// Errors: none of the curves can be of the algorithm that --algorithm says, on this machine.
Status CheckAlgorithm(const std::string& algorithm, const Machine& machine,
                      const std::vector<FittedCurve>& fits) {
  Status why = OkStatus();
  for (const FittedCurve& fit : fits) {
    Question q;
    q.op = fit.op;
    q.bytes = static_cast<double>(fit.most_bytes);
    const auto estimate =
        EstimateCollective(WiringOf(machine, fit.ranks), q, algorithm, LatencyModel::kSum);
    if (estimate.ok()) return OkStatus();
    why = estimate.status();
  }
  return why.ok() ? why : InvalidArgument("--algorithm " + algorithm + ": " + why.message());
}

// The machine that was measured: what --like says, or as many processes on this host, with the link
// that the measurements give.
struct MeasuredMachine {
  Machine machine;
  std::optional<LinkOfFits> link;  // empty: that of --like stays
  std::string why;                 // which link that is and why
};

Result<MeasuredMachine> FindMachine(const CalibrateOptions& o, std::vector<FittedCurve> fits,
                                    const std::vector<Measurement>& measurements) {
  std::int64_t ranks = 1;
  for (const FittedCurve& fit : fits) ranks = std::max(ranks, fit.ranks);
  CHORUS_ASSIGN_OR_RETURN(const Catalogue catalogue, answer::ReadCatalogue(o.catalogues));
  const std::string like = o.like.empty() ? fmt::format("host-{}", ranks) : o.like;
  CHORUS_ASSIGN_OR_RETURN(Machine machine, answer::MachineOn(like, catalogue));
  for (const Measurement& m : measurements) CHORUS_RETURN_IF_ERROR(CheckPlacement(machine, m));
  MeasuredMachine made = {std::move(machine), {}, ""};
  const Result<LinkOfFits> found = FindLinkOfFits(made.machine, fits, measurements);
  if (!o.algorithm.empty()) {
    CHORUS_RETURN_IF_ERROR(CheckAlgorithm(o.algorithm, made.machine, fits));
    if (!found.ok()) {
      return InvalidArgument(fmt::format("--algorithm {} finds a link, but {}; leave it out",
                                         o.algorithm, found.status().message()));
    }
  }
  if (found.ok()) {
    Topology::Definition d = made.machine.topology.definition();
    d.link = found->Link();
    CHORUS_ASSIGN_OR_RETURN(made.machine.topology, Topology::Make(std::move(d)));
    made.link = *found;
    made.why = found->ToString();
  } else {
    made.why = fmt::format("that of {}; {}", like, found.status().message());
  }
  made.machine.fits = std::move(fits);
  return made;
}

Json ToJson(const Measured& m) {
  Json json = {{"value", m.value}, {"low", nullptr}, {"high", nullptr}};
  if (!m.IntervalKnown()) return json;
  json["low"] = m.low;
  json["high"] = m.high;
  return json;
}

Json ToJson(const MeasuredMachine& made) {
  const LinkSpec& link = made.machine.topology.definition().link;
  Json json = {{"bandwidth_bytes_per_second", link.bandwidth.value()},
               {"latency_seconds", link.latency.value()},
               {"why", made.why}};
  if (!made.link) return json;
  json["bandwidth_interval"] = ToJson(made.link->Bandwidth());
  json["bandwidth_determined"] = made.link->BandwidthDetermined();
  json["latency_interval"] = ToJson(made.link->Latency());
  json["latency_determined"] = made.link->LatencyDetermined();
  json["explanations"] = Json::array();
  for (const Explanation& e : made.link->explanations) {
    json["explanations"].push_back({{"algorithm", e.algorithm},
                                    {"bandwidth_bytes_per_second", e.bandwidth.value},
                                    {"latency_seconds", e.latency.value}});
  }
  return json;
}

Json ToJson(const std::vector<FittedCurve>& fits) {
  Json json = Json::array();
  for (const FittedCurve& f : fits) {
    json.push_back({{"operation", f.op},
                    {"ranks", f.ranks},
                    {"nodes", f.nodes},
                    {"root", nullptr},
                    {"latency_seconds", ToJson(f.latency)},
                    {"saturation_seconds_per_sqrt_byte", ToJson(f.saturation)},
                    {"inverse_bandwidth_seconds_per_byte", ToJson(f.inverse)},
                    {"points", f.points},
                    {"error_fitted", f.error_fitted},
                    {"error_held_out", nullptr}});
    if (f.root >= 0) json.back()["root"] = f.root;
    if (f.error_held_out) json.back()["error_held_out"] = *f.error_held_out;
  }
  return json;
}

// "broadcast, root 3".
std::string WithRoot(const std::string& op, std::int64_t root) {
  return root < 0 ? op : fmt::format("{}, root {}", op, root);
}

// "10 us (9 us .. 11 us)".
std::string WithInterval(const std::string& value, const std::string& low, const std::string& high,
                         bool known) {
  return known ? fmt::format("{} ({} .. {})", value, low, high) : value + " (unknown)";
}

void PrintTable(const std::vector<FittedCurve>& fits) {
  fmt::print("{:<17} {:>5} {:>26} {:>12} {:>32} {:>7} {:>7} {:>9}\n", "operation", "ranks",
             "latency (95 %)", "at 1 MiB +", "algorithm bandwidth (95 %)", "points", "fitted",
             "held out");
  for (const FittedCurve& f : fits) {
    const auto rate = [](double inverse) {
      return inverse > 0 ? ToString(BytesPerSecond(1 / inverse)) : std::string("no limit");
    };
    const auto time = [](double seconds) { return ToString(Seconds(seconds)); };
    fmt::print("{:<17} {:>5} {:>26} {:>12} {:>32} {:>7} {:>6.1f}% {:>9}\n", WithRoot(f.op, f.root),
               f.ranks,
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
                         const std::vector<FittedCurve>& fits,
                         const std::vector<Measurement>& fitted,
                         std::vector<std::string>& remarks) {
  const Result<MeasurementLog> log = ReadLogs(o.checks, defaults);
  if (!log.ok()) return log.status().WithContext("--check");
  for (const std::string& remark : log->Remarks()) remarks.push_back("--check: " + remark);
  for (const std::string& change : ChangesOf(fitted, log->measurements(), fits)) {
    remarks.push_back("--check: " + change);
  }
  const std::vector<Measurement> seconds = Medians(log->measurements());
  CheckedLog checked;
  std::vector<double> off;
  for (const Measurement& m : seconds) {
    for (const FittedCurve& fit : fits) {
      if (!IsOf(m, fit)) continue;
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
  fmt::print("\n{:<17} {:>6} {:>12} {:>11} {:>11} {:>8}\n", "checked", "ranks", "bytes", "measured",
             "predicted", "off");
  for (const auto& [m, predicted] : checked.rows) {
    fmt::print("{:<17} {:>6} {:>12.0f} {:>11} {:>11} {:>+7.1f}%\n", WithRoot(m.op, m.root), m.ranks,
               m.bytes, ToString(Seconds(m.seconds)), ToString(Seconds(predicted)),
               100 * (predicted / m.seconds - 1));
  }
  fmt::print("median of {}: {:.1f} %\n", checked.rows.size(), 100 * checked.median);
}

// Only a file that reads back is written.
Status WriteMachine(const CalibrateOptions& o, const MeasuredMachine& made, std::size_t count) {
  std::string logs;
  for (const std::string& log : o.logs) logs += " " + log;
  const std::string text = MachineText(
      made.machine,
      fmt::format("Made by chorus calibrate of{}: {} measurements.\nUse it as --on {}.\nlink: {}",
                  logs, count, o.out, made.why));
  const Result<Machine> again = ParseMachine(text, o.out, Catalogue::BuiltIn());
  if (!again.ok()) return Internal("the machine file would be wrong: " + again.status().message());
  return WriteFile(o.out, text, "--out");
}

Status RunCalibrate(const CalibrateOptions& o) {
  CHORUS_ASSIGN_OR_RETURN(const LogDefaults defaults, Defaults(o));
  CHORUS_ASSIGN_OR_RETURN(const MeasurementLog log, ReadLogs(o.logs, defaults));
  const std::vector<Measurement>& measurements = log.measurements();
  const std::size_t count = measurements.size();
  std::vector<std::string> remarks = log.Remarks();
  CHORUS_ASSIGN_OR_RETURN(Fits fits, FitAll(measurements));
  for (const std::string& why : fits.too_few) remarks.push_back("left out: " + why);
  for (std::string& doubt : DoubtsOf(measurements, fits.curves)) {
    remarks.push_back(std::move(doubt));
  }
  if (MeasuredOnce(measurements)) {
    remarks.emplace_back(
        "each size was measured once, one row: intervals say how sure a curve through these rows "
        "is, not how much times scatter; repeat the measurement, as with -N 5");
  }
  CHORUS_ASSIGN_OR_RETURN(const MeasuredMachine made,
                          FindMachine(o, std::move(fits.curves), measurements));
  const Machine& machine = made.machine;
  CheckedLog checked;
  if (!o.checks.empty()) {
    CHORUS_ASSIGN_OR_RETURN(checked, Check(o, defaults, machine.fits, measurements, remarks));
  }
  if (!o.out.empty()) CHORUS_RETURN_IF_ERROR(WriteMachine(o, made, count));
  if (o.json) {
    Json json = {{"machine", machine.name},
                 {"measurements", count},
                 {"link", ToJson(made)},
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
  fmt::print("link: {}\n", made.why);
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
  calibrate->add_option("--algorithm", o->algorithm,
                        "Algorithm of a log that does not say it, as ring");
  calibrate->add_option("--ranks", o->ranks, "Ranks of a log that does not say them");
  calibrate->add_option("--nodes", o->nodes, "Nodes of a log that does not say them");
  calibrate->add_option("--out", o->out, "Write the machine into this TOML file");
  calibrate->add_option("--check", o->checks, "Predict this other log of the machine, row by row");
  calibrate->add_flag("--json", o->json, "JSON instead of a table");
  calibrate->footer(
      "Of 7 sizes or more of an operation every other is held out and predicted. Of rows that are "
      "repeated\n"
      "(-N 5) the median counts. Rows whose result was wrong are left out.\n"
      "The link is that of the likeliest algorithm, if the log does not name it; what else it "
      "could "
      "be is told.\n"
      "Examples:\n"
      "  chorus bench all -b 1K -e 64M -f 2 -N 5 -J here.json\n"
      "  chorus calibrate here.json --out ./here.toml --check again.json\n"
      "  chorus calibrate nccl.log --like a100-8 --out ./a100.toml");
  calibrate->callback([o, &outcome] { outcome.status = RunCalibrate(*o); });
}

}  // namespace chorus::cli
