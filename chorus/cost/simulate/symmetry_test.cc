#include "chorus/cost/simulate/symmetry.h"

#include <gtest/gtest.h>

#include "chorus/algorithm/algorithm.h"
#include "chorus/cost/simulate/two_level_test.h"

namespace chorus {
namespace {

Schedule ScheduleNamed(std::string_view name, OpKind op) {
  return (*FindAlgorithm(name, op))->Build();
}

TEST(SymmetryTest, RingsTurn) {
  EXPECT_EQ(SmallestShift(ScheduleNamed("ring", OpKind::kAllReduce), 100'000, true), 1);
  EXPECT_EQ(SmallestShift(ScheduleNamed("ring", OpKind::kAllGather), 12, true), 1);
  EXPECT_EQ(SmallestShift(ScheduleNamed("shifted_ring", OpKind::kReduceScatter), 7, false), 1);
  EXPECT_EQ(SmallestShift(ScheduleNamed("direct", OpKind::kAllGather), 9, true), 1);
  EXPECT_EQ(SmallestShift(ScheduleNamed("dissemination", OpKind::kBarrier), 9, true), 1);
}

TEST(SymmetryTest, TreesHaveARoot) {
  EXPECT_EQ(SmallestShift(ScheduleNamed("binomial", OpKind::kBroadcast), 8, false), 8);
  EXPECT_EQ(SmallestShift(ScheduleNamed("binomial", OpKind::kReduce), 8, false), 8);
}

TEST(SymmetryTest, TwoLevelsMoveByWholeNodes) {
  const Schedule s = TwoLevelAllReduce(8);
  EXPECT_FALSE(IsSymmetric(s, 32, 1, true));
  EXPECT_FALSE(IsSymmetric(s, 32, 4, true));
  EXPECT_EQ(SmallestShift(s, 32, true), 8);
  EXPECT_EQ(SmallestShift(s, 16'384, true), 8);
}

Schedule Text(const std::string& body) {
  const Result<Schedule> s =
      Schedule::Parse("schedule t barrier\n  blocks 0\nbegin\n" + body + "end\n");
  EXPECT_TRUE(s.ok()) << s.status().ToString();
  return *s;
}

TEST(SymmetryTest, FormulasThatMoveAndThoseThatDoNot) {
  const auto shift = [](const std::string& step) { return SmallestShift(Text(step), 8, true); };
  EXPECT_EQ(shift("  s: send signal to (r + 3) % N as 0\n"), 1);
  EXPECT_EQ(shift("  s: send signal to (r - 1) % N as 0\n"), 1);
  // Without the modulus the peer of the last rank is another formula's value, but still r + 1.
  EXPECT_EQ(shift("  s: send signal to r / 2 * 2 + (r + 1) % 2 as 0\n"), 2);
  EXPECT_EQ(shift("  s: send signal to r ^ 1 as 0\n"), 2);
  EXPECT_EQ(shift("  s: send signal to r ^ 3 as 0\n"), 4);
  EXPECT_EQ(shift("  s: send signal to (r + 1) % N as 0 if r % 4 == 0\n"), 4);
  EXPECT_EQ(shift("  s: send signal to (r + 1) % N as 0 if r == 0\n"), 8);
  EXPECT_EQ(shift("  s: send signal to (r + 1) % N as r\n"), 8);
  EXPECT_EQ(shift("  s: send signal to (2 * r) % N as 0\n"), 8);
  EXPECT_EQ(shift("  for k in 0 .. r\n    s[k]: send signal to (r + 1) % N as k\n  end\n"), 8);
  // A label that moves may not be looked for under a name that stays.
  EXPECT_EQ(shift("  s[(r + 1) % N]: send signal to (r + 1) % N as 0\n"
                  "  t: send signal to (r + 1) % N as 1 after s[3]\n"),
            8);
  EXPECT_EQ(shift("  s[(r + 1) % N]: send signal to (r + 1) % N as 0\n"
                  "  t: send signal to (r + 1) % N as 1 after s[(r + 1) % N]\n"),
            1);
}

// What is called a symmetry is one: the moved rank has the same steps, its peers moved.
TEST(SymmetryTest, HoldsForEveryRankOfEveryAlgorithm) {
  std::int64_t symmetries = 0;
  std::vector<Schedule> all = {TwoLevelAllReduce(2), TwoLevelAllReduce(4)};
  for (const Algorithm& algorithm : AllAlgorithms()) all.push_back(algorithm.Build());
  for (const Schedule& s : all) {
    for (std::int64_t n = 2; n <= 16; ++n) {
      if (s.name() == "two_level" && n % 4 != 0) continue;
      if (s.name() == "torus_2x3" && n != 6) continue;
      const std::int64_t shift = SmallestShift(s, n, true);
      if (shift == n) continue;
      ++symmetries;
      for (std::int64_t r = 0; r < n; ++r) {
        const Result<std::vector<Step>> here = s.ForRank(n, r);
        const Result<std::vector<Step>> there = s.ForRank(n, (r + shift) % n);
        ASSERT_TRUE(here.ok() && there.ok()) << here.status().ToString();
        ASSERT_EQ(here->size(), there->size()) << s.name();
        for (std::size_t i = 0; i < here->size(); ++i) {
          const Step& a = (*here)[i];
          const Step& b = (*there)[i];
          EXPECT_EQ(a.verb, b.verb);
          EXPECT_EQ(a.message, b.message);
          EXPECT_EQ(a.after, b.after);
          ASSERT_EQ(a.chunks.size(), b.chunks.size());
          EXPECT_EQ(a.IsMessage() ? (a.peer + shift) % n : -1, b.peer);
          for (std::size_t c = 0; c < a.chunks.size(); ++c) {
            EXPECT_EQ(HoldsAccumulators(a.chunks[c].buffer), HoldsAccumulators(b.chunks[c].buffer));
          }
        }
      }
    }
  }
  EXPECT_GE(symmetries, 60);
}

}  // namespace
}  // namespace chorus
