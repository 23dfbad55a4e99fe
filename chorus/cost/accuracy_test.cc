// Predictions against public measurements, row by row: testdata/measured_collectives.csv.
//
// The error over rows is exp(mean |ln(predicted / measured)|) - 1. Counted are the rows of
// nccl-tests from 1 MiB up whose machine is in the catalogue, but for one that set a constant
// (nccl_model.h) and one whose own note says that the machine was set up poorly.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

#include "chorus/cost/calibrate/fit.h"
#include "chorus/cost/csv_test.h"
#include "chorus/cost/formula/formula.h"

namespace chorus {
namespace {

struct Row {
  std::string hardware;
  std::string source;
  std::string machine;  // in the catalogue; empty if it is not there
  std::string algorithm;
  Measurement measured;
  std::string why_not;   // empty: the row counts
  double predicted = 0;  // s, uncalibrated

  double Off() const { return std::log(predicted / measured.seconds); }
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The machine of a row, by the words it uses.
std::string MachineOf(const CsvRow& row) {
  const std::string& hardware = row.at("hardware");
  const std::string nodes = row.at("nodes");
  const std::string many = nodes == "1" ? "" : "x" + nodes;
  if (Has(hardware, "PCIe")) return "";  // a pair with a bridge: not in the catalogue
  if (Has(hardware, "4 NIC HDR")) return "a100-4x2";
  if (Has(hardware, "DGX A100") || Has(hardware, "A100 8x")) return "a100-8" + many;
  if (Has(hardware, "V100 8x")) return "v100-8" + many;
  if (Has(hardware, "H100 8x") || Has(hardware, "H100 NDR")) return "h100-8" + many;
  if (hardware == "H100" || hardware == "A100") return hardware + "-" + row.at("ranks");
  return "";
}

bool OfNcclTests(const CsvRow& row) {
  const std::string all = row.at("source") + row.at("algo_or_flags");
  return Has(all, "nccl-tests") || Has(all, "mpirun -g 1");
}

std::optional<double> Number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' ? std::optional(value) : std::nullopt;
}

// The time, or what busbw says of it.
std::optional<double> SecondsOf(const CsvRow& row, double bytes, std::int64_t ranks) {
  if (const auto time = Number(row.at("time_us"))) return *time * 1e-6;
  const auto busbw = Number(row.at("busbw_GBps"));
  if (!busbw) return std::nullopt;
  return bytes * BusFactor(row.at("op"), ranks) / (*busbw * 1e9);
}

std::optional<Row> Read(const CsvRow& row) {
  const auto bytes = Number(row.at("bytes"));
  auto ranks = Number(row.at("ranks"));
  if (!ranks && Has(row.at("uncertain"), "8 ranks")) ranks = 8;  // by its busbw factor
  if (!bytes || !ranks) return std::nullopt;
  const auto n = static_cast<std::int64_t>(*ranks);
  const auto seconds = SecondsOf(row, *bytes, n);
  if (!seconds) return std::nullopt;
  Row r;
  r.hardware = row.at("hardware");
  r.source = row.at("source");
  r.machine = MachineOf(row);
  r.measured = {row.at("op"), n, static_cast<std::int64_t>(*Number(row.at("nodes"))), *bytes,
                *seconds};
  const std::string& flags = row.at("algo_or_flags");
  r.algorithm = r.measured.op == "all_to_all"                    ? "direct"
                : Has(flags, "NVLS") && r.measured.nodes == 1    ? "sharp"
                : Has(flags, "SHARP off") || Has(flags, "-n 50") ? "ring"
                                                                 : "";
  if (!OfNcclTests(row)) r.why_not = "not nccl-tests";
  if (*bytes < 1 << 20) r.why_not = "below 1 MiB";
  if (r.machine.empty()) r.why_not = "not in the catalogue";
  if (Has(row.at("uncertain"), "poor setup")) r.why_not = "poor setup, says the row";
  if (Has(flags, "mpirun") && *bytes == 16'777'216) r.why_not = "set a constant";
  return r;
}

// What NCCL would choose: the fastest of ring and tree, unless the row says which.
void Predict(Row& row) {
  Result<Machine> machine = MachineNamed(row.machine, Catalogue::BuiltIn());
  ASSERT_TRUE(machine.ok()) << machine.status().ToString();
  if (Has(row.hardware, "100Gb IB")) {  // one port of 100 Gbit/s in a node
    Topology::Definition d = machine->topology.definition();
    d.nics = 1;
    d.nic.bandwidth = BytesPerSecond(12.5e9);
    machine->topology = *Topology::Make(d);
  }
  const Wiring wiring = WiringOf(*machine, row.measured.ranks);
  Question q;
  q.op = row.measured.op;
  q.bytes = row.measured.bytes;
  for (const std::string& name : row.algorithm.empty() ? std::vector<std::string>{"ring", "tree"}
                                                       : std::vector<std::string>{row.algorithm}) {
    const Result<Estimate> e = EstimateCollective(wiring, q, name, LatencyModel::kNccl);
    if (!e.ok()) continue;
    if (row.predicted == 0 || e->time.value() < row.predicted) row.predicted = e->time.value();
  }
  if (row.predicted == 0) row.why_not = "no model";
}

std::vector<Row> AllRows() {
  std::vector<Row> rows;
  for (const CsvRow& line : ReadCsv("measured_collectives.csv")) {
    std::optional<Row> row = Read(line);
    if (!row) continue;
    if (!row->machine.empty()) Predict(*row);
    rows.push_back(*std::move(row));
  }
  return rows;
}

double Error(const std::vector<double>& offs) {
  double sum = 0;
  for (double off : offs) sum += std::abs(off);
  return std::exp(sum / static_cast<double>(offs.size())) - 1;
}

TEST(AccuracyTest, UncalibratedWithinTwentyPercent) {
  std::vector<double> counted;
  std::map<std::string, std::vector<double>> by_family;
  for (const Row& row : AllRows()) {
    const bool counts = row.why_not.empty();
    std::printf(
        "%-22s %-11s %4lld ranks %12.0f B  measured %10.1f us  predicted %10.1f us %+6.1f %%  %s\n",
        row.hardware.c_str(), row.measured.op.c_str(), static_cast<long long>(row.measured.ranks),
        row.measured.bytes, row.measured.seconds * 1e6, row.predicted * 1e6,
        row.predicted > 0 ? 100 * (row.predicted / row.measured.seconds - 1) : 0.0,
        counts ? "" : ("(" + row.why_not + ")").c_str());
    if (!counts) continue;
    counted.push_back(row.Off());
    by_family[row.hardware.substr(0, 4)].push_back(row.Off());
  }
  for (const auto& [family, offs] : by_family) {
    std::printf("%s: %.1f %% over %zu rows\n", family.c_str(), 100 * Error(offs), offs.size());
  }
  std::printf("all: %.1f %% over %zu rows\n", 100 * Error(counted), counted.size());
  EXPECT_GE(counted.size(), 33U);
  EXPECT_LE(Error(counted), 0.20);
}

// Every other row of each installation is fitted, the others are predicted. No row of an H100 is
// fitted: that family is predicted from NCCL's constants alone.
TEST(AccuracyTest, CalibratedWithinTenPercent) {
  std::map<std::string, std::vector<Row>> installations;
  std::vector<double> unseen_family;
  for (const Row& row : AllRows()) {
    if (Has(row.hardware, "H100") && row.why_not.empty()) unseen_family.push_back(row.Off());
    if (Has(row.hardware, "A100 8x") && row.measured.op == "all_reduce") {
      installations[row.source].push_back(row);
    }
  }
  ASSERT_EQ(installations.size(), 2U);
  std::vector<double> all, held_out;
  for (const auto& [source, rows] : installations) {
    std::vector<Measurement> fitted;
    for (std::size_t i = 0; i < rows.size(); i += 2) fitted.push_back(rows[i].measured);
    const FittedCurve curve = FitCurve(fitted);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Measurement& m = rows[i].measured;
      const double off = std::log(curve.Time(m.bytes) / m.seconds);
      const bool counts = m.bytes >= 1 << 20;
      std::printf("%12.0f B  measured %10.1f us  calibrated %10.1f us %+6.1f %%  %s%s\n", m.bytes,
                  m.seconds * 1e6, curve.Time(m.bytes) * 1e6, 100 * std::expm1(off),
                  i % 2 == 0 ? "fitted" : "held out", counts ? "" : " (below 1 MiB)");
      if (!counts) continue;
      all.push_back(off);
      if (i % 2 == 1) held_out.push_back(off);
    }
  }
  std::printf(
      "from 1 MiB up: %.1f %% over %zu rows, %.1f %% over the %zu held out; H100, no row of "
      "which was fitted: %.1f %% over %zu rows\n",
      100 * Error(all), all.size(), 100 * Error(held_out), held_out.size(),
      100 * Error(unseen_family), unseen_family.size());
  EXPECT_LE(Error(all), 0.10);
  EXPECT_LE(Error(unseen_family), 0.20);
}

// Small messages of H100s, as the lecture notes measured them.
TEST(AccuracyTest, SmallMessagesTakeTheTreeBetweenNodes) {
  const std::map<std::string, double> microseconds = {
      {"h100-8", 15.0}, {"h100-8x2", 25.2}, {"h100-8x4", 35.2}};
  for (const auto& [name, expected] : microseconds) {
    const Machine machine = *MachineNamed(name, Catalogue::BuiltIn());
    const Wiring w = WiringOf(machine, machine.topology.device_count());
    Question q;
    q.op = "all_reduce";
    q.bytes = 128;
    const std::vector<Estimate> all = *CompareAlgorithms(w, q, LatencyModel::kNccl);
    EXPECT_NEAR(all.front().time.value(), expected * 1e-6, 0.4e-6) << name;
    EXPECT_EQ(all.front().protocol, "LL");
  }
}

}  // namespace
}  // namespace chorus
