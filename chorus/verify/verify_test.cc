// Every algorithm is proved for every N up to 17 and some above (up to 64 if asked for), every
// root, out of place and in place; those with numbers for many numbers.
#include "chorus/verify/verify.h"

#include <gtest/gtest.h>

#include "chorus/algorithm/algorithm.h"

namespace chorus {
namespace {

void ExpectProved(const Algorithm& algorithm, std::int64_t n, Proof& proof) {
  if (!algorithm.Fits(n).ok()) return;
  const Result<Verdict> verdict = Verify(algorithm.Build(), n);
  ASSERT_TRUE(verdict.ok()) << verdict.status().ToString();
  ASSERT_TRUE(verdict->ok()) << algorithm.name << " " << Name(algorithm.op) << " N=" << n
                             << " root=" << verdict->root << " in place=" << verdict->in_place
                             << "\n"
                             << verdict->fault->ToString();
  // Two cases (in place and not, where there is that), for each root where there is one.
  EXPECT_EQ(verdict->proof.cases,
            (HasInPlace(algorithm.op) ? 2 : 1) * (HasRoot(algorithm.op) ? n : 1));
  proof += verdict->proof;
}

void ExpectAllProved(const std::vector<std::int64_t>& group_sizes) {
  Proof proof;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    for (const std::int64_t n : group_sizes) ExpectProved(algorithm, n, proof);
    if (testing::Test::HasFatalFailure()) return;
  }
  testing::Test::RecordProperty("cases", std::to_string(proof.cases));
  testing::Test::RecordProperty("steps", std::to_string(proof.steps));
}

std::vector<std::int64_t> UpTo(std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = 1; n <= most; ++n) sizes.push_back(n);
  return sizes;
}

TEST(VerifyTest, EveryAlgorithmIsProvedForEveryGroupSizeUpTo17) { ExpectAllProved(UpTo(17)); }

// Around a power of two and beyond the 32 ranks of a word; operations with a root take long.
TEST(VerifyTest, AlgorithmsWithoutARootAreProvedAround32) {
  Proof proof;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    if (HasRoot(algorithm.op)) continue;
    for (const std::int64_t n : {24, 31, 32, 33}) ExpectProved(algorithm, n, proof);
  }
}

// Two minutes; --gtest_also_run_disabled_tests asks for it.
TEST(VerifyTest, DISABLED_EveryAlgorithmIsProvedForEveryGroupSizeUpTo64) {
  ExpectAllProved(UpTo(64));
}

TEST(VerifyTest, AlgorithmsWithNumbersAreProvedForManyNumbers) {
  Proof proof;
  // The name, and up to which N.
  const std::pair<const char*, std::int64_t> cases[] = {
      {"knomial:2", 17},       {"knomial:3", 17},
      {"knomial:5", 17},       {"knomial:8", 17},
      {"knomial:64", 9},       {"two_level:1", 9},
      {"two_level:2", 17},     {"two_level:3", 17},
      {"two_level:5", 17},     {"two_level:100", 9},
      {"two_level:3+1+2", 6},  {"two_level:1+5+1+2", 9},
      {"two_level:1+1", 2},    {"two_level:4+4+4+4", 16},
      {"hierarchical:1", 9},   {"hierarchical:3", 18},
      {"hierarchical:4", 16},  {"hierarchical:8", 16},
      {"hierarchical:2x2", 8}, {"hierarchical:3x4", 9},
      {"hierarchical:1x3", 5}, {"torus:1", 1},
      {"torus:4", 4},          {"torus:2x2", 4},
      {"torus:3x2", 6},        {"torus:1x4x1", 4},
      {"torus:2x2x2", 8},      {"torus:4x3x2", 24},
      {"torus:4x4", 16},       {"torus:5x7", 35}};
  std::int64_t proved = 0;
  for (const auto& [name, most] : cases) {
    for (const OpKind op : kAllOpKinds) {
      const auto algorithm = FindAlgorithm(name, op);
      if (!algorithm.ok()) continue;
      ++proved;
      for (std::int64_t n = 1; n <= most; ++n) ExpectProved(**algorithm, n, proof);
    }
  }
  EXPECT_EQ(proved, 5 * 4 + 9 * 4 + 4 * 3 + 3 + 9 * 3);
}

}  // namespace
}  // namespace chorus
