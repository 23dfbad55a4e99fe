#include "chorus/tensor/array_memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace chorus {
namespace {

TEST(ArrayMemoryTest, CountsBytesAskedForAndTheirPeak) {
  ArrayMemory memory;
  ArrayMemory::Piece a = *memory.Allocate(100);
  {
    const ArrayMemory::Piece b = *memory.Allocate(28);
    EXPECT_EQ(memory.used(), Bytes(128));
  }
  EXPECT_EQ(memory.used(), Bytes(100));
  EXPECT_EQ(memory.peak(), Bytes(128));
  memory.ResetPeak();
  EXPECT_EQ(memory.peak(), Bytes(100));
  a = ArrayMemory::Piece();
  EXPECT_EQ(memory.used(), Bytes(0));
}

TEST(ArrayMemoryTest, MovingAPieceKeepsItsCount) {
  ArrayMemory memory;
  ArrayMemory::Piece a = *memory.Allocate(10);
  void* const data = a.data();
  ArrayMemory::Piece b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.size(), 10);
  EXPECT_EQ(memory.used(), Bytes(10));
}

TEST(ArrayMemoryTest, HandsFreedMemoryOutAgain) {
  ArrayMemory memory;
  void* first = nullptr;
  {
    const ArrayMemory::Piece a = *memory.Allocate(1000);
    first = a.data();
  }
  const ArrayMemory::Piece small =
      *memory.Allocate(100);  // would leave most of the kept piece idle
  EXPECT_NE(small.data(), first);
  const ArrayMemory::Piece same = *memory.Allocate(960);
  EXPECT_EQ(same.data(), first);
}

TEST(ArrayMemoryTest, PiecesAreAlignedAndEmptyOnesAreNull) {
  ArrayMemory memory;
  const ArrayMemory::Piece a = *memory.Allocate(3);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0U);
  EXPECT_EQ(memory.Allocate(0)->data(), nullptr);
}

TEST(ArrayMemoryTest, PoisonReadsAsNaN) {
  ArrayMemory memory(/*poison=*/true);
  for (int round = 0; round < 2; ++round) {
    const ArrayMemory::Piece piece = *memory.Allocate(16);
    auto* values = static_cast<double*>(piece.data());
    EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1])) << round;
    values[0] = values[1] = 1.0;
  }
}

// Larger pieces come from the source, are kept and handed out again, and are never given to the
// heap; where the source has nothing, the heap serves.
TEST(ArrayMemoryTest, TakesLargerPiecesFromItsSource) {
  int asked = 0;
  bool empty = false;
  std::weak_ptr<void> block;
  {
    ArrayMemory memory(/*poison=*/false, [&](std::int64_t bytes) -> std::shared_ptr<void> {
      ++asked;
      if (empty) return nullptr;
      std::shared_ptr<void> made(std::aligned_alloc(4096, static_cast<std::size_t>(bytes)),
                                 std::free);
      block = made;
      return made;
    });
    const ArrayMemory::Piece small = *memory.Allocate(4096);
    EXPECT_EQ(asked, 0);
    {
      const ArrayMemory::Piece large = *memory.Allocate(1 << 20);
      EXPECT_EQ(asked, 1);
      EXPECT_EQ(large.data(), block.lock().get());
    }
    const ArrayMemory::Piece again = *memory.Allocate(1 << 20);
    EXPECT_EQ(asked, 1);
    empty = true;
    const ArrayMemory::Piece heap = *memory.Allocate(1 << 21);
    EXPECT_EQ(asked, 2);
    EXPECT_NE(heap.data(), nullptr);
    EXPECT_EQ(memory.used(), Bytes(4096 + (1 << 20) + (1 << 21)));
  }
  EXPECT_TRUE(block.expired());
}

}  // namespace
}  // namespace chorus
