// Names with numbers: what they find, and what is said of those that find nothing.
#include <gtest/gtest.h>

#include "chorus/algorithm/algorithm.h"

namespace chorus {
namespace {

std::string ErrorOf(std::string_view name, OpKind op) {
  const auto found = FindAlgorithm(name, op);
  return found.ok() ? "found" : found.status().message();
}

TEST(FindAlgorithmTest, NumbersAreTheBuilders) {
  const auto four = FindAlgorithm("knomial:4", OpKind::kBroadcast);
  const auto eight = FindAlgorithm("knomial:8", OpKind::kBroadcast);
  ASSERT_TRUE(four.ok() && eight.ok());
  EXPECT_EQ((*eight)->name, "knomial:8");
  EXPECT_EQ((*eight)->Build().name(), "knomial_8");
  EXPECT_NE((*four)->Build(), (*eight)->Build());
  EXPECT_EQ((*FindAlgorithm("torus:4x2x3", OpKind::kAllReduce))->numbers,
            (AlgorithmNumbers{4, 2, 3}));
  EXPECT_EQ((*FindAlgorithm("two_level:3+1+2", OpKind::kAllGather))->Build().name(),
            "two_level_3_1_2");
}

TEST(FindAlgorithmTest, AllHaveTheNumbersOfTheirName) {
  for (const Algorithm& algorithm : AllAlgorithms()) {
    const auto found = FindAlgorithm(algorithm.name, algorithm.op);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_EQ((*found)->numbers, algorithm.numbers);
    EXPECT_EQ(algorithm.numbers.empty(), algorithm.parameter == nullptr);
    EXPECT_EQ((*found)->Build(), algorithm.Build());
  }
}

TEST(FindAlgorithmTest, WrongNumbersSayWhatIsRight) {
  const std::string knomial =
      "; write knomial:K, K being the number of parts into which a level cuts the ranks, 2 to 64";
  EXPECT_EQ(ErrorOf("knomial", OpKind::kReduce), "'knomial': there is no number" + knomial);
  EXPECT_EQ(ErrorOf("knomial:", OpKind::kReduce), "'knomial:': there is no number" + knomial);
  EXPECT_EQ(ErrorOf("knomial:1", OpKind::kReduce), "'knomial:1': 1 is not in 2 .. 64" + knomial);
  EXPECT_EQ(ErrorOf("knomial:4+4", OpKind::kReduce),
            "'knomial:4+4': '+' is not expected" + knomial);
  const std::string torus =
      "; write torus:AxB, AxB being the ranks along each axis, the last one fastest, such as 2x3 "
      "or "
      "4x4x4";
  EXPECT_EQ(ErrorOf("torus:2x", OpKind::kAllReduce), "'torus:2x': there is no number" + torus);
  EXPECT_EQ(ErrorOf("torus:0x3", OpKind::kAllReduce),
            "'torus:0x3': 0 x 3 make none of 1 .. 1048576 ranks" + torus);
  EXPECT_EQ(ErrorOf("torus:99999999999999999999", OpKind::kAllReduce),
            "'torus:99999999999999999999': there is no number" + torus);
  EXPECT_EQ(
      ErrorOf("two_level:2+0", OpKind::kAllReduce),
      "'two_level:2+0': a node of 0 ranks is not in 1 .. 1048576; write two_level:L, L being the "
      "ranks of a node, such as 4, or of each node, such as 3+1+2");
  EXPECT_EQ(ErrorOf("hierarchical:3+3", OpKind::kAllGather),
            "'hierarchical:3+3': '+' is not expected; write hierarchical:L, L being the ranks of a "
            "node, of which there are whole ones only, such as 8");
  EXPECT_EQ(ErrorOf("hierarchical:3x65", OpKind::kAllReduce),
            "'hierarchical:3x65': 65 pieces are not in 1 .. 64; write hierarchical:L, L being the "
            "ranks of a node, of which there are whole ones only, such as 8, or these and into how "
            "many pieces that follow each other, such as 8x4");
  EXPECT_EQ(ErrorOf("ring:3", OpKind::kAllReduce), "ring takes no numbers, 'ring:3' has some");
  EXPECT_EQ(ErrorOf("knomial:4", OpKind::kAllToAll),
            "no algorithm 'knomial:4' for all_to_all; there is direct, confirmed, pairwise, bruck");
}

TEST(FindAlgorithmTest, NumbersMayFitOnlySomeGroups) {
  const auto torus = *FindAlgorithm("torus:2x3", OpKind::kAllReduce);
  EXPECT_TRUE(torus->Fits(6).ok());
  EXPECT_EQ(torus->Fits(8).message(), "torus:2x3: it has 6 ranks, the group has 8");
  const auto nodes = *FindAlgorithm("two_level:3+1+2", OpKind::kAllReduce);
  EXPECT_TRUE(nodes->Fits(6).ok());
  EXPECT_EQ(nodes->Fits(5).message(), "two_level:3+1+2: its nodes have 6 ranks, the group has 5");
  const auto whole = *FindAlgorithm("hierarchical:4", OpKind::kAllReduce);
  EXPECT_TRUE(whole->Fits(8).ok());
  EXPECT_EQ(
      whole->Fits(6).message(),
      "hierarchical:4: 6 ranks are no whole nodes of 4; two_level:4 takes any number of ranks");
  EXPECT_TRUE((*FindAlgorithm("two_level:4", OpKind::kAllReduce))->Fits(5).ok());
}

}  // namespace
}  // namespace chorus
