// What estimate and simulate refuse, and with which words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Of every question every option that says nothing to it is refused; the list is the contract.
TEST(CostCommands, IdleOptionsAreRefused) {
  const auto idle = [](std::vector<std::string> arguments, const std::string& message) {
    arguments.insert(arguments.end(), {"--on", "h100-8"});
    ExpectBadInput(arguments, message);
  };
  idle({"estimate", "product", "--plot", "x.svg"},
       "--plot is not an option of product; it goes with collectives but barrier");
  idle({"estimate", "product", "--bytes", "1MB"},
       "--bytes is not an option of product; it goes with collectives but barrier, read");
  idle({"estimate", "layer", "--compare"},
       "--compare is not an option of layer; it goes with collectives");
  idle({"estimate", "all_reduce", "--dims", "B=1"},
       "--dims is not an option of all_reduce; it goes with product, layer, training");
  idle({"estimate", "all_reduce", "--element", "4"},
       "--element is not an option of all_reduce; it goes with product, layer, training");
  idle({"estimate", "training", "--ranks", "4"},
       "--ranks is not an option of training; it goes with collectives");
  idle({"estimate", "read", "--bandwidth", "1GB/s"},
       "--bandwidth is not an option of read; it goes with collectives, product");
  for (const char* command : {"estimate", "simulate"}) {
    idle({command, "all_reduce", "--root", "3"},
         "--root is not an option of all_reduce; it goes with collectives with a root");
    idle({command, "broadcast", "--accumulator-ratio", "2"},
         "--accumulator-ratio is not an option of broadcast; it goes with collectives that reduce");
    idle({command, "barrier", "--plot", "x.svg"},
         "--plot is not an option of barrier; it goes with collectives but barrier");
    EXPECT_THAT(RunTool({command, "barrier", "--bytes", "8", "--on", "h100-8"}).err,
                HasSubstr("--bytes is not an option of barrier"));
  }
  idle({"simulate", "all_reduce", "--seed", "3"},
       "--seed says nothing without --jitter; give both");
}

TEST(CostCommands, OptionsThatContradictEachOtherAreRefused) {
  for (const char* command : {"estimate", "simulate"}) {
    const ToolOutcome both = RunTool({command, "all_reduce", "--bytes", "1MB", "--on", "h100-8",
                                      "--compare", "--algorithm", "ring"});
    EXPECT_EQ(both.exit_code, 2);
    EXPECT_THAT(both.err, HasSubstr("--compare"));
    EXPECT_THAT(both.err, HasSubstr("contradict each other; leave one out"));
  }
  const std::vector<std::string> common = {"estimate", "all_reduce", "--on",
                                           "h100-8",   "--measured", "1ms"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = common;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  ExpectBadInput(with({"--bytes", "1MB", "--compare"}),
                 "--measured and --compare contradict each other; leave one out");
  ExpectBadInput(with({"--bytes", "1MB,2MB"}),
                 "--measured is a time of one size, and --bytes 1MB,2MB are 2; give the size that "
                 "was measured");
  const ToolOutcome json = RunTool(with({"--bytes", "400MB", "--json"}));
  EXPECT_EQ(nlohmann::json::parse(json.out)["measured"]["algbw_bytes_per_second"], 400e9);
  const std::string schedule =
      WriteTemporary("ring.schedule", RunTool({"show", "ring", "all_gather", "-n", "2"}).out);
  ExpectBadInput(
      {"simulate", "all_gather", "--on", "h100-8", "--file", schedule, "--algorithm", "ring"},
      "--file and --algorithm contradict each other; leave one out");
}

TEST(Simulate, AFileIsOfTheOperationAskedFor) {
  const std::string file =
      WriteTemporary("nothing.schedule", "schedule mine broadcast\n  blocks 1\nbegin\nend\n");
  const ToolOutcome other = RunTool({"simulate", "all_reduce", "--on", "h100-8", "--file", file});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("is a schedule of broadcast; write chorus simulate broadcast"));
}

TEST(CostCommands, HelpSaysWhatOptionsGoWith) {
  const std::string help = RunTool({"estimate", "--help"}).out;
  const std::size_t reduce = help.find("Options of collectives that reduce:");
  ASSERT_NE(reduce, std::string::npos) << help;
  EXPECT_GT(help.find("--accumulator-ratio"), reduce);
  EXPECT_THAT(help, HasSubstr("Options of product, layer, training:"));
}

// An algorithm is called the same in both commands, in text and in JSON, and may be asked for so.
TEST(CostCommands, EstimateAndSimulateNameAlike) {
  const auto json = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"all_reduce", "--bytes", "1MB", "--on", "h100-8",
                                       "--algorithm", "two_level:4", "--json"});
    return nlohmann::json::parse(RunTool(arguments).out);
  };
  const auto estimate = json({"estimate"}), simulation = json({"simulate"});
  EXPECT_EQ(estimate["machine"], simulation["machine"]);
  EXPECT_EQ(estimate["topology"], simulation["topology"]);
  const auto &one = estimate["estimates"][0], &other = simulation["simulations"][0];
  for (const char* key : {"operation", "algorithm", "bytes", "ranks"}) {
    EXPECT_EQ(one[key], other[key]) << key;
  }
  EXPECT_EQ(one["algorithm"], "two_level:4");
  for (const char* key : {"seconds", "algbw_bytes_per_second", "busbw_bytes_per_second"}) {
    EXPECT_NEAR(one[key], other[key], 1e-9 * static_cast<double>(one[key])) << key;
  }
  const auto all = nlohmann::json::parse(
      RunTool({"simulate", "all_reduce", "--bytes", "1MB", "--on", "h100-8", "--compare", "--json"})
          .out);
  for (const auto& row : all["simulations"]) {
    const std::string name = row["algorithm"];
    EXPECT_EQ(RunTool({"simulate", "all_reduce", "--on", "h100-8", "--algorithm", name}).exit_code,
              0)
        << name;
  }
}

TEST(CostCommands, OneRankIsOne) {
  for (const char* command : {"estimate", "simulate"}) {
    EXPECT_THAT(
        RunTool({command, "all_reduce", "--bytes", "1MB", "--on", "h100-8", "--ranks", "1"}).out,
        HasSubstr("on h100-8, 1 rank: 0 ns"));
    const std::string barrier = RunTool({command, "barrier", "--on", "h100-8"}).out;
    EXPECT_THAT(barrier, HasSubstr("barrier on h100-8, 8 ranks: "));
  }
}

TEST(Estimate, SaysWhatTheMachineHasInstead) {
  ExpectBadInput(
      {"estimate", "broadcast", "--algorithm", "double_tree", "--bytes", "1MB", "--on", "v5e-4x2"},
      "--algorithm: double_tree has no formula on a torus, where its messages share links; chorus "
      "simulate works it out");
  ExpectBadInput(
      {"estimate", "all_gather", "--algorithm", "bruck", "--bytes", "1MB", "--on", "v5e-4x2"},
      "--algorithm: bruck has no formula on a torus, where its messages share links; chorus "
      "simulate "
      "works it out; for all_gather here there is torus, ring");
  EXPECT_THAT(RunTool({"estimate", "all_reduce", "--algorithm", "sharp", "--bytes", "1MB", "--on",
                       "a100-8"})
                  .err,
              HasSubstr("sharp needs a switch that reduces, as that of h100-8; for all_reduce here "
                        "there is "));
  EXPECT_THAT(RunTool({"estimate", "all_reduce", "--algorithm", "sharp", "--bytes", "1MB", "--on",
                       "h100-8x2"})
                  .err,
              HasSubstr("between them, of which a machine file says network_reduces = true"));
  ExpectBadInput({"estimate", "all_reduce", "--bytes", "1MB", "--on", "v5e-4x2", "--ranks", "7"},
                 "--ranks 7 is no slice of the torus; the nearest is --on v5e-4x2, or chorus "
                 "simulate works it out");
  ExpectBadInput({"estimate", "all_reduce", "--bytes", "1MB", "--on", "v5e-8x8", "--ranks", "17"},
                 "--ranks 17 is no slice of the torus; the nearest is --on v5e-6x3, or chorus "
                 "simulate works it out");
  ExpectBadInput({"estimate", "all_reduce", "--on", "h100-8", "--bytes", "1GiB..1KiB"},
                 "--bytes: '1GiB..1KiB' begins above its end; write 1KiB..1GiB");
  ExpectBadInput({"estimate", "read", "--on", "h100-8", "--bytes", "1KiB..4KiB"},
                 "--bytes 1KiB..4KiB are 3 sizes; read takes one, as --bytes 1MiB");
}

// Without --algorithm the usual one answers, or where that is none the fastest that is one.
TEST(Estimate, TakesWhatTheMachineHas) {
  const ToolOutcome part =
      RunTool({"estimate", "all_reduce", "--ranks", "12", "--bytes", "1MB", "--on", "h100-8x2"});
  EXPECT_EQ(part.exit_code, 0) << part.err;
  EXPECT_THAT(part.out, HasSubstr("halving_doubling, latency model sum"));
  ExpectBadInput(
      {"estimate", "gather", "--bytes", "1MB", "--on", "v5e-4x2"},
      "--on: gather has no formula on a torus, where its messages share links; chorus simulate "
      "works it out");
  EXPECT_THAT(RunTool({"estimate", "all_reduce", "--algorithm", "multi_ring", "--bytes", "1MB",
                       "--on", "h100-8x3", "--ranks", "9"})
                  .err,
              HasSubstr("9 ranks are 1 node of 8 and 1 more"));
}

// What an option would change has to be there.
TEST(Estimate, OptionsThatChangeNothing) {
  ExpectBadInput(
      {"estimate", "all_reduce", "--bytes", "1MB", "--on", "h100-1x4", "--bandwidth", "1GB/s"},
      "--bandwidth is of the links inside a node, and the nodes of h100-1x4 have one "
      "device; what joins them is nic_bandwidth in a machine file with on = "
      "\"h100-1x4\"");
  ExpectBadInput(
      {"simulate", "all_reduce", "--bytes", "1MB", "--on", "h100-1", "--latency", "1us"},
      "--latency is of the links between devices, and h100-1 is one device; leave it out");
  ExpectBadInput({"estimate", "all_reduce", "--bytes", "1MB", "--on", "h100-8", "--model", "nccl",
                  "--latency", "1us"},
                 "--latency changes nothing in --model nccl, which has latencies of its own; leave "
                 "one of them out");
  ExpectBadInput({"estimate", "all_reduce", "--bytes", "1MB", "--on", "v5e-16x2", "--wrap"},
                 "--wrap: an axis of 2 cannot wrap: it has no way round; 3 or more devices have");
}

TEST(Estimate, NumbersAndRangesThatCannotBe) {
  ExpectBadInput({"estimate", "all_reduce", "--bytes", "1KB...4KB", "--on", "h100-8"},
                 "--bytes: '1KB...4KB' has more than two dots; write 1KB..4KB");
  ExpectBadInput({"estimate", "all_reduce", "--bytes", "1..2..3", "--on", "h100-8"},
                 "--bytes: '1..2..3' has more than two dots; write 1..3");
  ExpectBadInput(
      {"estimate", "all_reduce", "--algorithm", "two_level::", "--bytes", "1KB", "--on",
       "h100-8x2"},
      "--algorithm: 'two_level::' has wrong numbers; write two_level:8, or two_level:3+1+2");
  EXPECT_THAT(RunTool({"estimate", "all_reduce", "--bytes", "1KB", "--on", "h100-8", "--ranks",
                       "9223372036854775808"})
                  .err,
              HasSubstr("--ranks: 9223372036854775808 is no number from -9223372036854775808 to "
                        "9223372036854775807"));
  // A question that is too large is wrong as any other.
  const ToolOutcome large = RunTool({"simulate", "all_reduce", "--algorithm", "ring", "--bytes",
                                     "1MB", "--on", "h100-8x2048", "--slow", "3:2"});
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_THAT(large.err, HasSubstr("too many to simulate"));
}

TEST(Estimate, DimsThatCannotBe) {
  const auto refused = [](const char* what, const char* dims, const std::string& message) {
    ExpectBadInput({"estimate", what, "--on", "h100-8", "--dims", dims}, "--dims has " + message);
  };
  refused("layer", "B=1,S=1,D=64,F=64,H=4,K=8",
          "K=8, but H=4: heads share keys, so there are no more of them; give 1 to 4");
  refused("layer", "B=1,S=1,D=60,F=64,H=12,K=5",
          "K=5, which does not divide H=12; the nearest that does is K=6");
  refused("layer", "B=1,S=1,D=64,F=64,H=12",
          "H=12, which does not divide D=64; the nearest that does is H=16");
  refused("layer", "B=1,S=1,D=64,F=64,K=2", "K, which says nothing without H; give H");
  refused("layer", "B=1,S=8,D=64,F=64,C=4",
          "S=8, but C=4: what is worked on is part of the context; give 1 to 4");
  refused("layer", "B=1,S=1,D=64,F=64,G=2", "G=2, but it says only that there is a gate; give 1");
  refused("product", "B=1,D=64,F=64,X=9", "X=9, but h100-8 has 8 devices; give 1 to 8");
  refused("product", "B=1,D=4,F=64,X=8", "X=8, but D=4: that is what X splits; give 1 to 4");
  refused("training", "P=1000,E=2", "E, which says nothing without B; give B, S, D");
  refused("training", "P=1000,B=1", "B, which says nothing without S; give B, S, D");
  refused(
      "training", "P=1000,B=1,S=1,D=1,E=9",
      "E=9, but h100-8 has 8 devices, and experts of a token are on different ones; give 1 to 8");
  refused("training", "P=2000000000000000", "P=2000000000000000; give 1 to 1000000000000000");
  EXPECT_THAT(RunTool({"estimate", "training", "--dims", "P=1", "--on", "h100-1"}).out,
              StartsWith("parameters: 2 B in 2 B each; a device has 80 GB: 1 device at least\n"
                         "step on 1 rank "));
}

TEST(CostCommands, PlotsAreWholeOrNotThere) {
  const auto plot = [](const std::string& path) {
    return RunTool(
        {"estimate", "all_reduce", "--bytes", "1KiB..1MiB", "--on", "h100-8", "--plot", path});
  };
  EXPECT_EQ(plot("/").exit_code, 2);
  EXPECT_THAT(plot("/").err,
              HasSubstr("--plot '/' cannot be written (Is a directory); give the path "
                        "of a file"));
  EXPECT_EQ(plot("/dev/full").exit_code, 1);
  EXPECT_THAT(plot("/dev/full").err, HasSubstr("No space left on device"));
}

TEST(CostCommands, EmptyOptionsAreNoWish) {
  for (const char* option : {"--plot", "--algorithm", "--model", "--bytes"}) {
    ExpectBadInput({"estimate", "all_reduce", "--on", "h100-8", option, ""},
                   std::string(option) + " is empty; give a value, or leave it out");
  }
  ExpectBadInput({"simulate", "all_reduce", "--on", "h100-8", "--file", ""},
                 "--file is empty; give a value, or leave it out");
  ExpectBadInput({"hardware", ""}, "NAME is empty; give a value, or leave it out");
  ExpectBadInput({"calibrate", "a.log", "--out", ""},
                 "--out is empty; give a value, or leave it out");
  ExpectBadInput({"explain", "A[I] * B[I] -> C[]", "--mesh", "", "--dims", "I=1"},
                 "--mesh is empty; give a value");
}

// Of every command every option that takes a text, as its --help lists them.
TEST(CostCommands, NoCommandTakesAnEmptyText) {
  int options = 0;
  for (const char* command : {"bench", "calibrate", "estimate", "explain", "hardware", "run",
                              "show", "simulate", "studio", "train", "tune", "verify"}) {
    const ToolOutcome help = RunTool({command, "--help"});
    for (const std::string& line : Lines(help.out)) {
      if (line.rfind("  ", 0) != 0 || line.find(" TEXT") == std::string::npos) continue;
      const std::size_t begin = line.find("--");
      if (begin == std::string::npos || begin > 6) continue;
      const std::string option = line.substr(begin, line.find_first_of(" ,", begin) - begin);
      const ToolOutcome said = RunTool({command, option + "="});
      const ToolOutcome apart = RunTool({command, option, ""});
      EXPECT_EQ(said.exit_code, 2) << command << " " << option;
      EXPECT_EQ(apart.exit_code, 2) << command << " " << option;
      EXPECT_EQ(apart.out, "") << command << " " << option;
      ++options;
    }
  }
  EXPECT_GT(options, 40);
}

TEST(CostCommands, WhatNoNumberHoldsIsNotTurnedNegative) {
  const std::string estimate = RunTool({"estimate", "all_reduce", "--on", "h100-8", "--bytes",
                                        "1MB", "--latency", "1e20s", "--bandwidth", "1e30B/s"})
                                   .out;
  EXPECT_THAT(estimate, HasSubstr("below latency x bandwidth = 8.389e+06 TiB"));
  EXPECT_THAT(estimate, testing::Not(HasSubstr("-8.3")));
  const std::string simulation =
      RunTool({"simulate", "gather", "--on", "h100-8", "--bytes", "9223372036854775807"}).out;
  EXPECT_THAT(simulation, HasSubstr("in  7.34e+06 TiB"));
}

TEST(Simulate, WhatCannotBeCarriedOut) {
  ExpectBadInput(
      {"simulate", "all_reduce", "--on", "h100-8x125000"},
      "1000000 ranks are more than the 262144 that are simulated; add --ranks 262144, or "
      "ask chorus estimate");
  ExpectBadInput({"simulate", "all_reduce", "--on", "h100-8", "--tile", "0"},
                 "--tile must be above 0, as 1MiB");
  ExpectBadInput({"simulate", "all_reduce", "--on", "h100-8", "--slow", "3:2", "--slow", "3:4"},
                 "--slow names device 3 twice; give each once");
  ExpectBadInput({"simulate", "allreduce", "--on", "h100-8"},
                 "there is no operation 'allreduce'; did you mean 'all_reduce'?");
}

}  // namespace
}  // namespace chorus
