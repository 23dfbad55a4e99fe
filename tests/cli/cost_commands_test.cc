// chorus hardware, estimate and simulate from outside; calibrate_test.cc and cost_options_test.cc
// have the rest of the cost commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Hardware, ListsAllAndShowsOneWithItsSources) {
  const ToolOutcome all = RunTool({"hardware"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.out, HasSubstr("h100     switch of 8, reduces          450 GB/s"));
  EXPECT_THAT(all.out, HasSubstr("All bandwidths are per direction."));
  const ToolOutcome one = RunTool({"hardware", "b200"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, HasSubstr("memory                   192 GB  scaling-book\n"));
  EXPECT_THAT(one.out, HasSubstr("    or                   180 GB  ml-eng\n"));
}

TEST(Hardware, AMachineShowsItsTopology) {
  const ToolOutcome slice = RunTool({"hardware", "v5e-8x16"});
  EXPECT_THAT(slice.out, HasSubstr("torus 8 (no wrap) x 16 (wraps), 45 GB/s per direction"));
  EXPECT_THAT(slice.out, HasSubstr("only an axis of 16 wraps"));
}

TEST(Hardware, JsonHasEveryFigure) {
  const ToolOutcome one = RunTool({"hardware", "h800", "--json"});
  EXPECT_EQ(one.exit_code, 0);
  const auto json = nlohmann::json::parse(one.out);
  EXPECT_EQ(json["figures"]["link_bandwidth"]["value"], 200e9);
  EXPECT_EQ(json["figures"]["link_bandwidth"]["also"][0]["value"], 300e9);
  EXPECT_EQ(json["figures"]["link_bandwidth"]["unit"], "bytes_per_second_one_direction");
}

TEST(Hardware, MeasuresThisHostAndEstimatesUseIt) {
  const std::string file = WriteTemporary("here.toml", "");
  const ToolOutcome probe = RunTool({"hardware", "host", "--probe", "--out", file});
  EXPECT_EQ(probe.exit_code, 0) << probe.err;
  EXPECT_THAT(probe.out, HasSubstr("measured on this host: a cache line from one core to another"));
  EXPECT_THAT(probe.out, HasSubstr("assumed: two cores that spin"));
  const ToolOutcome one = RunTool(
      {"estimate", "product", "--dims", "B=64,D=64,F=64", "--on", "host-2", "--catalogue", file});
  EXPECT_EQ(one.exit_code, 0) << one.err;
}

TEST(Hardware, BadInput) {
  ExpectBadInput({"hardware", "h100", "--probe"},
                 "--probe measures this host, not h100; write chorus hardware host --probe");
  ExpectBadInput({"hardware", "h10"}, "there is no hardware 'h10'; did you mean 'h100'?");
  ExpectBadInput({"hardware", "v5e-32x4"}, "an axis of 32 is too long for v5e; at most 16");
  ExpectBadInput({"hardware", "--catalogue", "/no/such.toml"},
                 "catalogue '/no/such.toml' cannot be read (No such file or directory); give the "
                 "path of a TOML file");
}

TEST(Estimate, SaysWhatItTakesAndWhy) {
  const ToolOutcome one = RunTool({"estimate", "all_reduce", "--bytes", "16GB", "--on", "h100-8"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_EQ(one.err, "");
  EXPECT_THAT(one.out, StartsWith("all_reduce of 16 GB on h100-8, 8 ranks: 62.2 ms\n"));
  EXPECT_THAT(one.out,
              HasSubstr("2(N - 1)/N x 16 GB / 450 GB/s per direction = 62.2 ms; latency 14 "
                        "x 1 us = 14 us\n    bandwidth bound;"));
  EXPECT_THAT(one.out, HasSubstr("fastest by formula: sharp, 35.6 ms"));
}

TEST(Estimate, ComparesRangesAndDraws) {
  const std::string svg = WriteTemporary("time.svg", "");
  const ToolOutcome all = RunTool({"estimate", "all_reduce", "--bytes", "1KiB..1MiB", "--on",
                                   "h100-8", "--compare", "--json", "--plot", svg});
  EXPECT_EQ(all.exit_code, 0);
  const auto json = nlohmann::json::parse(all.out);
  EXPECT_EQ(json["estimates"].size() % 11, 0U);
  EXPECT_EQ(json["estimates"][0]["bytes"], 1024);
  EXPECT_LE(json["estimates"][0]["seconds"], json["estimates"][1]["seconds"]);
  std::ifstream file(svg);
  const std::string drawn((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(drawn, HasSubstr("<svg"));
  EXPECT_THAT(drawn, HasSubstr("double_binary_tree"));
}

// What can be run, and what is a formula alone.
TEST(Estimate, SaysOfWhatThereIsNoSchedule) {
  const auto on_nodes = [](std::vector<std::string> more) {
    std::vector<std::string> all = {"estimate", "all_reduce", "--bytes", "1GB", "--on", "h100-8x4"};
    all.insert(all.end(), more.begin(), more.end());
    return RunTool(all).out;
  };
  EXPECT_THAT(on_nodes({}), HasSubstr("pipelined_hierarchical, latency model sum:\n"
                                      "    a formula without a schedule: a bound of hierarchical, "
                                      "both levels at once\n"));
  EXPECT_THAT(on_nodes({"--algorithm", "hierarchical:8"}),
              Not(HasSubstr("a formula without a schedule")));
  EXPECT_THAT(on_nodes({"--compare"}),
              HasSubstr("\nformulas without a schedule: pipelined_hierarchical, "));
  const auto json = nlohmann::json::parse(on_nodes({"--compare", "--json"}));
  for (const auto& estimate : json["estimates"]) {
    const std::string name = estimate["algorithm"];
    const ToolOutcome shown = RunTool({"show", name, "all_reduce", "-n", "32"});
    EXPECT_EQ(estimate["has_schedule"], shown.exit_code == 0) << name << shown.err;
  }
}

TEST(Estimate, ATimeThatWasMeasured) {
  const ToolOutcome one = RunTool(
      {"estimate", "all_reduce", "--bytes", "400MB", "--on", "h100-4", "--measured", "1.6ms"});
  EXPECT_THAT(one.out, HasSubstr("algbw 250 GB/s, busbw = algbw x 1.5 = 375 GB/s"));
}

TEST(Estimate, ProductsLayersTrainingReads) {
  EXPECT_THAT(
      RunTool({"estimate", "product", "--dims", "B=4096,D=8192,F=28672,X=4", "--on", "v5p-4x4x4"})
          .out,
      HasSubstr("bound by computing if B > C/W = 2550"));
  EXPECT_THAT(RunTool({"estimate", "layer", "--dims", "B=32,S=1,D=8192,F=28672,H=64,K=8,C=4096",
                       "--on", "h100"})
                  .out,
              HasSubstr("linear, weights alone: 2 x 32 tokens / 2 B = 32 FLOP/B"));
  EXPECT_THAT(RunTool({"estimate", "training", "--dims", "P=70000000000", "--on", "h100"}).out,
              StartsWith("parameters: 140 GB in 2 B each; a device has 80 GB: 2 devices at least"));
  EXPECT_EQ(RunTool({"estimate", "read", "--bytes", "1MiB", "--on", "h100"}).out,
            "1 MiB / 3.35 TB/s = 313 ns\n"
            "1 MiB / 3.4 TB/s = 308 ns, by scaling-book, rounded, and notes\n");
}

// W is what the machine lets into a device of the slice that X is, whatever its fabric.
TEST(Estimate, ProductsUseTheNetworkThatTheMachineHas) {
  const auto network = [](const char* on, const char* x) {
    const std::string dims = std::string("B=4096,D=8192,F=28672,X=") + x;
    const ToolOutcome one = RunTool({"estimate", "product", "--dims", dims, "--on", on, "--json"});
    EXPECT_EQ(one.exit_code, 0) << one.err;
    return nlohmann::json::parse(one.out)["network_bytes_per_second"].get<double>() / 1e9;
  };
  EXPECT_DOUBLE_EQ(network("h100-8", "8"), 450);
  EXPECT_DOUBLE_EQ(network("h100-1x8", "8"), 50);      // a port between nodes each
  EXPECT_DOUBLE_EQ(network("h100-8x2", "16"), 450);    // the inside of the node decides
  EXPECT_DOUBLE_EQ(network("mi300x-8", "8"), 7 * 64);  // a link to each other
  EXPECT_DOUBLE_EQ(network("v5p-4x4x4", "4"), 180);    // both directions of an axis
  EXPECT_DOUBLE_EQ(network("v5p-4x4x4", "64"), 540);
  EXPECT_DOUBLE_EQ(network("v5p-4x4x4", "2"), 90);  // part of an axis
  EXPECT_DOUBLE_EQ(network("v5e-4", "4"), 45);      // does not wrap
  EXPECT_DOUBLE_EQ(network("v5e-16", "16"), 90);
  ExpectBadInput({"estimate", "product", "--dims", "B=1,D=64,F=64,X=5", "--on", "v5p-4x4x4"},
                 "--dims has X=5, which is no slice of v5p-4x4x4; the nearest has 3x2x1");
}

TEST(Estimate, BadInput) {
  ExpectBadInput({"estimate", "all_reduce", "--bytes", "1MB"},
                 "--on is missing; name a machine, as --on h100-8 (chorus hardware lists them)");
  ExpectBadInput({"estimate", "all_reduce", "--on", "h10-8"},
                 "--on: there is no hardware 'h10'; did you mean 'h100'?");
  ExpectBadInput(
      {"estimate", "all_reduce", "--on", "h100-0"},
      "--on: '0' in 'h100-0' is no size; write h100-8 (devices), h100-8x16 (devices x nodes) or "
      "v5e-8x4 (axes of a torus), each 1 or more");
  ExpectBadInput({"estimate", "all_reduce", "--bytes", "1", "--on", "h100-8", "--ranks", "9"},
                 "--ranks 9 on h100-8; give 1 to 8");
  ExpectBadInput({"estimate", "all_reduce", "--bytes", "1", "--on", "h100-8", "--ranks", "0"},
                 "--ranks 0 on h100-8; give 1 to 8");
  ExpectBadInput({"estimate", "all_reduce", "--on", "h100-8"},
                 "--bytes is missing; say how much, as --bytes 16GB or 1KiB..1GiB");
  ExpectBadInput({"estimate", "all_reduce", "--bytes", "1KiB..0", "--on", "h100-8"},
                 "--bytes: '1KiB..0' is no range of sizes; write for example 1KiB..1GiB");
  ExpectBadInput(
      {"estimate", "all_reduce", "--on", "h100-8", "--bytes", "0..1KiB"},
      "--bytes: '0..1KiB' doubles from its first size, which is 0; begin at 1 B or more, or name "
      "sizes, as 0,1KiB,2KiB");
  for (const char* sizes : {",1MB", "1MB,", "1MB,,2MB"}) {
    ExpectBadInput({"estimate", "all_reduce", "--on", "h100-8", "--bytes", sizes},
                   std::string("--bytes: '") + sizes +
                       "' has no size before or behind a comma; write for example 1MB,2MB");
  }
  ExpectBadInput({"estimate", "all_reduce", "--bytes", "1MB", "--on", "h100-8", "--measured", "0s"},
                 "--measured must be above 0, as 1.6ms");
  ExpectBadInput({"estimate", "allreduce", "--on", "h100-8"},
                 "there is no operation 'allreduce'; did you mean 'all_reduce'?");
  ExpectBadInput(
      {"estimate", "all_reduce", "--bytes", "1", "--on", "h100-8", "--algorithm", "rign"},
      "--algorithm: there is no formula for rign all_reduce; did you mean 'ring'?");
  ExpectBadInput({"estimate", "all_reduce", "--on", "h100-8", "--bandwidth", "450GB"},
                 "--bandwidth: '450GB' has the unit 'GB', which is none of a bandwidth; use B/s, "
                 "KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, Mbit/s, Gbit/s, Tbit/s");
  ExpectBadInput({"estimate", "all_gather", "--on", "v5e-8x4", "--wrap"},
                 "--wrap: an axis of 8 on v5e does not wrap; only an axis of 16 does");
  ExpectBadInput(
      {"estimate", "all_reduce", "--on", "h100-8", "--bytes", "4Kib"},
      "--bytes: '4Kib' has the unknown unit 'Kib'; use B, KiB, MiB, GiB, TiB or KB, MB, GB, TB");
  ExpectBadInput({"estimate", "product", "--dims", "B=1", "--on", "h100"},
                 "--dims lacks D; it needs B, D, F and may have X");
}

TEST(Simulate, GivesWhatTheFormulaGives) {
  const ToolOutcome ring = RunTool({"simulate", "all_reduce", "--bytes", "16GB", "--on", "h100-8"});
  EXPECT_EQ(ring.exit_code, 0);
  EXPECT_THAT(ring.out, StartsWith("ring all_reduce of 16 GB on h100-8, 8 ranks: 62.2 ms\n"));
  EXPECT_THAT(ring.out, HasSubstr("by symmetry 1 of 8 ranks stand for all"));
  EXPECT_THAT(ring.out, HasSubstr("critical path, 14 steps:"));
}

TEST(Simulate, SlowDevicesTraceAndJson) {
  const std::string trace = WriteTemporary("trace.json", "");
  const ToolOutcome slow = RunTool({"simulate", "all_reduce", "--bytes", "1GB", "--on", "h100-8",
                                    "--slow", "3:2", "--trace", trace, "--json"});
  EXPECT_EQ(slow.exit_code, 0);
  const auto json = nlohmann::json::parse(slow.out);
  EXPECT_GT(json["simulations"][0]["seconds"], 1.5 * 3.9e-3);
  EXPECT_EQ(json["simulations"][0]["finish_seconds"].size(), 8U);
  std::ifstream file(trace);
  EXPECT_GT(nlohmann::json::parse(file).size(), 200U);
}

TEST(Simulate, ComparesRangesAndDraws) {
  const std::string svg = WriteTemporary("simulated.svg", "");
  const ToolOutcome all = RunTool({"simulate", "broadcast", "--bytes", "1KiB..4KiB", "--on",
                                   "h100-8", "--compare", "--plot", svg});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  const std::vector<std::string> lines = Lines(all.out);
  ASSERT_GT(lines.size(), 10U);
  EXPECT_EQ((lines.size() - 1) % 3, 0U);  // as many for each of three sizes
  EXPECT_THAT(all.out, HasSubstr("double_tree"));
  EXPECT_THAT(all.out, HasSubstr("scatter_gather"));
  const ToolOutcome json = RunTool(
      {"simulate", "all_reduce", "--bytes", "1KiB,1MiB", "--on", "h100-8", "--compare", "--json"});
  const auto read = nlohmann::json::parse(json.out)["simulations"];
  for (std::size_t i = 1; i < read.size() / 2; ++i) {
    EXPECT_LE(read[i - 1]["seconds"], read[i]["seconds"]);
  }
  EXPECT_EQ(read.back()["bytes"], 1 << 20);
}

TEST(Simulate, BadInput) {
  ExpectBadInput({"simulate", "all_reduce", "--on", "h100-8", "--ranks", "0"},
                 "--ranks 0 on h100-8; give 1 to 8");
  ExpectBadInput({"simulate", "all_reduce", "--on", "h100-8", "--bytes", "1KiB..0"},
                 "--bytes: '1KiB..0' is no range of sizes; write for example 1KiB..1GiB");
  ExpectBadInput(
      {"simulate", "all_reduce", "--on", "h100-8", "--bytes", "8TiB", "--tile", "1"},
      "--tile: a block of 1099511627776 B in tiles of 1 B is 1099511627776 tiles; give tiles of "
      "1048576 B or more");
  ExpectBadInput({"simulate", "all_reduce", "--on", "h100-8", "--compare", "--trace", "/no/x.json"},
                 "--compare and --trace contradict each other; leave one out");
  ExpectBadInput(
      {"simulate", "all_reduce", "--on", "h100-8", "--bytes", "1MB,2MB", "--trace", "/no/x.json"},
      "--trace is of one simulation; give one size");
  for (const char* seed : {"-1", "99999999999999999999", "x", "1.5"}) {
    ExpectBadInput({"simulate", "all_reduce", "--on", "h100-8", "--jitter", "0.1", "--seed", seed},
                   std::string("--seed '") + seed + "'; give a whole number from 0 to 2^64 - 1");
  }
  ExpectBadInput({"simulate", "all_reduce", "--on", "h100-8", "--slow", "3"},
                 "--slow '3' is no DEVICE:FACTOR; write for example 3:2");
  ExpectBadInput({"simulate", "all_reduce", "--on", "h100-8", "--slow", "8:2"},
                 "--slow: there is no device 8 to slow down; give 0 to 7");
  ExpectBadInput({"simulate", "all_reduce", "--on", "h100-8", "--jitter", "-1"},
                 "--jitter -1; give 0 (none) to 10");
}

// Times beyond what a double holds once made the simulator turn for ever.
TEST(CostCommands, TimesThatNeverEndAreRefused) {
  for (const std::vector<std::string>& much :
       {std::vector<std::string>{"--latency", "1e308s"}, {"--bandwidth", "1e-308B/s"}}) {
    for (const char* command : {"estimate", "simulate"}) {
      std::vector<std::string> arguments = {command,  "all_reduce", "--on",
                                            "h100-8", "--bytes",    "1GB"};
      arguments.insert(arguments.end(), much.begin(), much.end());
      const ToolOutcome outcome = RunTool(arguments);
      EXPECT_EQ(outcome.exit_code, 2);
      EXPECT_THAT(outcome.err, HasSubstr("would never end: a latency is too long"));
    }
  }
}

TEST(CostCommands, TheRatioOfAccumulatorsIsCheckedAlike) {
  for (const char* command : {"estimate", "simulate"}) {
    for (const char* ratio : {"nan", "0.5", "-1", "9"}) {
      ExpectBadInput(
          {command, "all_reduce", "--on", "h100-8", "--bytes", "1MB", "--accumulator-ratio", ratio},
          std::string("--accumulator-ratio ") + ratio +
              "; give 1 to 8, as 2 for bf16 summed in f32");
    }
  }
}

TEST(CostCommands, TheLargestSizeIsNotTurnedNegative) {
  const ToolOutcome one =
      RunTool({"estimate", "all_reduce", "--on", "h100-8", "--bytes", "9223372036854775807"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, testing::StartsWith("all_reduce of 8.389e+06 TiB"));
  EXPECT_THAT(one.out, testing::Not(HasSubstr(": -")));
}

TEST(Hardware, AMachineFileIsShownAsTheCatalogueIs) {
  const std::string file = WriteTemporary(
      "cluster.toml", "[machine]\non = \"h100-8x4\"\nlink_bandwidth = \"370 GB/s\"\n");
  const ToolOutcome one = RunTool({"hardware", file});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("8 devices on a switch that reduces, 370 GB/s per direction"));
  EXPECT_THAT(one.out, HasSubstr("  peak_bf16 "));
  const auto json = nlohmann::json::parse(RunTool({"hardware", file, "--json"}).out);
  EXPECT_EQ(json["devices"], 32);
  const std::string own =
      WriteTemporary("own.toml",
                     "[machine]\nfabric = \"mesh\"\nnode = 4\nlink_bandwidth = \"1 GB/s\"\n"
                     "link_latency = \"0 s\"\n");
  EXPECT_EQ(RunTool({"hardware", own}).out,
            own + ": described by " + own +
                "\n  4 devices, each linked to each, 1 GB/s per direction and 0 ns a link\n");
}

}  // namespace
}  // namespace chorus
