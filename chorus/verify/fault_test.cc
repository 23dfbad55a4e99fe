// Wrong schedules, one for each thing that is proved, and the first wrong step that is shown.
#include "chorus/verify/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chorus/verify/verify.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

// The fault of one N and root 0, out of place first, then in place.
std::string FaultOf(std::string_view header, std::string_view body, std::int64_t n = 2) {
  const Result<Schedule> schedule = Schedule::Parse("schedule x " + std::string(header) +
                                                    " begin\n" + std::string(body) + "\nend");
  EXPECT_TRUE(schedule.ok()) << schedule.status().ToString();
  const Result<Expansion> e = Expand(*schedule, n);
  EXPECT_TRUE(e.ok()) << e.status().ToString();
  for (bool in_place : {false, true}) {
    const Verdict verdict = Prove(*e, in_place);
    if (!verdict.ok()) return verdict.fault->ToString();
  }
  return "proved";
}

constexpr std::string_view kBroadcast = "broadcast blocks 1 tmp 1";

TEST(FaultTest, ARightScheduleIsProved) {
  EXPECT_EQ(FaultOf(kBroadcast, R"(
    c: copy out[0] = in[0] if r == root
    s: send in[0] to 1 - r as 0 if r == root
    v: recv out[0] from 1 - r as 0 if r != root)"),
            "proved");
}

TEST(FaultTest, AMessageWithoutItsOtherHalf) {
  EXPECT_EQ(FaultOf(kBroadcast, "s: send in[0] to 1 as 0 if r == 0"),
            "rank 0, s: send in[0] to 1 as 0: nobody receives it; expected a recv of number 0 on "
            "rank 1");
  EXPECT_EQ(FaultOf(kBroadcast, "v: recv out[0] from 0 as 3 if r == 1"),
            "rank 1, v: recv out[0] from 0 as 3: nobody sends it; expected a send of number 3 on "
            "rank 0");
  EXPECT_EQ(FaultOf(kBroadcast, R"(
    s: send in[0] to 1 as 0 if r == 0
    t: send in[0] to 1 as 0 if r == 0)"),
            "rank 0, t: send in[0] to 1 as 0: s has the same peer and number; expected one message "
            "of a number between two ranks");
}

TEST(FaultTest, AMessageWhoseTwoSidesDiffer) {
  EXPECT_EQ(FaultOf("broadcast blocks 2", R"(
    s: send in[0] to 1 as 0 if r == 0
    v: recv out[1] from 0 as 0 if r == 1)"),
            "rank 1, v: recv out[1] from 0 as 0: rank 0 sends other chunks (s: send in[0] to 1 as "
            "0); expected the same blocks on both sides, accumulators into accumulators");
  // The wire type is part of it: elements do not arrive as accumulators.
  EXPECT_THAT(FaultOf("broadcast blocks 1 acc 1", R"(
    s: send in[0] to 1 as 0 if r == 0
    v: recv acc[0 : 0] from 0 as 0 if r == 1)"),
              HasSubstr("accumulators into accumulators"));
}

TEST(FaultTest, ADeadlockShowsWhoWaitsForWhom) {
  // Fine if sends are buffered, a deadlock if they wait for their recv.
  EXPECT_EQ(FaultOf("barrier blocks 0", R"(
    s: send signal to 1 - r as 0
    v: recv signal from 1 - r as 0 after s)"),
            "rank 0, s: send signal to 1 as 0: it waits for itself: s of rank 0 after s of rank 1 "
            "after s of rank 0; expected that some step can begin even if every send waits for its "
            "recv");
}

TEST(FaultTest, MessagesOfAPairInDifferentOrders) {
  EXPECT_EQ(FaultOf("barrier blocks 0", R"(
    for k in 0 .. 1
      s[k]: send signal to 1 as k if r == 0
      v[k]: recv signal from 0 as 1 - k if r == 1
    end)"),
            "rank 1, v[0]: recv signal from 0 as 1: rank 0 sends s[0] before its message; expected "
            "recvs listed in the order in which the peer lists its sends");
}

TEST(FaultTest, MessagesThatCannotBeCarriedOutAsListed) {
  // Rank 1 answers message 1 first, but rank 0 has listed message 0, which needs the answer, first.
  EXPECT_THAT(FaultOf("barrier blocks 0", R"(
    a: send signal to 2 as 0 if r == 1
    b: recv signal from 1 as 0 if r == 2
    c: send signal to 0 as 0 after b if r == 2
    d: recv signal from 2 as 0 if r == 0
    e: send signal to 1 as 0 after d if r == 0
    f: send signal to 1 as 1 if r == 0
    g: recv signal from 0 as 0 if r == 1
    h: recv signal from 0 as 1 if r == 1
    i: send signal to 2 as 1 after h if r == 1
    j: recv signal from 1 as 1 if r == 2
    k: send signal to 1 as 0 after j if r == 2
    l: recv signal from 2 as 0 if r == 1)",
                      3),
              HasSubstr("proved"));
  EXPECT_THAT(FaultOf("barrier blocks 0", R"(
    v: recv signal from 1 as 0 if r == 0
    s: send signal to 1 as 0 after v if r == 0
    t: send signal to 1 as 1 if r == 0
    w: recv signal from 0 as 0 if r == 1
    x: recv signal from 0 as 1 if r == 1
    y: send signal to 0 as 0 after x if r == 1)"),
              HasSubstr("expected that messages from one rank to another can be carried out as "
                        "listed"));
}

TEST(FaultTest, ARace) {
  EXPECT_EQ(
      FaultOf(kBroadcast, R"(
    c: copy tmp[0 : 0] = in[0] if r == 0
    s: send tmp[0 : 0] to 1 as 0 if r == 0
    v: recv out[0] from 0 as 0 if r == 1)"),
      "rank 0, s: send tmp[0 : 0] to 1 as 0: it reads memory that c writes, and neither comes "
      "after the other; expected one of them after the other, directly or through messages");
  EXPECT_THAT(FaultOf("broadcast blocks 2 tmp 1", R"(
    s: send in[0], in[1] to 1 as 0 if r == 0
    v: recv tmp[0 : 0], tmp[0 : 1] from 0 as 0 if r == 1)"),
              HasSubstr("it writes the same memory twice"));
}

TEST(FaultTest, ARaceThatOnlyInPlaceHas) {
  const std::string body = R"(
    s: send in[0] to 1 - r as 0
    v: recv tmp[0 : 0] from 1 - r as 0
    a: reduce out[0] = (r == 0 ? scaled in[0] : scaled tmp[0 : 0]) + (r == 0 ? scaled tmp[0 : 0] : scaled in[0]) finish after v)";
  EXPECT_THAT(FaultOf("all_reduce blocks 1 order rank tmp 1", body),
              HasSubstr("it writes memory that s reads, and neither comes after the other (in "
                        "place)"));
  EXPECT_EQ(FaultOf("all_reduce blocks 1 order rank tmp 1", body + ", s"), "proved");
}

TEST(FaultTest, AnOrderThroughMessagesIsNoRace) {
  // `w` overwrites what `s` sends, but only after the answer to it.
  EXPECT_EQ(FaultOf(kBroadcast, R"(
    c: copy tmp[0 : 0] = in[0] if r == 0
    s: send tmp[0 : 0] to 1 as 0 after c if r == 0
    v: recv out[0] from 0 as 0 if r == 1
    b: send out[0] to 0 as 0 after v if r == 1
    w: recv tmp[0 : 0] from 1 as 0 if r == 0
    d: copy out[0] = tmp[0 : 0] after w if r == 0)"),
            "proved");
}

TEST(FaultTest, MemoryThatHoldsNothing) {
  EXPECT_EQ(FaultOf(kBroadcast, "c: copy out[0] = in[0]"),
            "rank 1, c: copy out[0] = in[0]: in[0] holds nothing yet; expected memory that was "
            "written before");
  EXPECT_THAT(FaultOf("broadcast blocks 2 tmp 1", R"(
    c: copy tmp[0 : 0] = in[0] if r == 0
    s: send tmp[0 : 1] to 1 as 0 after c if r == 0
    v: recv out[1] from 0 as 0 if r == 1)"),
              HasSubstr("tmp[0 : 1] holds x0[0]; expected something of block 1"));
}

TEST(FaultTest, AWriteWhereNoneIsAllowed) {
  EXPECT_THAT(FaultOf("all_gather blocks N owns r", R"(
    s: send in[r] to 1 - r as 0
    v: recv in[1 - r] from 1 - r as 0)"),
              HasSubstr("in[0] is the caller's; expected that nothing is written into in"));
  EXPECT_THAT(
      FaultOf("reduce blocks 1 order rank", "c: copy out[0] = in[0]"),
      HasSubstr("this rank has no out[0]; expected a block that reduce gives to this rank"));
  EXPECT_THAT(FaultOf("broadcast blocks 2", "c: copy out[1] = in[0] if r == 0"),
              HasSubstr("x0[0] is written into block 1; expected block 0"));
}

// One rank sends its contribution to the other, which adds.
std::string Pair(std::string_view reduce, std::string_view order = "rank") {
  return FaultOf("reduce blocks 1 order " + std::string(order) + " tmp 1 acc 1", R"(
    s: send in[0] to 0 as 0 if r == 1
    v: recv tmp[0 : 0] from 1 as 0 if r == 0
    a: reduce )" + std::string(reduce) + " after v if r == 0");
}

TEST(FaultTest, ASumThatIsNotAsDeclared) {
  EXPECT_EQ(Pair("out[0] = scaled in[0] + scaled tmp[0 : 0] finish"), "proved");
  EXPECT_EQ(Pair("out[0] = scaled tmp[0 : 0] + scaled in[0] finish", "any"), "proved");
  EXPECT_THAT(Pair("out[0] = scaled tmp[0 : 0] + scaled in[0] finish"),
              HasSubstr("x1[0]' + x0[0]' is not in rank order"));
  EXPECT_THAT(Pair("out[0] = scaled in[0] + scaled in[0] finish"),
              HasSubstr("rank 0 is counted twice in x0[0]' + x0[0]'"));
  EXPECT_THAT(Pair("out[0] = in[0] + scaled tmp[0 : 0] finish"),
              HasSubstr("x0[0] is added without its scale"));
  EXPECT_THAT(
      Pair("out[0] = scaled in[0] + scaled tmp[0 : 0]"),
      HasSubstr("(x0[0]' + x1[0]') would be rounded before it is finished; expected partial "
                "sums in acc only, or finish"));
  EXPECT_THAT(Pair("acc[0 : 0] = scaled in[0] + scaled tmp[0 : 0]"),
              HasSubstr("rank 0, the end: out[0] ends with nothing; expected the finished sum of "
                        "x0[0] .. x1[0]"));
  EXPECT_THAT(
      FaultOf("reduce blocks 1 order rank", "c: copy out[0] = scaled in[0] finish if r == 0"),
      HasSubstr("x0[0]' is finished with 1 of 2 contributions"));
  EXPECT_THAT(FaultOf("reduce blocks 1 order rank tmp 1", R"(
    c: copy tmp[0 : 0] = scaled in[0] finish
    d: copy out[0] = tmp[0 : 0] finish after c)",
                      1),
              HasSubstr("[x0[0]'] is finished a second time"));
  EXPECT_THAT(FaultOf("reduce blocks 1 order rank acc 1", R"(
    c: copy acc[0 : 0] = scaled in[0]
    d: copy out[0] = scaled acc[0 : 0] finish after c)",
                      1),
              HasSubstr("x0[0]' is scaled, but is not a raw contribution"));
}

TEST(FaultTest, AnOperationThatReducesNothingMustNotReduce) {
  EXPECT_THAT(FaultOf(kBroadcast, "c: copy out[0] = in[0] finish", 1),
              HasSubstr("broadcast reduces nothing"));
}

TEST(FaultTest, ResultsMustBeTheSameBitsOnAllRanks) {
  // Both ranks have a sum of both, in any order: but not the same one.
  EXPECT_THAT(FaultOf("all_reduce blocks 1 order any tmp 1", R"(
    s: send in[0] to 1 - r as 0
    v: recv tmp[0 : 0] from 1 - r as 0
    a: reduce out[0] = scaled in[0] + scaled tmp[0 : 0] finish after v, s)"),
              HasSubstr("out[0] ends with [(x1[0]' + x0[0]')]; expected [(x0[0]' + x1[0]')], as on "
                        "other ranks, bit for bit"));
}

TEST(FaultTest, AResultThatIsNotWhatTheOperationPromises) {
  EXPECT_THAT(FaultOf("all_gather blocks N owns r", R"(
    c: copy out[r] = in[r]
    s: send in[r] to 1 - r as 0
    v: recv out[1 - r] from 1 - r as 0 if r == 0)"),
              HasSubstr("nobody receives it"));
  EXPECT_THAT(FaultOf("all_gather blocks N owns r", "c: copy out[r] = in[r]"),
              HasSubstr("rank 0, the end: out[1] ends with nothing; expected x1[1]"));
  // Two ranks own the same block: there is no right answer.
  EXPECT_THAT(FaultOf("all_gather blocks 1 owns 0", "c: copy out[0] = in[0]"),
              HasSubstr("expected x0[0]"));
}

TEST(FaultTest, ABarrierThatCanBeLeftEarly) {
  EXPECT_EQ(FaultOf("barrier blocks 0", R"(
    s: send signal to (r + 1) % N as 0
    v: recv signal from (r - 1) % N as 0)",
                    3),
            "rank 0, the end: it can be reached before rank 1 has begun; expected a chain of "
            "messages from every rank");
}

TEST(FaultTest, AnExpansionByHandIsCheckedToo) {
  Expansion e =
      *Expand(*Schedule::Parse("schedule x broadcast blocks 1 begin\n"
                               "c: copy out[0] = in[0]\nd: copy out[0] = in[0] after c end"),
              1);
  EXPECT_TRUE(Prove(e, false).ok());
  Expansion later = e;
  later.ranks[0][0].after = {1};
  EXPECT_EQ(Prove(later, false).fault->why, "it comes after d, which is listed later");
  Expansion missing = e;
  missing.ranks[0][1].after = {7};
  EXPECT_EQ(Prove(missing, false).fault->why, "it comes after step 7, which does not exist");
  Expansion block = e;
  block.ranks[0][1].chunks[0].block = 1;
  EXPECT_EQ(Prove(block, false).fault->why, "out[1] does not exist");
  Expansion chunks = e;
  chunks.ranks[0][1].chunks.pop_back();
  EXPECT_EQ(Prove(chunks, false).fault->why, "it has 1 chunks");
  Expansion peer = e;
  peer.ranks[0][1].verb = Verb::kSend;
  peer.ranks[0][1].peer = 0;
  EXPECT_EQ(Prove(peer, false).fault->why, "the peer is 0");
}

TEST(VerdictTest, SaysWhichCaseFailed) {
  const Schedule s =
      *Schedule::Parse("schedule x broadcast blocks 1 begin c: copy out[0] = in[0] if r == 0 end");
  const Result<Verdict> one = Verify(s, 1);
  EXPECT_TRUE(one->ok());
  EXPECT_EQ(one->proof.cases, 2);
  const Result<Verdict> two = Verify(s, 2);
  EXPECT_FALSE(two->ok());
  EXPECT_EQ(two->group_size, 2);
  EXPECT_EQ(two->root, 0);
  EXPECT_EQ(two->fault->rank, 1);
  EXPECT_EQ(Verify(s, 0).status().message(), "a group has at least 1 rank, not 0");
}

}  // namespace
}  // namespace chorus
