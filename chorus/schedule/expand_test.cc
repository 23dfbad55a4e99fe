// Expansion of a family for one rank: scopes, guards, dependencies, and what is refused.
#include <gtest/gtest.h>

#include "chorus/schedule/builder.h"
#include "chorus/schedule/expansion.h"

namespace chorus {
namespace {

Schedule Parsed(std::string_view header, std::string_view body) {
  const Result<Schedule> s = Schedule::Parse("schedule x " + std::string(header) + " begin\n" +
                                             std::string(body) + "\nend");
  EXPECT_TRUE(s.ok()) << s.status().ToString();
  return *s;
}

std::string Expanded(const Schedule& schedule, std::int64_t n, std::int64_t rank,
                     std::int64_t root = 0) {
  const auto steps = schedule.ForRank(n, rank, root);
  if (!steps.ok()) return steps.status().message();
  std::string text;
  for (const Step& step : *steps) {
    text += step.ToString();
    for (std::int64_t i : step.after) text += " <" + std::to_string(i);
    text += "\n";
  }
  return text;
}

TEST(ExpandTest, LetLastsUntilTheEndOfItsLoop) {
  const Schedule s = Parsed("broadcast blocks 4", R"(
    for k in 0 .. 1
      let b = 2 * k + r
      c[k]: copy out[b] = in[b]
    end
    let b = 3
    d: copy out[b] = in[0])");
  EXPECT_EQ(Expanded(s, 2, 1),
            "c[0]: copy out[1] = in[1]\n"
            "c[1]: copy out[3] = in[3]\n"
            "d: copy out[3] = in[0]\n");
}

TEST(ExpandTest, AStepExistsWhereItsGuardIsNotZero) {
  const Schedule s = Parsed("broadcast blocks 1", R"(
    a: copy out[0] = in[0] if r == root
    b: copy out[0] = out[0] after a)");
  EXPECT_EQ(Expanded(s, 3, 2, 2), "a: copy out[0] = in[0]\nb: copy out[0] = out[0] <0\n");
  EXPECT_EQ(Expanded(s, 3, 1, 2), "b: copy out[0] = out[0]\n");  // a does not exist: left out
}

TEST(ExpandTest, AStarMeansEveryStepOfThatNameListedBefore) {
  const Schedule s = Parsed("broadcast blocks 1", R"(
    for k in 0 .. 2
      c[k]: copy out[0] = in[0] after c[*] if k != 1
    end
    d: copy out[0] = in[0] after c[2], c[*], e[*]
    e: copy out[0] = in[0] if r == 9)");
  EXPECT_EQ(Expanded(s, 1, 0),
            "c[0]: copy out[0] = in[0]\n"
            "c[2]: copy out[0] = in[0] <0\n"
            "d: copy out[0] = in[0] <0 <1\n");
}

TEST(ExpandTest, AChoiceOfChunksIsMadePerStep) {
  const Schedule s = Parsed("all_reduce blocks 2 order any tmp 1 acc 2", R"(
    for k in 0 .. 2
      c[k]: copy acc[k % 2 : 1] = (k == 0 ? scaled in[1] : (k < 2 ? tmp[0 : 1] : acc[1 : 1]))
    end)");
  EXPECT_EQ(Expanded(s, 1, 0),
            "c[0]: copy acc[0 : 1] = scaled in[1]\n"
            "c[1]: copy acc[1 : 1] = tmp[0 : 1]\n"
            "c[2]: copy acc[0 : 1] = acc[1 : 1]\n");
}

TEST(ExpandTest, RefusesWhatCannotBe) {
  const auto error = [](std::string_view body) {
    const std::string text = Expanded(Parsed("broadcast blocks 2 tmp 1", body), 3, 1);
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(error("c: copy out[2] = in[0]"),
            "step c of rank 1: the block is 2; it must be in 0 .. 1");
  EXPECT_EQ(error("c: copy tmp[r : 0] = in[0]"),
            "step c of rank 1: the tmp slot is 1; it must be in 0 .. 0");
  EXPECT_EQ(error("c: copy acc[0 : 0] = in[0]"),
            "step c of rank 1: the acc slot is 0, but there is none");
  EXPECT_EQ(error("s: send in[0] to N as 0"),
            "step s of rank 1: the peer is 3; it must be in 0 .. 2");
  EXPECT_EQ(error("s: send in[0] to r as 0"), "step s of rank 1: the peer is the rank itself");
  EXPECT_EQ(error("s: send in[0] to 0 as r - 2"),
            "step s of rank 1: the message number is -1; it must be in 0 .. 4194303");
  EXPECT_EQ(error("c: copy out[0] = in[0] c: copy out[0] = in[0]"),
            "step c of rank 1: there are two steps of this name");
  EXPECT_EQ(error("c: copy out[0] = in[0] after d d: copy out[0] = in[0]"),
            "step c comes after d, which is listed later; list steps in an order in which they can "
            "be done");
  EXPECT_EQ(error("c: copy out[0] = in[0] after c"), "step c of rank 1: it comes after itself");
  EXPECT_EQ(error("c: copy out[0 / (r - 1)] = in[0]"),
            "step c of rank 1: 0 / (r - 1) divides 0 by zero");
  EXPECT_EQ(error("for k in 0 .. 1 << 60 end"),
            "for k in 0 .. 1152921504606846976: rank 1 of 3 looks at more than 131840 lines, turns "
            "and chunks for 0 steps; is the end of a loop right?");
}

TEST(ExpandTest, ARangeIsSeveralChunksOfOneMessage) {
  const Schedule s = Parsed("broadcast blocks 2 * N tmp N", R"(
    a: send for j in 0 .. N - 1: in[(r + j) % N], in[N] to (r + 1) % N as 0
    b: send (r == 0 ? for j in 0 .. 2 * N - 1 if j % N == 1: in[j] : out[0]) to (r + 1) % N as 1
    c: send for i in 0 .. 1: for j in i .. 1: tmp[j : i] to (r + 1) % N as 2
    d: send for j in 1 .. 0: in[j] to (r + 1) % N as 3)");
  EXPECT_EQ(Expanded(s, 3, 2),
            "a: send in[2], in[0], in[1], in[3] to 0 as 0\n"
            "b: send out[0] to 0 as 1\n"
            "c: send tmp[0 : 0], tmp[1 : 0], tmp[1 : 1] to 0 as 2\n"
            "d: send signal to 0 as 3\n");
  EXPECT_NE(Expanded(s, 3, 0).find("b: send in[1], in[4] to 1 as 1\n"), std::string::npos);
  EXPECT_EQ(*Schedule::Parse(s.ToString()), s);
}

// Neither turns that list nothing, nor guards, nor chunks, nor steps without end take long.
TEST(ExpandTest, AnAbsurdLoopIsRefusedAfterFewSteps) {
  for (const char* body :
       {"for k in 0 .. 4000000 end", "for k in 0 .. 3000000 c[k]: copy out[0] = in[0] end",
        "for k in 0 .. 2000 for l in 0 .. 2000 c: copy out[0] = in[0] if r == 7 end end",
        "s: send for k in 0 .. 4000000: in[0] to 0 as 0"}) {
    const std::string error = Expanded(Parsed("broadcast blocks 1", body), 3, 1);
    EXPECT_NE(error.find("more than 131840 lines, turns and chunks"), std::string::npos) << error;
  }
}

TEST(ExpandTest, RanksAndRootsMustBeInTheGroup) {
  const Schedule s = Parsed("broadcast blocks 1", "");
  EXPECT_EQ(s.ForRank(0, 0).status().message(),
            "schedule x broadcast: a group has at least 1 rank, not 0");
  EXPECT_EQ(s.ForRank(4, 4).status().message(),
            "schedule x broadcast: rank 4 is not in a group of 4 (0 to 3)");
  EXPECT_EQ(s.ForRank(4, 0, -1).status().message(),
            "schedule x broadcast: root -1 is not in a group of 4 (0 to 3)");
}

TEST(ExpandTest, TheFrameIsWorkedOutPerRank) {
  const Schedule s =
      Parsed("reduce_scatter blocks N owns (r + 1) % N order any tmp N - 1 acc 2 tiles 4", "");
  EXPECT_EQ(*s.FrameFor(3, 2), (Frame{3, 0, 2, 2, 4}));
  EXPECT_EQ(Parsed("all_gather blocks N owns r + 1", "").FrameFor(3, 2).status().message(),
            "the block a rank owns is 3; it must be in 0 .. 2");
  EXPECT_EQ(Parsed("broadcast blocks 1 tmp -r", "").FrameFor(3, 2).status().message(),
            "3 ranks have -2 tmp slots; a schedule has 0 to 4194304");
}

TEST(ExpandTest, AllRanksHaveTheSameBlocks) {
  EXPECT_EQ(Expand(Parsed("broadcast blocks r + 1", ""), 2).status().message(),
            "rank 0 has 1 blocks and rank 1 has 2; all ranks must have the same");
}

TEST(ExpandTest, OneRankOfAHundredThousandIsCheap) {
  const Expr r = Expr::Rank(), n = Expr::GroupSize(), k = Expr::Variable("k");
  ScheduleBuilder b("log", OpKind::kBarrier);
  b.Blocks(0);
  b.For(k, 0, CeilLog2(n) - 1, [&] {
    b.Send(Label("s")[k], {}).To((r + (Expr(1) << k)) % n).As(k);
    b.Recv(Label("v")[k], {}).From((r - (Expr(1) << k)) % n).As(k);
  });
  const auto steps = std::move(b).Build().ForRank(100'000, 99'999);
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(steps->size(), 34U);
  EXPECT_EQ(steps->back().peer, 99'999 - 65'536);
}

}  // namespace
}  // namespace chorus
