// Every algorithm is proved for every N up to 33, every root, out of place and in place.
#include "chorus/verify/verify.h"

#include <gtest/gtest.h>

#include "chorus/algorithm/algorithm.h"

namespace chorus {
namespace {

TEST(VerifyTest, EveryAlgorithmIsProvedForEveryGroupSizeUpTo33) {
  for (const Algorithm& algorithm : AllAlgorithms()) {
    const Schedule schedule = algorithm.Build();
    Proof proof;
    for (std::int64_t n = 1; n <= 33; ++n) {
      if (!algorithm.Fits(n).ok()) continue;
      const Result<Verdict> verdict = Verify(schedule, n);
      ASSERT_TRUE(verdict.ok()) << verdict.status().ToString();
      ASSERT_TRUE(verdict->ok()) << algorithm.name << " " << Name(algorithm.op) << " N=" << n
                                 << " root=" << verdict->root << " in place=" << verdict->in_place
                                 << "\n"
                                 << verdict->fault->ToString();
      proof += verdict->proof;
    }
    // Two cases for each N (in place and not, where there is that), for each root where there is
    // one.
    const std::int64_t roots = HasRoot(algorithm.op) ? 33 * 34 / 2 : 33;
    EXPECT_EQ(proof.cases, (HasInPlace(algorithm.op) ? 2 : 1) * roots);
    RecordProperty(std::string(algorithm.name) + "_" + std::string(Name(algorithm.op)) + "_steps",
                   std::to_string(proof.steps));
  }
}

}  // namespace
}  // namespace chorus
