// chorus explain, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  EXPECT_EQ(error(kCase3, "X=4,", kCube),
            "chorus: a mesh axis is missing here: an axis is named by one capital letter, then "
            "lower-case letters or digits, like X or Dp\n  X=4,\n      ^\n");
  EXPECT_EQ(error(kCase3, "Y=4", kCube),
            "chorus: A[I, J_X] uses axis X on dimension J, but the mesh has only Y=4\n"
            "  A[I, J_X] * B[J_X, K] -> C[I, K]\n       ^\n");
  EXPECT_EQ(error(kCase3, "X=4", "I=4,J=4"),
            "chorus: dimension K of B[J_X, K] has no size; there are I=4,J=4\n"
            "  A[I, J_X] * B[J_X, K] -> C[I, K]\n                     ^\n");
  EXPECT_EQ(
      error(kCase3, "X=4", "I=4,J=4,K=4,L=4"),
      "chorus: --dims gives L = 4, but A[I, J_X] * B[J_X, K] -> C[I, K] has no dimension L\n");
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

}  // namespace
}  // namespace chorus
