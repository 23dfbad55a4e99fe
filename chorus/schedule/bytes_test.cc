#include "chorus/schedule/bytes.h"

#include <gtest/gtest.h>

#include "chorus/schedule/interpreter.h"

namespace chorus {
namespace {

// One message of two blocks as elements, one block as accumulators, and a signal.
constexpr std::string_view kMixed = R"(schedule mixed all_reduce
  blocks 3
  order any
  acc 1
begin
  a: send in[0], in[2] to 1 as 0 if r == 0
  c: copy acc[0 : 1] = scaled in[1]
  b: send acc[0 : 1] to 1 as 1 after c if r == 0
  d: send signal to 1 as 2 if r == 0
  e: send out[r] to 0 as 0 if r == 1
end
)";

TEST(BytesTest, CountsBlocksByWhatTheyTravelAs) {
  const Schedule s = *Schedule::Parse(kMixed);
  const std::vector<std::int64_t> elements = {10, 100, 1000};
  EXPECT_EQ(BytesSent(s, 2, 0, 0, elements, {2, 4})->value(), 2 * 1010 + 4 * 100);
  EXPECT_EQ(BytesSent(s, 2, 0, 0, elements, {4, 4})->value(), 4 * 1110);
  EXPECT_EQ(BytesSent(s, 2, 1, 0, elements, {2, 4})->value(), 2 * 100);
  EXPECT_EQ(BytesSent(s, 2, 0, 0, {0, 0, 0}, {2, 4})->value(), 0);
}

TEST(BytesTest, CountsAre64Bits) {
  const Schedule s = *Schedule::Parse(kMixed);
  const std::int64_t much = std::int64_t{1} << 40;
  EXPECT_EQ(BytesSent(s, 2, 0, 0, {much, 0, much}, {8, 8})->value(), 16 * much);
}

TEST(BytesTest, BadArgumentsAreErrors) {
  const Schedule s = *Schedule::Parse(kMixed);
  EXPECT_EQ(BytesSent(s, 2, 0, 0, {1, 2}, {2, 4}).status().message(),
            "2 block sizes are given, mixed all_reduce has 3 blocks");
  EXPECT_EQ(BytesSent(s, 2, 2, 0, {1, 2, 3}, {2, 4}).status().message(),
            "rank 2 is not in a group of 2 (0 to 1)");
}

// The tiles of a block add up to the block, whatever the tile size.
TEST(RankMemoryTest, TilesCutABlockWithoutGapOrOverlap) {
  for (std::int64_t size : {0, 1, 7, 8, 9}) {
    for (std::int64_t tile : {std::int64_t{1}, std::int64_t{4}, std::int64_t{1} << 62}) {
      std::vector<std::int64_t> in(size);
      for (std::int64_t i = 0; i < size; ++i) in[i] = i;
      RankMemory<std::int64_t> memory({size}, tile, false, {in});
      std::int64_t next = 0;
      for (std::int64_t t = 0; t < 12; ++t) {
        for (const auto& cell : memory.Read({BufferKind::kIn, 0, 0, false}, t, 0)) {
          EXPECT_EQ(cell, next++);
        }
      }
      EXPECT_EQ(next, size);
    }
  }
}

TEST(RankMemoryTest, AWriteNeedsAPlaceOfItsSize) {
  RankMemory<int> memory({3}, 2, false, {{}});
  const Chunk out{BufferKind::kOut, 0, 0, false}, in{BufferKind::kIn, 0, 0, false};
  EXPECT_TRUE(memory.Write(out, 0, 0, {1, 2}));
  EXPECT_FALSE(memory.Write(out, 1, 0, {1, 2}));  // the last tile has one element
  EXPECT_TRUE(memory.Write(out, 1, 0, {3}));
  EXPECT_FALSE(memory.Write(in, 0, 0, {1, 2}));  // this rank has no in
  EXPECT_EQ(memory.out(0), (RankMemory<int>::Cells{1, 2, 3}));
}

TEST(RankMemoryTest, CopiesOfTheScratchAreApart) {
  RankMemory<int> memory({1}, 1, false, {{}});
  const Chunk tmp{BufferKind::kTmp, 4, 0, false}, acc{BufferKind::kAcc, 4, 0, false};
  EXPECT_TRUE(memory.Write(tmp, 0, 0, {7}));
  EXPECT_EQ(memory.Read(tmp, 0, 0), (RankMemory<int>::Cells{7}));
  EXPECT_EQ(memory.Read(tmp, 0, 1), (RankMemory<int>::Cells{std::nullopt}));
  EXPECT_EQ(memory.Read(acc, 0, 0), (RankMemory<int>::Cells{std::nullopt}));
}

}  // namespace
}  // namespace chorus
