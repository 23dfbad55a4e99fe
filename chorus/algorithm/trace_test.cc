// Worked examples of lecture notes, as the reference interpreter carries them out.
#include <gtest/gtest.h>

#include "chorus/algorithm/algorithm.h"
#include "chorus/schedule/interpreter.h"

namespace chorus {
namespace {

Schedule ScheduleNamed(std::string_view name, OpKind op) {
  return (*FindAlgorithm(name, op))->Build();
}

// Blocks A B C D on 4 GPUs; each sends its own block first. GPU 0 ends with B, 1 with C, 2 with D,
// 3 with A. That is the shifted ring; the ring of MPI and NCCL ends with A on GPU 0.
TEST(TraceTest, ShiftedRingEndsWithTheNextBlock) {
  const Expansion e = *Expand(ScheduleNamed("shifted_ring", OpKind::kReduceScatter), 4);
  Setting setting;
  setting.block_elements = {1, 1, 1, 1};
  RankBlocks<std::string> in(4, std::vector<std::vector<std::string>>(4));
  for (std::int64_t gpu = 0; gpu < 4; ++gpu) {
    for (std::int64_t b = 0; b < 4; ++b) {
      in[gpu][b] = {std::string(1, static_cast<char>('A' + b)) + std::to_string(gpu)};
    }
  }
  const auto out = Interpret(e, setting, Arithmetic<std::string>(), in);
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ((*out)[0][1][0], "B1B2B3B0");
  EXPECT_EQ((*out)[1][2][0], "C2C3C0C1");
  EXPECT_EQ((*out)[2][3][0], "D3D0D1D2");
  EXPECT_EQ((*out)[3][0][0], "A0A1A2A3");
}

// In step k, counted from 0, rank i sends block (i - k) mod N, and ends with block (i + 1) mod N.
TEST(TraceTest, ShiftedRingSendsBlockIMinusK) {
  for (std::int64_t n = 2; n <= 9; ++n) {
    const Expansion e = *Expand(ScheduleNamed("shifted_ring", OpKind::kReduceScatter), n);
    for (std::int64_t i = 0; i < n; ++i) {
      EXPECT_EQ(e.frames[i].own, (i + 1) % n);
      std::int64_t k = 0;
      for (const Step& step : e.ranks[i]) {
        if (step.verb != Verb::kSend) continue;
        EXPECT_EQ(step.chunks[0].block, (i - k + n) % n);
        EXPECT_EQ(step.peer, (i + 1) % n);
        ++k;
      }
      EXPECT_EQ(k, n - 1);
    }
  }
}

TEST(TraceTest, RingEndsWithTheOwnBlock) {
  for (std::int64_t n = 1; n <= 9; ++n) {
    const Expansion e = *Expand(ScheduleNamed("ring", OpKind::kReduceScatter), n);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(e.frames[i].own, i);
  }
}

// full((5,), rank + 1) on 3 ranks: every element of the sum is 6, on the root only for reduce.
TEST(TraceTest, SumOfRankPlusOne) {
  for (const Algorithm& algorithm : AllAlgorithms()) {
    if (algorithm.op != OpKind::kAllReduce && algorithm.op != OpKind::kReduce) continue;
    if (!algorithm.Fits(3).ok()) continue;
    const Expansion e = *Expand(algorithm.Build(), 3);
    Setting setting;
    for (std::int64_t b = 0; b < e.frames[0].blocks; ++b) {
      setting.block_elements.push_back(5 / e.frames[0].blocks + b % 2);
    }
    RankBlocks<std::int64_t> in(3);
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      for (std::int64_t size : setting.block_elements) in[rank].emplace_back(size, rank + 1);
    }
    const auto out = Interpret(e, setting, Arithmetic<std::int64_t>(), in);
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    for (std::int64_t rank = 0; rank < (algorithm.op == OpKind::kReduce ? 1 : 3); ++rank) {
      for (std::int64_t b = 0; b < e.frames[0].blocks; ++b) {
        EXPECT_EQ((*out)[rank][b], std::vector<std::int64_t>(setting.block_elements[b], 6));
      }
    }
  }
}

// Block j of rank r is [(r+1)^(j+1), (2(r+1))^(j+1)]: reduce_scatter gives [6, 12], [14, 56] and
// [36, 288].
TEST(TraceTest, ReduceScatterOfPowers) {
  RankBlocks<std::int64_t> in(3);
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    std::int64_t a = 1, b = 1;
    for (int j = 0; j < 3; ++j) {
      a *= rank + 1;
      b *= 2 * (rank + 1);
      in[rank].push_back({a, b});
    }
  }
  Setting setting;
  setting.block_elements = {2, 2, 2};
  for (std::string_view name : {"ring", "direct"}) {
    const Expansion e = *Expand(ScheduleNamed(name, OpKind::kReduceScatter), 3);
    const auto out = Interpret(e, setting, Arithmetic<std::int64_t>(), in);
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    EXPECT_EQ((*out)[0][0], (std::vector<std::int64_t>{6, 12}));
    EXPECT_EQ((*out)[1][1], (std::vector<std::int64_t>{14, 56}));
    EXPECT_EQ((*out)[2][2], (std::vector<std::int64_t>{36, 288}));
  }
}

}  // namespace
}  // namespace chorus
