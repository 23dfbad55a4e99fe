#include "chorus/collective/kept_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace chorus {
namespace {

TEST(KeptMemoryTest, ABlockIsUsedAgainByWhoeverFitsIntoIt) {
  KeptMemory memory;
  void* const first = memory.allocate(65);
  std::memset(first, 1, 65);
  memory.deallocate(first, 65);
  EXPECT_EQ(memory.allocate(128), first);  // 65 .. 128 bytes share a size
  void* const other = memory.allocate(64);
  EXPECT_NE(other, first);
  memory.deallocate(first, 128);
  memory.deallocate(other, 64);
  EXPECT_EQ(memory.allocate(1), other);
  memory.deallocate(other, 1);
}

TEST(KeptMemoryTest, EverySizeAroundThoseOfTheListsIsLargeEnough) {
  KeptMemory memory;
  for (std::size_t size = KeptMemory::kSmallest; size <= 2 * KeptMemory::kLargest; size *= 2) {
    for (const std::size_t bytes : {size - 1, size, size + 1}) {
      for (int turn = 0; turn < 2; ++turn) {
        void* const block = memory.allocate(bytes);
        std::memset(block, turn, bytes);  // the sanitizers watch
        memory.deallocate(block, bytes);
      }
    }
  }
  void* const aligned = memory.allocate(256, 128);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 128, 0u);
  memory.deallocate(aligned, 256, 128);
}

struct Holder {
  explicit Holder(std::shared_ptr<KeptMemory> memory) : held(std::move(memory)) {}
  std::shared_ptr<KeptMemory> held;
};

TEST(KeptMemoryTest, WhatWasMadeKeepsTheMemoryAlive) {
  auto memory = std::make_shared<KeptMemory>();
  const std::weak_ptr<KeptMemory> watch = memory;
  auto thing = MakeKept<Holder>(memory, memory);
  memory.reset();
  EXPECT_FALSE(watch.expired());
  thing.reset();  // the memory ends after the block that holds it was given back
  EXPECT_TRUE(watch.expired());
}

TEST(KeptMemoryTest, ThreadsMayDropWhatOthersMade) {
  const auto memory = std::make_shared<KeptMemory>();
  std::vector<std::shared_ptr<int>> made;
  for (int i = 0; i < 200; ++i) made.push_back(MakeKept<int>(memory, i));
  std::thread other([dropped = std::exchange(made, {})]() mutable { dropped.clear(); });
  for (int i = 0; i < 200; ++i) made.push_back(MakeKept<int>(memory, i));
  other.join();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(*made[static_cast<std::size_t>(i)], i);
}

}  // namespace
}  // namespace chorus
