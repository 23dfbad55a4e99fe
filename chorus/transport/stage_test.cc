#include "chorus/transport/stage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace chorus {
namespace {

TEST(StageWordsTest, TilesAreOfTheirOperationAndPhase) {
  StageWords words;
  EXPECT_EQ(words.Tiles(StagePhase::kFill, 7), 0);
  words.Show(StagePhase::kFill, 7, 3);
  EXPECT_EQ(words.Tiles(StagePhase::kFill, 7), 3);
  EXPECT_EQ(words.Tiles(StagePhase::kWork, 7), 0);
  EXPECT_EQ(words.Tiles(StagePhase::kFill, 5), 0);
  // What operation 7 has left behind is nothing to operation 9 until that shows something.
  EXPECT_EQ(words.Tiles(StagePhase::kFill, 9), 0);
  words.Show(StagePhase::kFill, 9, StageWords::kMostTiles);
  EXPECT_EQ(words.Tiles(StagePhase::kFill, 9), StageWords::kMostTiles);
  EXPECT_EQ(words.Tiles(StagePhase::kFill, 7), 0);
}

TEST(StageTest, OperationsUseHalvesByTurns) {
  StageWords words[2];
  std::vector<std::byte> data(256);
  const Stage stage{words, data.data(), 128};
  EXPECT_EQ(&stage.WordsOf(4), words);
  EXPECT_EQ(&stage.WordsOf(5), words + 1);
  EXPECT_EQ(stage.DataOf(4), data.data());
  EXPECT_EQ(stage.DataOf(5), data.data() + 128);
}

TEST(StageTest, WhoSeesATileSeesWhatIsInIt) {
  constexpr std::int64_t kTiles = 20000;
  StageWords words;
  std::vector<std::int64_t> data(4, -1);
  std::atomic<std::int64_t> taken{0};
  std::thread owner([&] {
    for (std::int64_t tile = 0; tile < kTiles; ++tile) {
      while (taken.load(std::memory_order_acquire) + 4 <= tile) std::this_thread::yield();
      data[static_cast<std::size_t>(tile % 4)] = tile;
      words.Show(StagePhase::kFill, 3, tile + 1);
    }
  });
  std::int64_t wrong = 0;
  for (std::int64_t tile = 0; tile < kTiles; ++tile) {
    while (words.Tiles(StagePhase::kFill, 3) <= tile) std::this_thread::yield();
    if (data[static_cast<std::size_t>(tile % 4)] != tile) ++wrong;
    taken.store(tile + 1, std::memory_order_release);
  }
  owner.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace chorus
