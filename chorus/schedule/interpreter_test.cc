// The reference meaning on small schedules whose results can be seen, and what it refuses.
#include "chorus/schedule/interpreter.h"

#include <gtest/gtest.h>

#include "chorus/schedule/rounds.h"

namespace chorus {
namespace {

Expansion Expanded(std::string_view text, std::int64_t n, std::int64_t root = 0) {
  const Result<Schedule> schedule = Schedule::Parse(text);
  EXPECT_TRUE(schedule.ok()) << schedule.status().ToString();
  const Result<Expansion> e = Expand(*schedule, n, root);
  EXPECT_TRUE(e.ok()) << e.status().ToString();
  return *e;
}

// Rank 0 gives its value to 1, which gives it to 2.
constexpr std::string_view kChain = R"(schedule chain broadcast
  blocks 2
  tiles 2
begin
  c: copy out[0] = in[0] if r == 0
  d: copy out[1] = in[1] if r == 0
  v: recv out[0], out[1] from r - 1 as 0 if r > 0
  s: send out[0], out[1] to r + 1 as 0 after c, d, v if r < N - 1
end)";

Setting TwoBlocks(std::int64_t tile) {
  Setting setting;
  setting.block_elements = {5, 2};
  setting.tile_elements = tile;
  return setting;
}

const RankBlocks<std::int64_t> kChainIn = {{{1, 2, 3, 4, 5}, {6, 7}}, {{}, {}}, {{}, {}}};

TEST(InterpreterTest, EveryTileSizeAndOrderGivesTheSame) {
  const Expansion e = Expanded(kChain, 3);
  for (std::int64_t tile : {1, 2, 3, 5, 100}) {
    for (Pick pick : {Pick::kFirst, Pick::kLast, Pick::kRandom}) {
      Setting setting = TwoBlocks(tile);
      setting.pick = pick;
      const auto out = Interpret(e, setting, Arithmetic<std::int64_t>(), kChainIn);
      ASSERT_TRUE(out.ok()) << out.status().ToString();
      for (std::int64_t rank = 0; rank < 3; ++rank) EXPECT_EQ((*out)[rank], kChainIn[0]);
    }
  }
}

TEST(InterpreterTest, AnEmptyBlockStillHasOneTile) {
  Setting setting;
  setting.block_elements = {0, 0};
  EXPECT_EQ(TileCount(setting), 1);
  setting.block_elements = {0, 9};
  setting.tile_elements = 4;
  EXPECT_EQ(TileCount(setting), 3);
  const RankBlocks<std::int64_t> in = {{{}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, {{}, {}}};
  const auto out = Interpret(Expanded(kChain, 2), setting, Arithmetic<std::int64_t>(), in);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[1], in[0]);
}

TEST(InterpreterTest, ScaleAndFinishAreAppliedWhereTheScheduleSays) {
  const Expansion e = Expanded(R"(schedule pair reduce blocks 1 order rank tmp 1 begin
    s: send in[0] to 0 as 0 if r == 1
    v: recv tmp[0 : 0] from 1 as 0 if r == 0
    a: reduce out[0] = scaled in[0] + scaled tmp[0 : 0] finish after v if r == 0
  end)",
                               2);
  Setting setting;
  setting.block_elements = {2};
  Arithmetic<double> mean;
  mean.scale = [](double x) { return 10 * x; };
  mean.finish = [](double x) { return x / 2; };
  for (bool in_place : {false, true}) {
    setting.in_place = in_place;
    const auto out = Interpret<double>(e, setting, mean, {{{1, 2}}, {{3, 5}}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    EXPECT_EQ((*out)[0][0], (std::vector<double>{20, 35}));
    EXPECT_TRUE((*out)[1][0].empty());  // only the root has out
  }
}

TEST(InterpreterTest, RefusesWhatHasNoMeaning) {
  const auto error = [](std::string_view body, std::int64_t n) {
    const Expansion e =
        Expanded("schedule x broadcast blocks 1 tmp 1 begin\n" + std::string(body) + "\nend", n);
    Setting setting;
    setting.block_elements = {1};
    RankBlocks<std::int64_t> in(n, {{}});
    in[0] = {{7}};
    return Interpret(e, setting, Arithmetic<std::int64_t>(), in).status().message();
  };
  EXPECT_EQ(error("c: copy out[0] = tmp[0 : 0]", 1),
            "c: copy out[0] = tmp[0 : 0] (rank 0): tmp[0 : 0] is read before it is written");
  EXPECT_EQ(error("", 1), "rank 0 ends with out[0] not written");
  EXPECT_EQ(error("c: copy out[0] = in[0]", 2),
            "c: copy out[0] = in[0] (rank 1): in[0] is read before it is written");
  EXPECT_EQ(error("s: send in[0] to 1 as 0 if r == 0", 2),
            "s: send in[0] to 1 as 0 (rank 0): nobody receives it");
  EXPECT_EQ(error("v: recv out[0] from 0 as 0 if r == 1", 2),
            "v: recv out[0] from 0 as 0 (rank 1): nobody sends it");
  EXPECT_EQ(error("s: send in[0] to 1 as 0 if r == 0 t: send in[0] to 1 as 0 if r == 0", 2),
            "t: send in[0] to 1 as 0 (rank 0): there is a second of the same number");
  EXPECT_EQ(error("v: recv tmp[0 : 0] from 1 - r as 0 s: send in[0] to 1 - r as 0 after v", 2),
            "step v of rank 0 can never begin: it waits, in the end, for itself");
  EXPECT_EQ(
      error("s: send in[0], in[0] to 1 as 0 if r == 0 v: recv out[0] from 0 as 0 if r == 1", 2),
      "v: recv out[0] from 0 as 0 (rank 1): the message has other chunks");
}

TEST(LinearOrderTest, KeepsDependenciesMessagesAndTilesInFlight) {
  const Expansion e = Expanded(kChain, 4);
  for (Pick pick : {Pick::kFirst, Pick::kLast, Pick::kRandom}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const auto order = LinearOrder(e, 5, pick, seed);
      ASSERT_TRUE(order.ok());
      std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t> place;
      for (std::size_t i = 0; i < order->size(); ++i) {
        const Action& a = (*order)[i];
        ASSERT_TRUE(place.insert({{a.tile, a.rank, a.step}, i}).second);
        const Step& step = e.ranks[a.rank][a.step];
        for (std::int64_t before : step.after) {
          ASSERT_TRUE(place.contains({a.tile, a.rank, before}));
        }
        if (step.verb == Verb::kRecv) {
          const std::int64_t send = std::ssize(e.ranks[step.peer]) - 1;
          ASSERT_TRUE(place.contains({a.tile, step.peer, send}));
        }
        for (std::int64_t s = 0; a.tile >= 2 && s < std::ssize(e.ranks[a.rank]); ++s) {
          ASSERT_TRUE(place.contains({a.tile - 2, a.rank, s}));
        }
      }
      std::size_t steps = 0;
      for (const auto& rank : e.ranks) steps += rank.size();
      EXPECT_EQ(order->size(), 5 * steps);
    }
  }
}

TEST(RoundsTest, AMessageIsInTheRoundAfterTheOneItWaitsFor) {
  const auto rounds = Rounds(Expanded(kChain, 3));
  ASSERT_TRUE(rounds.ok());
  EXPECT_EQ(*rounds, (std::vector<std::vector<std::int64_t>>{{0, 0, 1}, {1, 2}, {2}}));
}

}  // namespace
}  // namespace chorus
