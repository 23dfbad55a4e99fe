#include "chorus/transport/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

namespace chorus {
namespace {

// A ring in memory of this process with both its ends.
class RingTest : public testing::Test {
 protected:
  explicit RingTest(std::int64_t capacity = 256)
      : storage_(static_cast<std::size_t>(RingBytes(capacity)) + 128),
        memory_(new (Align(storage_.data())) RingMemory),
        sender(memory_, capacity, &bell_, &counter),
        receiver(memory_, capacity, &bell_) {}

  static void* Align(std::byte* p) {
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    return p + (128 - address % 128) % 128;
  }

  // Writes what fits of data[done...], returns how much that was.
  std::size_t WriteSome(const std::vector<std::uint8_t>& data, std::size_t done) {
    const std::span<std::byte> space = sender.Writable();
    if (space.empty()) return 0;
    std::memcpy(space.data(), data.data() + done, space.size());
    sender.Commit(static_cast<std::int64_t>(space.size()));
    return space.size();
  }

  // Reads what has arrived onto the end of `data`.
  bool ReadSome(std::vector<std::uint8_t>& data) {
    const std::span<const std::byte> piece = receiver.Readable();
    if (piece.empty()) return false;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(piece.data());
    data.insert(data.end(), bytes, bytes + piece.size());
    receiver.Consume(static_cast<std::int64_t>(piece.size()));
    return true;
  }

 private:
  std::vector<std::byte> storage_;
  RingMemory* memory_;
  Doorbell bell_;

 protected:
  SentCounter counter;
  RingSender sender;
  RingReceiver receiver;
};

std::vector<std::uint8_t> Numbers(std::size_t n) {
  std::vector<std::uint8_t> data(n);
  std::iota(data.begin(), data.end(), std::uint8_t{1});
  return data;
}

TEST_F(RingTest, EmptyRingHasNoFront) { EXPECT_EQ(receiver.Front(), nullptr); }

TEST_F(RingTest, MessagesOfEverySizeArriveInOrder) {
  std::int64_t total = 0;
  for (std::uint32_t size = 0; size <= 700; size += size < 70 ? 1 : 45) {
    const std::vector<std::uint8_t> data = Numbers(size);
    const MessageHeader header{size + 1, 77, size, size};
    ASSERT_TRUE(sender.Begin(header));
    std::vector<std::uint8_t> got;
    std::size_t done = 0;
    while (done < size) {
      const std::size_t step = WriteSome(data, done);
      done += step;
      ASSERT_NE(receiver.Front(), nullptr);
      ASSERT_EQ(*receiver.Front(), header);
      ASSERT_TRUE(ReadSome(got)) << "size " << size;
    }
    if (size == 0) {
      ASSERT_EQ(*receiver.Front(), header);
      receiver.Consume(0);
    }
    EXPECT_EQ(got, data);
    EXPECT_EQ(receiver.Front(), nullptr);
    EXPECT_EQ(sender.remaining(), 0);
    total += size;
  }
  EXPECT_EQ(counter.bytes, total);
}

TEST_F(RingTest, FullRingTakesNoMoreUntilSomethingIsConsumed) {
  int begun = 0;
  while (sender.Begin({1, 0, 0, static_cast<std::uint32_t>(begun)})) ++begun;
  EXPECT_EQ(begun, 4);  // 256 bytes hold four lines
  ASSERT_NE(receiver.Front(), nullptr);
  EXPECT_EQ(receiver.Front()->id, 0u);
  receiver.Consume(0);
  EXPECT_TRUE(sender.Begin({1, 0, 0, 4}));
  EXPECT_FALSE(sender.Begin({1, 0, 0, 5}));
}

TEST_F(RingTest, SmallPayloadTravelsInTheHeaderLine) {
  for (std::uint32_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(sender.Begin({1, 0, kInlineBytes, i}));
    EXPECT_EQ(WriteSome(Numbers(kInlineBytes), 0), static_cast<std::size_t>(kInlineBytes));
  }
  std::vector<std::uint8_t> got;
  ASSERT_NE(receiver.Front(), nullptr);
  ASSERT_TRUE(ReadSome(got));
  EXPECT_EQ(got, Numbers(kInlineBytes));
}

TEST_F(RingTest, PartsOfAPieceMayBeConsumed) {
  ASSERT_TRUE(sender.Begin({1, 0, 200, 0}));
  EXPECT_EQ(WriteSome(Numbers(200), 0), 192u);  // whole lines while the message goes on
  ASSERT_NE(receiver.Front(), nullptr);
  receiver.Consume(8);
  EXPECT_EQ(receiver.Readable().size(), 184u);
  EXPECT_EQ(std::to_integer<int>(receiver.Readable()[0]), 9);
  EXPECT_EQ(WriteSome(Numbers(200), 192), 8u);
  receiver.Consume(184);
  EXPECT_EQ(receiver.Readable().size(), 8u);
  receiver.Consume(8);
  EXPECT_EQ(receiver.Front(), nullptr);
}

TEST_F(RingTest, ALineHalfConsumedIsNotFree) {
  ASSERT_TRUE(sender.Begin({1, 0, 290, 0}));
  EXPECT_EQ(WriteSome(Numbers(290), 0), 192u);
  ASSERT_NE(receiver.Front(), nullptr);
  receiver.Consume(34);  // with the header 98 bytes are consumed, but only one line is free
  EXPECT_EQ(WriteSome(Numbers(290), 192), 64u);
  EXPECT_FALSE(sender.HasRoom());
  receiver.Consume(64);
  EXPECT_TRUE(sender.HasRoom());
  EXPECT_EQ(WriteSome(Numbers(290), 256), 34u);
  std::vector<std::uint8_t> rest;
  while (receiver.Front() != nullptr) ASSERT_TRUE(ReadSome(rest));
  const std::vector<std::uint8_t> all = Numbers(290);
  EXPECT_EQ(rest, std::vector<std::uint8_t>(all.begin() + 98, all.end()));
}

TEST_F(RingTest, CutMessageIsDiscardedAndTheNextOneIsWhole) {
  ASSERT_TRUE(sender.Begin({1, 0, 1000, 0}));
  EXPECT_EQ(WriteSome(Numbers(1000), 0), 192u);
  ASSERT_NE(receiver.Front(), nullptr);
  receiver.Consume(64);
  sender.Cut();
  EXPECT_EQ(sender.remaining(), 0);
  EXPECT_FALSE(sender.Begin({2, 0, 64, 0})) << "the receiver has not seen the cut yet";
  EXPECT_TRUE(receiver.Discard());
  EXPECT_EQ(receiver.Front(), nullptr);
  ASSERT_TRUE(sender.Begin({2, 0, 64, 0}));
  EXPECT_EQ(WriteSome(Numbers(64), 0), 64u);
  ASSERT_NE(receiver.Front(), nullptr);
  EXPECT_EQ(receiver.Front()->sequence, 2u);
  std::vector<std::uint8_t> got;
  ASSERT_TRUE(ReadSome(got));
  EXPECT_EQ(got, Numbers(64));
}

TEST_F(RingTest, DiscardWaitsForTheRestOfAMessage) {
  ASSERT_TRUE(sender.Begin({1, 0, 200, 0}));
  EXPECT_EQ(WriteSome(Numbers(200), 0), 192u);
  EXPECT_FALSE(receiver.Discard());
  EXPECT_EQ(WriteSome(Numbers(200), 192), 8u);
  EXPECT_TRUE(receiver.Discard());
}

TEST_F(RingTest, TwoThreadsStream) {
  const std::vector<std::uint8_t> data = Numbers(100000);
  std::thread producer([&] {
    ASSERT_NO_FATAL_FAILURE({
      while (!sender.Begin({1, 0, 100000, 0})) std::this_thread::yield();
      for (std::size_t done = 0; done < data.size();) {
        const std::size_t step = WriteSome(data, done);
        if (step == 0) std::this_thread::yield();
        done += step;
      }
    });
  });
  std::vector<std::uint8_t> got;
  while (receiver.Front() == nullptr) std::this_thread::yield();
  while (got.size() < data.size()) {
    if (!ReadSome(got)) std::this_thread::yield();
  }
  producer.join();
  EXPECT_EQ(got, data);
}

TEST(DoorbellTest, WaitEndsAtTheDeadlineAndWhenRung) {
  Doorbell bell;
  const auto start = Doorbell::Clock::now();
  bell.Wait(bell.Arm(), start + std::chrono::milliseconds(20));
  EXPECT_GE(Doorbell::Clock::now() - start, std::chrono::milliseconds(20));
  std::thread ringer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    bell.Ring();
  });
  bell.Wait(bell.Arm(), start + std::chrono::seconds(60));
  EXPECT_LT(Doorbell::Clock::now() - start, std::chrono::seconds(30));
  ringer.join();
  const std::uint32_t ticket = bell.Arm();
  bell.Ring();  // between Arm and Wait: not lost
  bell.Wait(ticket, Doorbell::Clock::now() + std::chrono::seconds(60));
  EXPECT_LT(Doorbell::Clock::now() - start, std::chrono::seconds(30));
}

}  // namespace
}  // namespace chorus
