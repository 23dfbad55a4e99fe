#include "chorus/apps/cli/bench_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <string_view>

namespace chorus::cli {
namespace {

// Seven characters, as many digits after the point as fit (the way of nccl-tests).
std::string Seven(double value) {
  const int places = value >= 100'000 ? 0 : value >= 10'000 ? 1 : 2;
  return fmt::format("{:>7.{}f}", value, places);
}
std::string Six(double value) { return fmt::format("{:>6.2f}", value); }

std::string Columns(const BenchRow& row, const std::optional<BenchTiming>& timing) {
  if (!timing) return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "N/A", "N/A", "N/A", "N/A");
  const std::string wrong = timing->wrong < 0 ? "N/A" : fmt::format("{}", timing->wrong);
  return fmt::format("  {}  {}  {}  {:>6}", Seven(timing->time_us), Six(row.AlgBandwidth(*timing)),
                     Six(row.BusBandwidth(*timing)), wrong);
}

nlohmann::ordered_json ToJson(const BenchRow& row, const std::optional<BenchTiming>& timing) {
  if (!timing) return nullptr;
  nlohmann::ordered_json json = {{"time_us", timing->time_us},
                                 {"median_us", timing->median_us},
                                 {"algbw_GB_per_s", row.AlgBandwidth(*timing)},
                                 {"busbw_GB_per_s", row.BusBandwidth(*timing)}};
  json["wrong"] =
      timing->wrong < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(timing->wrong);
  return json;
}

std::string AlgorithmsText(const BenchSettings& s, const BenchPlace& place) {
  if (s.schedule) return "as --schedule";
  if (s.algorithms != std::vector<std::string>{""}) {
    return fmt::format("{}", fmt::join(s.algorithms, ","));
  }
  return place.tuning.empty() ? "the built-in rule" : place.tuning;
}

}  // namespace

std::string BenchHead(const BenchSettings& s, OpKind op, bool threads, const BenchPlace& place) {
  const std::string step =
      s.factor > 1 ? fmt::format("{:g}(factor)", s.factor) : fmt::format("{}(bytes)", s.step);
  std::string out = fmt::format(
      "# chorus bench version {} (options, columns and footer of nccl-tests)\n"
      "# Collective test starting: {}\n"
      "# nThread {} nGpus 1 minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} agg iters: "
      "{} "
      "validation: {} graph: 0\n",
      CHORUS_VERSION, Name(op), threads ? s.ranks : 1, s.sizes.front(), s.maximum, step, s.warmup,
      s.iterations, s.aggregated, s.checks);
  out += fmt::format("# memory: {} calls: {} algorithms: {}\n", Name(s.memory), Name(s.calls),
                     AlgorithmsText(s, place));
  out += "#\n# Using devices\n";
  for (const BenchDevice& d : place.devices) {
    out += fmt::format("#  Rank {:>2} Group  0 Pid {:>6} on  localhost device {:>2} [core] CPU\n",
                       d.rank, d.pid, d.core);
  }
  std::set<int> used;
  for (const BenchDevice& d : place.devices) used.insert(d.core);
  if (used.size() < place.devices.size()) {
    out +=
        fmt::format("#  {} ranks share {} core{}: they wait for their turns, not for each other\n",
                    place.devices.size(), used.size(), used.size() == 1 ? "" : "s");
  }
  // Left of the times stand 52 characters; each block of times is 33 wide.
  out += fmt::format("#\n#{:<51}{:^33}{:^33}\n", "", "out-of-place", "in-place");
  out +=
      fmt::format("#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}", "size", "count", "type", "redop", "root");
  for (int k = 0; k < 2; ++k) {
    out += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "time", "algbw", "busbw", "#wrong");
  }
  out += fmt::format("  {:>6}  algorithm\n#{:>11}  {:>12}  {:>8}  {:>6}  {:>6}", "of", "(B)",
                     "(elements)", "", "", "");
  for (int k = 0; k < 2; ++k) {
    out += fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  }
  return out + fmt::format("  {:>6}\n", "bound");
}

std::string BenchLine(const BenchRow& row) {
  const BenchCase& c = row.what;
  const std::optional<double> fraction = row.FractionOfBound();
  std::string out = fmt::format(
      "{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}  {:>6}  {}\n", c.bytes, CountArgument(c),
      NcclName(c.dtype), Reduces(c.op) ? NcclName(c.reduce) : std::string_view("none"),
      HasRoot(c.op) ? c.root : -1, Columns(row, row.out_of_place), Columns(row, row.in_place),
      fraction ? fmt::format("{:.2f}", *fraction) : "-", row.algorithm);
  if (row.checks) {
    const BenchChecks& k = *row.checks;
    const auto word = [](bool ok) { return ok ? "ok" : "WRONG"; };
    out += fmt::format("# own checks: equal bits {}, uneven counts {}, no elements {}",
                       word(k.equal_bits), word(k.uneven), word(k.zero));
    if (k.error_ulp >= 0 || !k.ok()) {
      out += fmt::format(", error {:.2f} ULP (at most {:.2f}) {}", k.error_ulp, k.error_allowed,
                         word(!(k.error_ulp > k.error_allowed)));
    }
    out += "\n";
  }
  return out;
}

std::string BenchFoot(const BenchReport& report, std::optional<bool> ok) {
  std::string out = fmt::format(
      "# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:g} {}\n#\n", report.wrong(),
      report.wrong() == 0 ? "OK" : "FAILED", report.AverageBusBandwidth(),
      !ok   ? ""
      : *ok ? "OK"
            : "FAILED");
  if (!report.checks_ok()) out += "# Own checks           : FAILED\n#\n";
  return out + "# Collective test concluded\n";
}

nlohmann::ordered_json ToJson(const BenchSettings& settings, const BenchReport& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const BenchRow& row : report.rows) {
    const BenchCase& c = row.what;
    nlohmann::ordered_json json = {{"operation", Name(c.op)},
                                   {"size_bytes", c.bytes},
                                   {"count", CountArgument(c)},
                                   {"dtype", Name(c.dtype)},
                                   {"reduction", nullptr},
                                   {"root", HasRoot(c.op) ? c.root : -1},
                                   {"algorithm", row.algorithm},
                                   {"moved_by", row.way},
                                   {"out_of_place", ToJson(row, row.out_of_place)},
                                   {"in_place", ToJson(row, row.in_place)},
                                   {"bound_us", nullptr},
                                   {"fraction_of_bound", nullptr}};
    if (Reduces(c.op)) json["reduction"] = Name(c.reduce);
    if (row.bound_us > 0) json["bound_us"] = row.bound_us;
    if (const auto fraction = row.FractionOfBound()) json["fraction_of_bound"] = *fraction;
    if (row.checks) {
      json["own_checks"] = {{"ok", row.checks->ok()},
                            {"equal_bits", row.checks->equal_bits},
                            {"uneven", row.checks->uneven},
                            {"zero", row.checks->zero}};
      if (row.checks->error_ulp >= 0) json["own_checks"]["error_ulp"] = row.checks->error_ulp;
    }
    rows.push_back(json);
  }
  return {{"version", CHORUS_VERSION},
          {"ranks", settings.ranks},
          {"iterations", settings.iterations},
          {"memory", Name(settings.memory)},
          {"calls", Name(settings.calls)},
          {"wrong", report.wrong()},
          {"average_busbw_GB_per_s", report.AverageBusBandwidth()},
          {"rows", rows}};
}

}  // namespace chorus::cli
