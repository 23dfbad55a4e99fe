#include "chorus/cost/simulate/symmetry.h"

#include <gtest/gtest.h>

#include "chorus/algorithm/algorithm.h"

namespace chorus {
namespace {

Schedule ScheduleNamed(std::string_view name, OpKind op) {
  return (*FindAlgorithm(name, op))->Build();
}

TEST(SymmetryTest, RingsTurn) {
  EXPECT_EQ(SmallestShift(ScheduleNamed("ring", OpKind::kAllReduce), 1000, 0, {true, true}), 1);
  EXPECT_EQ(SmallestShift(ScheduleNamed("ring", OpKind::kAllGather), 12, 0, {true, true}), 1);
  EXPECT_EQ(
      SmallestShift(ScheduleNamed("shifted_ring", OpKind::kReduceScatter), 7, 0, {false, true}), 1);
  EXPECT_EQ(SmallestShift(ScheduleNamed("direct", OpKind::kAllGather), 9, 0, {true, true}), 1);
  EXPECT_EQ(SmallestShift(ScheduleNamed("dissemination", OpKind::kBarrier), 9, 0, {true, true}), 1);
}

TEST(SymmetryTest, TreesHaveARoot) {
  EXPECT_EQ(SmallestShift(ScheduleNamed("binomial", OpKind::kBroadcast), 8, 0, {false, true}), 8);
  EXPECT_EQ(SmallestShift(ScheduleNamed("binomial", OpKind::kReduce), 8, 0, {false, true}), 8);
}

TEST(SymmetryTest, TwoLevelsMoveByWholeNodes) {
  const WhatTakesTime wire = {true, false}, all = {true, true};
  for (const OpKind op : {OpKind::kAllReduce, OpKind::kAllGather, OpKind::kReduceScatter}) {
    const Schedule s = ScheduleNamed("two_level:8", op);
    EXPECT_FALSE(IsSymmetric(s, 32, 0, 1, wire));
    EXPECT_FALSE(IsSymmetric(s, 32, 0, 4, wire));
    EXPECT_EQ(SmallestShift(s, 32, 0, wire), 8);
    EXPECT_EQ(SmallestShift(s, 36, 0, wire), 36);  // the last node has 4 ranks
    // The leader of node 3 adds node 3 in step 3: another one than that of node 0.
    EXPECT_EQ(SmallestShift(s, 32, 0, all), op == OpKind::kAllGather ? 8 : 32);
  }
  EXPECT_EQ(SmallestShift(ScheduleNamed("two_level:8", OpKind::kAllReduce), 16'384, 0, wire), 8);
  EXPECT_EQ(SmallestShift(ScheduleNamed("direct", OpKind::kAllReduce), 12, 0, wire), 1);
  EXPECT_EQ(SmallestShift(ScheduleNamed("direct", OpKind::kAllReduce), 12, 0, all), 12);
}

Schedule Text(const std::string& body) {
  const Result<Schedule> s =
      Schedule::Parse("schedule t barrier\n  blocks 0\nbegin\n" + body + "end\n");
  EXPECT_TRUE(s.ok()) << s.status().ToString();
  return *s;
}

TEST(SymmetryTest, FormulasThatMoveAndThoseThatDoNot) {
  const auto shift = [](const std::string& step) {
    return SmallestShift(Text(step), 8, 0, {true, true});
  };
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

// Local steps that take no time hand on what they wait for: all of it, or there is no proof.
TEST(SymmetryTest, SumsOverAllRanksWaitForAll) {
  const auto shift = [](const std::string& sum) {
    const std::string body =
        "  for d in 1 .. N - 1\n    x[(r + d) % N]: send signal to (r + d) % N as 0\n"
        "    v[(r - d) % N]: recv signal from (r - d) % N as 0\n  end\n" +
        sum + "  f: send signal to (r + 1) % N as 1 after t[N - 1]\n" +
        "  g: recv signal from (r - 1) % N as 1\n";
    const Result<Schedule> s = Schedule::Parse(
        "schedule t all_reduce\n  blocks 1\n  order any\n  tmp N\nbegin\n" + body + "end\n");
    if (!s.ok()) ADD_FAILURE() << s.status().ToString();
    return !s.ok() ? 0 : SmallestShift(*s, 8, 0, {true, false});
  };
  const std::string loop = "  for q in 1 .. N - 1\n    t[q]: copy tmp[q : 0] = in[0] after ";
  EXPECT_EQ(shift(loop + "t[q - 1], v[q], v[q - 1]\n  end\n"), 1);
  EXPECT_EQ(shift(loop + "t[q - 1], v[q]\n  end\n"), 8);            // not for v[0]
  EXPECT_EQ(shift(loop + "t[q - 3], v[q], v[q - 1]\n  end\n"), 8);  // not for v[2], v[5]
  EXPECT_EQ(shift(loop + "v[q], v[q - 1]\n  end\n"), 8);
  EXPECT_EQ(shift(loop + "v[*]\n  end\n"), 1);
  EXPECT_EQ(shift(loop + "v[(r + q) % N]\n  end\n"), 1);
  // u[r] is another step on each rank, but all of u wait for the same, or not.
  const std::string own = "  t[N - 1]: copy tmp[0 : 0] = in[0] after u[r]\n";
  const std::string each = "  for q in 0 .. N - 1\n    u[q]: copy tmp[q : 0] = in[0] after ";
  EXPECT_EQ(shift(each + "v[*]\n  end\n" + own), 1);
  EXPECT_EQ(shift(each + "v[(r + 1) % N]\n  end\n" + own), 1);
  EXPECT_EQ(shift(each + "v[(r + 1 + q % 2) % N]\n  end\n" + own), 2);  // r is even, or odd
  EXPECT_EQ(shift(each + "v[q]\n  end\n" + own), 8);
}

// What is called a symmetry is one: the moved rank has the same steps, its peers moved.
TEST(SymmetryTest, HoldsForEveryRankOfEveryAlgorithm) {
  std::int64_t symmetries = 0;
  std::vector<Schedule> all = {ScheduleNamed("two_level:2", OpKind::kAllGather)};
  for (const Algorithm& algorithm : AllAlgorithms()) all.push_back(algorithm.Build());
  for (const Schedule& s : all) {
    for (std::int64_t n = 2; n <= 16; ++n) {
      if (s.name() == "torus_2x3" && n != 6) continue;
      const std::int64_t shift = SmallestShift(s, n, 0, {true, true});
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
