// chorus calibrate from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLog[] = R"(# Collective test starting: all_reduce_perf
#  Rank  0 Group  0 Pid   1 on     node device  0 [0x07] NVIDIA A100
#  Rank  1 Group  0 Pid   2 on     node device  1 [0x0f] NVIDIA A100
        1024  256 float sum -1 10.1 0.10 0.10 0 10.0 0.10 0.10 0
     1048576  262144 float sum -1 20.5 51.1 51.1 0 20.4 51.4 51.4 0
    16777216  4194304 float sum -1 178.0 94.3 94.3 0 178.1 94.2 94.2 0
   268435456  67108864 float sum -1 2694.0 99.6 99.6 0 2690.0 99.8 99.8 0
)";

TEST(Calibrate, MakesAMachineThatEstimatesUse) {
  const std::string log = WriteTemporary("nccl.log", kLog);
  const std::string machine = WriteTemporary("a100.toml", "");
  const ToolOutcome made =
      RunTool({"calibrate", log, "--like", "a100-2", "--out", machine, "--algorithm", "ring"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("all_reduce            2"));
  EXPECT_THAT(made.out, HasSubstr("with which ring takes what all_reduce over 2 ranks took\n"));
  const ToolOutcome used = RunTool({"estimate", "all_reduce", "--bytes", "1MiB", "--on", machine});
  EXPECT_EQ(used.exit_code, 0) << used.err;
  EXPECT_THAT(used.out, HasSubstr("as measured on this machine:"));
  EXPECT_THAT(used.out, HasSubstr("% on the 4 measurements fitted\n"));
  ExpectBadInput(
      {"estimate", "all_reduce", "--bytes", "1MiB", "--on", machine, "--model", "max"},
      "--model is of formulas, and all_reduce over 2 ranks was measured on a100-2; leave "
      "it out, or ask for a formula, as --algorithm ring");
  for (const auto& [option, value] :
       {std::pair("--accumulator-ratio", "8"), std::pair("--bandwidth", "1TB/s"),
        std::pair("--latency", "1us")}) {
    ExpectBadInput({"estimate", "all_reduce", "--bytes", "1MiB", "--on", machine, option, value},
                   std::string(option) +
                       " is of formulas, and all_reduce over 2 ranks was measured on a100-2; "
                       "leave it out, or ask for a formula, as --algorithm ring");
    const ToolOutcome formula = RunTool({"estimate", "all_reduce", "--bytes", "1MiB", "--on",
                                         machine, "--algorithm", "ring", option, value});
    EXPECT_EQ(formula.exit_code, 0) << formula.err;
  }
  // The hardware is still known, so that products and layers can be asked for.
  EXPECT_EQ(RunTool({"estimate", "product", "--dims", "B=64,D=64,F=64", "--on", machine}).exit_code,
            0);
  // What was not measured is worked out with the link that was.
  const ToolOutcome other =
      RunTool({"estimate", "all_gather", "--bytes", "1GB", "--on", machine, "--json"});
  EXPECT_NEAR(nlohmann::json::parse(other.out)["estimates"][0]["seconds"], 5e-3, 0.3e-3);
}

// A curve answers for the root with which it was measured.
TEST(Calibrate, CurvesAreOfTheirRoots) {
  std::string text = "# Collective test starting: broadcast_perf\n";
  for (const int rank : {0, 1, 2}) {
    text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid 1 on node device 0 [0x07] A100\n";
  }
  for (const int root : {0, 2}) {
    for (const char* size : {"1024", "65536", "1048576", "16777216"}) {
      text += std::string(size) + " 256 float none " + std::to_string(root) + " " +
              (root == 0 ? "10" : "20") + ".5 0.1 0.1 0\n";
    }
  }
  const std::string log = WriteTemporary("roots.log", text);
  const std::string machine = WriteTemporary("roots.toml", "");
  const ToolOutcome made = RunTool({"calibrate", log, "--like", "a100-3", "--out", machine});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("\nbroadcast, root 0     3"));
  EXPECT_THAT(made.out, HasSubstr("\nbroadcast, root 2     3"));
  const auto estimate = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"estimate", "broadcast", "--bytes", "1MiB", "--on", machine};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto seconds = [&](const char* root) {
    const ToolOutcome out = RunTool(estimate({"--root", root, "--json"}));
    return nlohmann::json::parse(out.out)["estimates"][0]["seconds"].get<double>();
  };
  EXPECT_NEAR(seconds("0"), 10.5e-6, 1e-9);
  EXPECT_NEAR(seconds("2"), 20.5e-6, 1e-9);
  EXPECT_THAT(RunTool(estimate({"--root", "2"})).out,
              HasSubstr("measurements fitted, with root 2"));
  ExpectBadInput(estimate({"--root", "1"}),
                 "--root 1: broadcast over 3 ranks was measured on a100-3 with root 0, 2; give "
                 "--root 0, or ask for a formula, as --algorithm binomial");
  const ToolOutcome all = RunTool(estimate({"--root", "1", "--compare"}));
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("\nmeasured is left out: broadcast over 3 ranks was measured on "
                                 "a100-3 with root 0, 2, not 1\n"));
  EXPECT_EQ(RunTool(estimate({"--root", "1", "--algorithm", "binomial"})).exit_code, 0);
  const ToolOutcome other = RunTool(estimate({"--compare", "--bandwidth", "1TB/s"}));
  EXPECT_THAT(other.out, HasSubstr("\nmeasured is left out: it was measured on the link of a100-3, "
                                   "and --bandwidth says another\n"));
  EXPECT_THAT(RunTool(estimate({"--compare"})).out, Not(HasSubstr("left out")));
}

// Each row that does not count is told; what is written is read by estimate.
TEST(Calibrate, SaysWhatItLeftOutAndHowSureItIs) {
  const std::string log = WriteTemporary(
      "bad_rows.log", std::string(kLog).substr(0, std::string(kLog).find("   268435456")) +
                          "    33554432 8388608 float sum -1 178.0 94.3 94.3 17 178.1 94.2 94.2 0\n"
                          "1e30 1 float sum -1 178.0 94.3 94.3 0 178.1 94.2 94.2 0\n"
                          "    67108864 8388608 float sum -1 nan\n");
  const std::string machine = WriteTemporary("bad_rows.toml", "");
  const ToolOutcome made = RunTool({"calibrate", log, "--like", "a100-2", "--out", machine});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out,
              HasSubstr("left out: " + log + ":7: its result is wrong (#wrong is not 0)"));
  EXPECT_THAT(made.out, HasSubstr("left out: " + log + ":8: its size is no whole number of bytes"));
  EXPECT_THAT(made.out, HasSubstr("left out: " + log + ":9: it is cut off"));
  EXPECT_THAT(made.out, HasSubstr("us (unknown)"));
  const ToolOutcome json = RunTool({"calibrate", log, "--like", "a100-2", "--json"});
  const auto read = nlohmann::json::parse(json.out);
  EXPECT_TRUE(read["fits"][0]["error_held_out"].is_null());
  EXPECT_TRUE(read["fits"][0]["latency_seconds"]["high"].is_null());
  EXPECT_EQ(read["remarks"].size(), 4U);  // and that each size was measured once
  const ToolOutcome used = RunTool({"estimate", "all_reduce", "--bytes", "1MiB", "--on", machine});
  EXPECT_EQ(used.exit_code, 0) << used.err;
  EXPECT_THAT(used.out, HasSubstr("too few to know how sure they are"));
}

TEST(Calibrate, WarnsOfCurvesThatAreFarOff) {
  std::string text = std::string(kLog).substr(0, std::string(kLog).find("        1024"));
  for (int i = 0; i < 12; ++i) {
    text +=
        std::to_string(1024LL << i) + " 1 float sum -1 " + (i % 2 == 0 ? "10" : "900") + " 1 1 0\n";
  }
  const std::string log = WriteTemporary("doubtful.log", text);
  const ToolOutcome made = RunTool({"calibrate", log, "--like", "a100-2"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("WARNING: the curve of all_reduce over 2 ranks is "));
  EXPECT_THAT(RunTool({"calibrate", WriteTemporary("sound.log", kLog), "--like", "a100-2"}).out,
              Not(HasSubstr("WARNING")));
}

// Which algorithm ran is not in a log of nccl-tests.
TEST(Calibrate, SaysWhatTheLogLeavesOpen) {
  const std::string log = WriteTemporary("open.log", kLog);
  const ToolOutcome made = RunTool({"calibrate", log, "--like", "a100-2"});
  EXPECT_THAT(made.out, HasSubstr("NOT determined: the log does not say which algorithm ran"));
  EXPECT_THAT(made.out, HasSubstr("each size was measured once, one row"));
  const auto json =
      nlohmann::json::parse(RunTool({"calibrate", log, "--like", "a100-2", "--json"}).out);
  EXPECT_FALSE(json["link"]["bandwidth_determined"]);
  EXPECT_GT(json["link"]["explanations"].size(), 1U);
  EXPECT_LT(json["link"]["bandwidth_interval"]["low"], 100e9);
  EXPECT_GT(json["link"]["bandwidth_interval"]["high"], 199e9);
  const auto named = nlohmann::json::parse(
      RunTool({"calibrate", log, "--like", "a100-2", "--algorithm", "ring", "--json"}).out);
  EXPECT_TRUE(named["link"]["bandwidth_determined"]);
  EXPECT_EQ(named["link"]["explanations"].size(), 1U);
}

TEST(Calibrate, WarnsOfLogsThatContradictEachOther) {
  std::string slow = std::string(kLog).substr(0, std::string(kLog).find("        1024"));
  for (const char* row : {"1024 1 float sum -1 30.3", "1048576 1 float sum -1 61.5",
                          "16777216 1 float sum -1 534", "268435456 1 float sum -1 8082"}) {
    slow += std::string(row) + " 1 1 0\n";
  }
  const std::string one = WriteTemporary("one.log", kLog);
  const std::string other = WriteTemporary("other.log", slow);
  const ToolOutcome made = RunTool({"calibrate", one, other, "--like", "a100-2"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("WARNING: " + one + " and " + other +
                                  " contradict each other: all_reduce over 2 ranks of "));
  EXPECT_THAT(made.out, HasSubstr("  73.2%"));  // half of them twice as long, half 1.5 times
  EXPECT_THAT(RunTool({"calibrate", one, "--check", other, "--like", "a100-2"}).out,
              HasSubstr("--check: WARNING: all_reduce over 2 ranks of "));
  EXPECT_THAT(RunTool({"calibrate", one, "--check", one, "--like", "a100-2"}).out,
              Not(HasSubstr("WARNING")));
}

TEST(Calibrate, BadInput) {
  const std::string empty = WriteTemporary("empty.log", "# nothing\n");
  ExpectBadInput({"calibrate", empty},
                 empty +
                     ": there is no row of measurements; give a log of nccl-tests or of chorus "
                     "bench");
  const std::string json = WriteTemporary("bad.json", "{\"rows\": 3}");
  ExpectBadInput(
      {"calibrate", json},
      json + ": this is no JSON of chorus bench; make one with chorus bench all -J FILE");
  const std::string good = WriteTemporary("good.log", kLog);
  ExpectBadInput({"calibrate", good, "--op", "allredcue"},
                 "--op allredcue; did you mean 'all_reduce'?");
  ExpectBadInput({"calibrate", good, "--op", "foo"},
                 "--op foo; there is all_gather, reduce_scatter, all_reduce, broadcast, reduce, "
                 "barrier, all_to_all, gather, scatter, scan, exscan");
  ExpectBadInput({"calibrate", good, "--algorithm", "rign"},
                 "--algorithm rign; did you mean 'ring'?");
  const ToolOutcome none = RunTool({"calibrate", good, "--like", "a100-2", "--algorithm", "sharp"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("--algorithm sharp: "));
  ExpectBadInput(
      {"calibrate", good, "--like", "a100-1x2", "--nodes", "2", "--algorithm", "ring"},
      "--algorithm ring finds a link, but over several nodes links and the ports between "
      "nodes cannot be told apart; leave it out");
  ExpectBadInput({"calibrate", good, "--like", "a100-1x2"},
                 "--like a100-1x2 has 1 device in a node, so that 2 ranks need 2, but the log says "
                 "of none or of 1; add --nodes 2");
  ExpectBadInput({"calibrate", good, "--like", "a100-4x2", "--nodes", "2"},
                 "--like a100-4x2 has 4 devices in a node, but 2 ranks on 2 nodes were measured, 1 "
                 "in a node; name it as a100-1x2");
  ExpectBadInput({"calibrate", good, "--ranks", "-3"}, "--ranks -3; give 1 to 16777216");
  ExpectBadInput({"calibrate", good, "--ranks", "8"},
                 good +
                     ":4: the log says 2 ranks, but --ranks 8 is given; leave it out, or read "
                     "this log for itself");
  const std::string bench = WriteTemporary(
      "bench.json",
      R"({"ranks":2,"rows":[{"operation":"scan","size_bytes":8,"out_of_place":{"time_us":3}}]})");
  ExpectBadInput({"calibrate", bench, "--op", "reduce"},
                 bench +
                     ": row 1: the log says scan, but --op reduce is given; leave it out, or "
                     "read this log for itself");
  const std::string row =
      R"("rows":[{"operation":"foo","size_bytes":8,"out_of_place":{"time_us":3}}]})";
  const std::string foo = WriteTemporary("foo.json", R"({"ranks":2,)" + row);
  ExpectBadInput({"calibrate", foo}, "no row counts; left out: " + foo +
                                         ": row 1: its operation is none that machines have "
                                         "curves of");
  ExpectBadInput(
      {"calibrate", "/no/such.log"},
      "log '/no/such.log' cannot be read (No such file or directory); give the output of "
      "nccl-tests, or chorus bench's JSON");
}

}  // namespace
}  // namespace chorus
