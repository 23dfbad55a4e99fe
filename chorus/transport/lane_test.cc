#include "chorus/transport/lane.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

namespace chorus {
namespace {

constexpr std::int64_t kSlotBytes = 256;

struct FreeLane {
  void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{128}); }
};

class LaneTest : public testing::Test {
 protected:
  LaneTest()
      : memory_(static_cast<std::byte*>(
            ::operator new (LaneMemory::BytesFor(kSlotBytes), std::align_val_t{128}))) {
    std::memset(memory_.get(), 0, LaneMemory::BytesFor(kSlotBytes));
    LaneMemory::Make(memory_.get(), kSlotBytes);
    auto* const lane = reinterpret_cast<LaneMemory*>(memory_.get());
    sender = std::make_unique<LaneSender>(lane, kSlotBytes, &finished, &bell_, &counter);
    receiver = std::make_unique<LaneReceiver>(lane, kSlotBytes);
  }

  void Send(std::uint64_t sequence, unsigned phase, const std::vector<std::uint8_t>& bytes) {
    std::byte* const to = sender->Payload(sequence, phase, std::ssize(bytes));
    std::memcpy(to, bytes.data(), bytes.size());
    sender->Post(sequence, phase, sequence + 1000, std::ssize(bytes));
  }
  std::vector<std::uint8_t> Read(std::uint64_t sequence, unsigned phase, std::size_t bytes) {
    const LaneLine* const line = receiver->Look(sequence, phase);
    if (line == nullptr) return {};
    EXPECT_EQ(line->fingerprint, sequence + 1000);
    const auto* from = reinterpret_cast<const std::uint8_t*>(
        LaneReceiver::Payload(line, static_cast<std::int64_t>(bytes)));
    return {from, from + bytes};
  }

  std::atomic<std::uint64_t> finished{0};
  SentCounter counter;
  std::unique_ptr<LaneSender> sender;
  std::unique_ptr<LaneReceiver> receiver;

 private:
  std::unique_ptr<std::byte, FreeLane> memory_;
  Doorbell bell_;
};

TEST_F(LaneTest, AMessageIsThereWholeUnderItsNumberAlone) {
  EXPECT_EQ(receiver->Look(1, 0), nullptr);
  const std::vector<std::uint8_t> small(48, 7);
  const std::vector<std::uint8_t> large(kSlotBytes, 9);
  Send(1, 0, small);
  Send(1, 2, large);
  EXPECT_EQ(Read(1, 0, small.size()), small);
  EXPECT_EQ(Read(1, 2, large.size()), large);
  EXPECT_EQ(receiver->Look(1, 1), nullptr);
  EXPECT_EQ(receiver->Look(2, 0), nullptr);
  EXPECT_EQ(receiver->Look(9, 0), nullptr);  // of the same slot
  EXPECT_EQ(counter.bytes, 48 + kSlotBytes);
  EXPECT_EQ(counter.messages, 2);
}

TEST_F(LaneTest, ASlotIsFreeOnceTheOperationEightBeforeIsFinished) {
  EXPECT_TRUE(sender->Room(1));
  EXPECT_TRUE(sender->Room(8));
  EXPECT_FALSE(sender->Room(9));
  finished = 1;
  EXPECT_TRUE(sender->Room(9));
  EXPECT_FALSE(sender->Room(10));
  // Who has sent something of operation 3 has finished 2.
  sender->HeardOf(3);
  EXPECT_TRUE(sender->Room(10));
  EXPECT_FALSE(sender->Room(11));
  EXPECT_TRUE(sender->HasFinished(2));
  EXPECT_FALSE(sender->HasFinished(3));
}

TEST_F(LaneTest, WhatRanksTellEachOtherBesideIsNotCounted) {
  sender->Payload(1, 0, 8);
  sender->Signal(1, 0, 1001);
  EXPECT_NE(receiver->Look(1, 0), nullptr);
  EXPECT_EQ(counter, SentCounter());
}

// A sender that runs ahead as far as it may never overwrites what has not been read.
TEST_F(LaneTest, NothingIsLostBetweenThreads) {
  constexpr std::uint64_t kOperations = 20000;
  std::thread reads([&] {
    for (std::uint64_t s = 1; s <= kOperations; ++s) {
      for (unsigned phase = 0; phase < LaneMemory::kPhases; ++phase) {
        const std::size_t bytes = 1 + (s * 7 + phase) % kSlotBytes;
        std::vector<std::uint8_t> got;
        while ((got = Read(s, phase, bytes)).empty()) std::this_thread::yield();
        ASSERT_EQ(got, std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(s + phase)));
      }
      finished.store(s, std::memory_order_release);
    }
  });
  for (std::uint64_t s = 1; s <= kOperations; ++s) {
    while (!sender->Room(s)) std::this_thread::yield();
    for (unsigned phase = 0; phase < LaneMemory::kPhases; ++phase) {
      const std::size_t bytes = 1 + (s * 7 + phase) % kSlotBytes;
      Send(s, phase, std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(s + phase)));
    }
  }
  reads.join();
}

}  // namespace
}  // namespace chorus
