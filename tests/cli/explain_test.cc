// chorus explain, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "tests/cli/tool.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

constexpr const char* kCase3 = "A[I, J_X] * B[J_X, K] -> C[I, K]";
constexpr const char* kCube = "I=1024,J=1024,K=1024";

TEST(Explain, SaysCaseCollectivesBytesShapesAndMemory) {
  const ToolOutcome outcome = RunTool({"explain", kCase3, "--mesh", "X=4", "--dims", kCube});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"case 3: a contracted dimension is split alike in both operands",
                           "axis X (4 ranks) splits the contracted J in A and in B",
                           "C[I, K] = all_reduce(C.local, X)", "sends    6291456 bytes (6 MiB)",
                           "computes 536870912 FLOP", "holds    6291456 bytes at most",
                           "[1024, 256]", "rejected, cheapest first"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
}

// Every row of a table ends where its header ends, however long names are; a name that leaves no
// room for numbers has a line of its own.
TEST(Explain, LongNamesKeepTheColumns) {
  const std::string long_name = "activations.of.the.second.layer.of.the.decoder";
  const ToolOutcome outcome =
      RunTool({"explain", long_name + "[Batch_X, Width] * weights.up[Width_X, Hidden]", "--mesh",
               "X=2", "--dims", "Batch=1099511627776,Width=8,Hidden=8"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::istringstream lines(outcome.out);
  std::size_t header = 0;
  int rows = 0, alone = 0;
  bool below = false;  // a title alone
  for (std::string line; std::getline(lines, line);) {
    const bool begins = line.rfind("step ", 0) == 0 || line.rfind("array ", 0) == 0;
    if (begins) {
      header = line.size();
    } else if (line.empty()) {
      header = 0;
    } else if (header > 0) {
      EXPECT_EQ(below, line[0] == ' ') << line;
      below = line.size() != header;
      if (below) {
        EXPECT_GT(line.size(), 60U);
      }
      rows += below ? 0 : 1;
      alone += below ? 1 : 0;
    }
  }
  EXPECT_GE(rows, 5);
  EXPECT_GE(alone, 2);
}

TEST(Explain, GivesTheSameAsJson) {
  const ToolOutcome outcome =
      RunTool({"explain", kCase3, "--mesh", "X=4", "--dims", kCube, "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["case"], 3);
  EXPECT_EQ(json["bytes_sent_per_rank"], 6291456);
  EXPECT_EQ(json["flops_per_rank"], 536870912);
  EXPECT_EQ(json["peak_memory_bytes_per_rank"], 6291456);
  EXPECT_EQ(json["steps"][1]["operation"], "all_reduce");
  EXPECT_EQ(json["arrays"][0]["local_shape"], (std::vector<int>{1024, 256}));
  EXPECT_FALSE(json["rejected"].empty());
}

TEST(Explain, ShowsBothSpellingsOfASum) {  // S08
  const ToolOutcome outcome =
      RunTool({"explain", "A[I, J_X] * B[J_X, K]", "--mesh", "X=2", "--dims", "I=2,J=4,K=2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("C[I, K]{U_X} is still a sum to be done. Write one of\n"
                                     "  -> C[I, K]   all_reduce over X\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  -> C[I, K]{U_X}   leave it a sum\n"));
}

// Bad input: exit code 2, one line that says what would be right, and a caret where it is wrong.
TEST(Explain, PointsAtBadInput) {
  const auto error = [](const char* product, const char* mesh, const char* dims,
                        std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"explain", product, "--mesh", mesh, "--dims", dims};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ToolOutcome outcome = RunTool(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_EQ(
      error("A[I_X, J_X] * B[J, K]", "X=4", kCube),
      "chorus: axis X is used twice: on dimension I (character 5) and on dimension J (character "
      "10); an axis can be used once, so write A[I_X, J] or A[I, J_X]\n"
      "  A[I_X, J_X] * B[J, K]\n           ^\n");
  EXPECT_EQ(
      error(kCase3, "X=4,", kCube),
      "chorus: --mesh: a mesh axis is missing here: an axis is named by one capital letter, then "
      "lower-case letters or digits, like X or Dp\n  X=4,\n      ^\n");
  EXPECT_EQ(error(kCase3, "Y=4", kCube),
            "chorus: A[I, J_X] uses axis X on dimension J, but the mesh has only Y=4, so write "
            "A[I, J_Y], "
            "or give the mesh the axis: Y=4,X=2\n"
            "  A[I, J_X] * B[J_X, K] -> C[I, K]\n       ^\n");
  EXPECT_EQ(error(kCase3, "X=4", "I=4,J=4"),
            "chorus: dimension K of B[J_X, K] has no size; there are I=4,J=4, so write for example "
            "I=4,J=4,K=1024\n"
            "  A[I, J_X] * B[J_X, K] -> C[I, K]\n                     ^\n");
  EXPECT_EQ(error(kCase3, "X=4", "I=4,J=4,K=4,L=4"),
            "chorus: --dims gives L = 4, but A[I, J_X] * B[J_X, K] -> C[I, K] has no dimension L, "
            "so write I=4,J=4,K=4\n");
  // What is wrong in the product comes before what is left over.
  EXPECT_THAT(error(kCase3, "Y=4", "I=4,J=4,K=4,L=4"), HasSubstr("but the mesh has only Y=4, so"));
  EXPECT_EQ(error(kCase3, "X=4", kCube, {"--dtype", "i32"}),
            "chorus: --dtype i32 is no float; write f32, f64, f16 or bf16\n");
  EXPECT_EQ(error(kCase3, "X=4", kCube, {"--flops-per-byte", "0"}),
            "chorus: --flops-per-byte 0 must be above 0, like 2198\n");
}

TEST(Explain, AMeshOfTooManyRanksIsRefusedAtOnce) {
  ExpectBadInput(
      {"explain", "A[I_X, J] * B[J, K]", "--mesh", "X=2147483647", "--dims", "I=8,J=8,K=8"},
      "--mesh X=2147483647 has 2147483647 ranks; at most 100000 can be explained");
}

TEST(Explain, AChainSaysItsOrderAndTheLayoutItChose) {
  const ToolOutcome outcome = RunTool({"explain", "A[I_X, J] * B[J, K_Y] * D[K_Y, L]", "--mesh",
                                       "X=2,Y=2", "--dims", "I=64,J=64,K=64,L=2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("order: A * (B * D)\n"));
  EXPECT_THAT(outcome.out, HasSubstr("result: E["));
}

TEST(Explain, DrawsWhichRankHoldsWhichBlock) {
  const ToolOutcome outcome =
      RunTool({"explain", kCase3, "--mesh", "X=2", "--dims", "I=4,J=4,K=4", "--draw"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("  I 0-3 | 0     | 1     |\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  I 0-3 | 0+1   |\n"));
  ExpectBadInput({"explain", kCase3, "--mesh", "X=65", "--dims", kCube, "--draw"},
                 "--draw shows at most 64 ranks, but --mesh X=65 has 65");
}

// Operands that are sums move, whatever the case of the product.
TEST(Explain, CaseOneSpeaksOfTheProductAlone) {
  const ToolOutcome outcome = RunTool(
      {"explain", "A[I, J]{U_X} * B[J, K] -> C[I, K]", "--mesh", "X=2", "--dims", "I=8,J=8,K=8"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("case 1: no contracted dimension is split: the product itself moves "
                             "nothing\n"),
            std::string::npos);
  EXPECT_NE(outcome.out.find("sends    256 bytes"), std::string::npos) << outcome.out;
}

// FSDP: what is gathered forward is scattered for its gradient; the gradient of the input gathers.
TEST(Explain, ShowsTheGradientOfEachOperand) {
  const std::vector<std::string> fsdp = {"explain",    "x[B_X, D] * w[D_X, F] -> h[B_X, F]",
                                         "--mesh",     "X=4",
                                         "--dims",     "B=4096,D=512,F=512",
                                         "--gradients"};
  const ToolOutcome outcome = RunTool(fsdp);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part :
       {"gradients, of rank 0", "dh[B_X, F] * w[D_X, F] -> dx[B_X, D]",
        "X splits B: all_gather D over X of w", "dh[B_X, F] * x[B_X, D] -> dw[D_X, F]",
        "X splits B: reduce_scatter D over X of dw", "  together\n"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
  std::vector<std::string> timed = fsdp;
  timed.insert(timed.end(), {"--json", "--on", "h100-8"});
  const ToolOutcome as_json = RunTool(timed);
  ASSERT_EQ(as_json.exit_code, 0) << as_json.err;
  const nlohmann::json gradients = nlohmann::json::parse(as_json.out)["gradients"];
  ASSERT_EQ(gradients.size(), 2U);
  EXPECT_EQ(gradients[0]["operand"], "x");
  EXPECT_EQ(gradients[0]["product"], "dh[B_X, F] * w[D_X, F] -> dx[B_X, D]");
  EXPECT_THAT(gradients[1]["plan"], HasSubstr("reduce_scatter D over X of dw"));
  EXPECT_FALSE(gradients[1]["steps"].empty());
  for (const nlohmann::json& gradient : gradients) {
    EXPECT_EQ(gradient["bytes_sent_per_rank"], 3 * 512 * 512 * 4 / 4);  // (n - 1)/n of w
    EXPECT_EQ(gradient["flops_per_rank"], 2 * 1024 * 512 * 512);
    EXPECT_GT(gradient["seconds"], 1e-6);
  }
}

// The trace shows what a rank computes and, on tracks beside, which chunks are on their way.
TEST(Explain, TracesOperationsBesideWhatIsUnderWay) {
  const std::string file = WriteTemporary("explain-trace.json", "");
  const ToolOutcome outcome =
      RunTool({"explain", "A[I_X, J] * B[J_X, K] -> C[I_X, K]", "--mesh", "X=2", "--dims",
               "I=64,J=64,K=64", "--run", "--overlap", "--repetitions", "1", "--trace", file});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::ifstream stream(file);
  const auto trace = nlohmann::json::parse(stream);
  std::map<std::string, int> events;  // of programs, by the name of their track and their own
  std::map<std::pair<int, int>, std::string> tracks;
  for (const auto& event : trace) {
    const std::pair<int, int> track{event["pid"], event.value("tid", -1)};
    if (event["name"] == "thread_name") tracks[track] = event["args"]["name"];
    if (event["ph"] != "X" || event["pid"] != 1) continue;
    const std::string name = event["name"];
    ++events[tracks[track] + ": " + name.substr(0, name.find(' '))];
  }
  for (const char* rank : {"rank 0", "rank 1"}) {
    EXPECT_GE(events[std::string(rank) + ": contract"], 4) << rank;  // two runs of two or more
    EXPECT_GE(events[std::string(rank) + " shift 1: shift"], 2) << rank;
  }
}

TEST(Explain, TakesOperandsPanelByPanelWhenMemoryIsShort) {
  const std::vector<std::string> summa = {"explain", "A[I_X, J_Y] * B[J_X, K_Y] -> C[I_X, K_Y]",
                                          "--mesh",  "X=2,Y=2",
                                          "--dims",  "I=64,J=64,K=64",
                                          "--json",  "--memory",
                                          "20KiB",   "--run"};
  const ToolOutcome outcome = RunTool(summa);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  EXPECT_THAT(json["plan"], HasSubstr("A and B come in 2 panels of J"));
  EXPECT_EQ(json["peak_memory_bytes_per_rank"], 20 << 10);
  EXPECT_EQ(json["steps"][0]["operation"], "all_gather");
  EXPECT_EQ(json["run"]["right"], true);
  // With memory enough it is listed, as much sent and less held than by gathering all.
  const ToolOutcome listed =
      RunTool({"explain", summa[1], "--mesh", "X=2,Y=2", "--dims", "I=64,J=64,K=64",
               "--alternatives", "--json", "--on", "h100-8"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  const nlohmann::json ways = nlohmann::json::parse(listed.out)["ways"];
  const auto stream = std::find_if(ways.begin(), ways.end(), [](const nlohmann::json& way) {
    return way["plan"].get<std::string>().find("in 2 panels of J") != std::string::npos;
  });
  ASSERT_NE(stream, ways.end());
  EXPECT_EQ((*stream)["peak_memory_bytes_per_rank"], 20 << 10);
  EXPECT_EQ((*stream)["bytes_sent_per_rank"], 8 << 10);
  EXPECT_GT((*stream)["seconds"], ways[0]["seconds"]);
}

TEST(Explain, RunsThePlanAndComparesItWithTheDenseProduct) {
  for (const bool processes : {false, true}) {
    std::vector<std::string> arguments = {"explain", "A[I_X, J] * B[J_X, K] -> C[I, K_X]",
                                          "--mesh",  "X=2",
                                          "--dims",  "I=31,J=17,K=29",
                                          "--run",   "--repetitions",
                                          "2"};
    if (processes) arguments.emplace_back("--processes");
    const ToolOutcome outcome = RunTool(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const char* part :
         {processes ? "run on 2 ranks (processes), 2 times after one to warm up: "
                    : "run on 2 ranks (threads), 2 times after one to warm up: ",
          "time of the slowest rank", "predicted by what this host did",
          "all 2 ranks did in all 3 runs what was predicted",
          "right: all 899 elements equal the dense product\n"}) {
      EXPECT_THAT(outcome.out, HasSubstr(part));
    }
    EXPECT_EQ(outcome.out.find("DIFFERENT"), std::string::npos);
  }
}

TEST(Explain, GivesARunAsJson) {
  const ToolOutcome outcome = RunTool({"explain", kCase3, "--mesh", "X=2", "--dims", "I=8,J=9,K=5",
                                       "--run", "--json", "--dtype", "bf16"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json json = nlohmann::json::parse(outcome.out);
  const nlohmann::json& run = json["run"];
  EXPECT_EQ(run["right"], true);
  EXPECT_EQ(run["ranks"], 2);
  EXPECT_EQ(run["kind"], "threads");
  EXPECT_EQ(run["steps"].size(), json["steps"].size());
  EXPECT_GT(run["seconds"], 0.0);
  EXPECT_EQ(run["checked_elements"], 80);  // on both ranks
  EXPECT_EQ(run["counts"][0]["bytes_sent_per_run"][0]["predicted"], json["bytes_sent_per_rank"]);
  EXPECT_EQ(run["counts"][0]["bytes_sent_per_run"][0]["counted"], json["bytes_sent_per_rank"]);
  EXPECT_EQ(run["counts"][0]["peak_bytes"]["counted"], json["peak_memory_bytes_per_rank"]);
}

TEST(Explain, RefusesARunThatThisHostCannotDo) {
  const std::vector<std::string> ask = {"explain", kCase3, "--mesh", "X=4", "--dims"};
  const auto with = [&ask](std::vector<std::string> more) {
    std::vector<std::string> arguments = ask;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  ExpectBadInput(with({kCube, "--run", "--dtype", "f16"}),
                 "--run: --dtype f16 has no kernels; write f32, f64 or bf16");
  ExpectBadInput({"explain", kCase3, "--mesh", "X=2000", "--dims", kCube, "--run"},
                 "--run: --mesh X=2000 has 2000 ranks; at most 1024 run on one host");
  const ToolOutcome large = RunTool(with({"I=1000000,J=1000000,K=4", "--run"}));
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_EQ(large.out, "");
  EXPECT_THAT(large.err, HasSubstr("GB of memory; give smaller --dims or fewer ranks"));
  EXPECT_EQ(RunTool(with({kCube, "--repetitions", "2"})).exit_code, 2);  // needs --run
}

TEST(Explain, ListsTheWaysBestFirst) {
  const ToolOutcome outcome = RunTool({"explain", "X[B, D] * Y[D_X, F] -> Z[B, F]", "--mesh", "X=4",
                                       "--dims", "B=64,D=1024,F=256", "--dtype", "bf16",
                                       "--alternatives", "--flops-per-byte", "2550"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      HasSubstr("ways, least price first (price = mean bytes sent + FLOP / 2550); of rank "
                "0 or, where blocks change ranks, of the busiest\n           price    bytes sent"));
  // What is shown first is what they are ordered by.
  std::vector<double> prices;
  const std::vector<std::string> lines = Lines(outcome.out);
  auto line = std::find_if(lines.begin(), lines.end(),
                           [](const std::string& text) { return text.rfind("ways, ", 0) == 0; });
  for (line += 2; line != lines.end() && !line->empty(); ++line) prices.push_back(std::stod(*line));
  EXPECT_GT(prices.size(), 2U);
  EXPECT_TRUE(std::is_sorted(prices.begin(), prices.end()));
  EXPECT_THAT(outcome.out, HasSubstr("X splits D: slice D over X of X, all_reduce over X of Z\n"));
  EXPECT_THAT(outcome.out,
              HasSubstr("break-even, at 2550 FLOP a byte\n"
                        "axis X: gather Y sends 393216 B, all_reduce of the result 49152 B\n"
                        "  in bytes alone reducing wins where D > 128; here D is 1024\n"
                        "  the product hides the gather where B >= 2550, and then reducing wins "
                        "where D > 5100; here B is 64\n"));
}

// An axis between nodes is nine times slower than one inside, and the order of ways is another.
TEST(Explain, RunsALoopOverChunks) {
  for (const char* dtype : {"f32", "bf16"}) {
    const ToolOutcome outcome =
        RunTool({"explain", "A[I_X, J] * B[J_X, K] -> C[I_X, K]", "--mesh", "X=3", "--dims",
                 "I=50,J=61,K=40", "--dtype", dtype, "--overlap", "--run", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const nlohmann::json answer = nlohmann::json::parse(outcome.out);
    EXPECT_NE(answer["plan"].get<std::string>().find("B comes in 3 x "), std::string::npos)
        << answer["plan"];
    EXPECT_EQ(answer["run"]["right"], true) << outcome.out;
    int shifts = 0;
    for (const nlohmann::json& step : answer["steps"]) shifts += step["operation"] == "shift";
    EXPECT_GE(shifts, 2);
  }
  ExpectBadInput(
      {"explain", "A[I_X, J] * B[J, K] -> C[I_X, K]", "--mesh", "X=2", "--dims", kCube,
       "--overlap"},
      "--overlap: A[I_X, J] * B[J, K] -> C[I_X, K] moves nothing, so there is nothing to overlap");
}

TEST(Explain, PricesElsewhere) {
  const auto ask = [](const char* mesh) {
    const ToolOutcome outcome =
        RunTool({"explain", "A[I_X, J] * B[J_X, K] -> C[I_X, K]", "--mesh", mesh, "--dims",
                 "I=8192,J=8192,K=8192", "--dtype", "bf16", "--on", "h100-8x4", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  };
  const nlohmann::json across = ask("X=4,Y=8");
  const nlohmann::json inside = ask("Y=4,X=8");
  EXPECT_EQ(across["machine"], "h100-8x4");
  EXPECT_EQ(across["placement"]["X"], "X (4): 1 a node on 4 nodes, 50 GB/s a rank, per direction");
  EXPECT_EQ(inside["placement"]["X"],
            "X (8): in a node over its switch, 450 GB/s a rank, per direction");
  const auto gathering = [](const nlohmann::json& answer, const char* plan) {
    for (const nlohmann::json& way : answer["ways"]) {
      if (way["plan"] == plan) return way["move_seconds"].get<double>();
    }
    return 0.0;
  };
  const double slow = gathering(across, "X splits I, Y repeats: all_gather J over X of B");
  const double fast = gathering(inside, "Y repeats, X splits I: all_gather J over X of B");
  EXPECT_NEAR(slow, 3.0 / 4 * 2 * 8192 * 8192 / 50e9, 30e-6);
  EXPECT_NEAR(fast, 7.0 / 8 * 2 * 8192 * 8192 / 450e9, 5e-6);
  for (std::size_t i = 1; i < across["ways"].size(); ++i) {
    EXPECT_LE(across["ways"][i - 1]["seconds"], across["ways"][i]["seconds"]);
  }
  EXPECT_EQ(across["plan"], across["ways"][0]["plan"]);
  // The gather goes on beside the product, so it takes less than both together.
  const nlohmann::json& best = across["ways"][0];
  EXPECT_NE(best["plan"].get<std::string>().find(" chunks, "), std::string::npos) << best["plan"];
  EXPECT_LT(best["seconds"], best["one_after_another_seconds"]);
  EXPECT_GE(best["seconds"], best["hidden_seconds"]);
  ExpectBadInput({"explain", kCase3, "--mesh", "X=9", "--dims", kCube, "--on", "h100-8"},
                 "--mesh: the mesh X=9 has 9 ranks, but h100-8 has 8 devices");
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--bandwidth", "1GB/s"}, {"--latency", "1us"}, {"--wrap"}}) {
    std::vector<std::string> asked = {"explain", kCase3, "--mesh", "X=2", "--dims", kCube};
    asked.insert(asked.end(), option.begin(), option.end());
    ExpectBadInput(asked, option[0] + " is about the machine of --on, and there is no --on");
  }
}

TEST(Explain, KeepsWithinMemory) {
  const std::vector<std::string> ask = {"explain", kCase3, "--mesh", "X=4", "--dims", kCube};
  auto with = [&](const char* memory) {
    std::vector<std::string> arguments = ask;
    arguments.insert(arguments.end(), {"--memory", memory});
    return arguments;
  };
  const ToolOutcome outcome = RunTool(with("6MiB"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("holds    6291456 bytes at most"));
  ExpectBadInput(
      with("1MiB"),
      "--memory: A[I, J_X] * B[J_X, K] -> C[I, K] cannot be done within 1048576 bytes a rank; the "
      "way that needs least takes 6291456");
}

}  // namespace
}  // namespace chorus
