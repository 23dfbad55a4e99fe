#include "chorus/transport/watched/link_pace.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "chorus/transport/doorbell.h"
#include "chorus/transport/ring.h"

namespace chorus {
namespace {

using Clock = Transport::Clock;

class PacedChannel {
 public:
  explicit PacedChannel(LinkPace pace) {
    memory_.resize(static_cast<std::size_t>(RingBytes(kCapacity)) / sizeof(Line) + 1);
    auto* const ring = new (memory_.data()) RingMemory();
    inner_sender_ = std::make_unique<RingSender>(ring, kCapacity, &bell_, &counter_);
    inner_receiver_ = std::make_unique<RingReceiver>(ring, kCapacity, &bell_);
    sender = PaceSender(inner_sender_.get());
    receiver = PaceReceiver(inner_receiver_.get(), pace, &next);
  }

  void Send(std::int64_t bytes) {
    MessageHeader header;
    header.bytes = bytes;
    header.sequence = 7;
    ASSERT_TRUE(sender->Begin(header));
    while (sender->remaining() > 0) {
      const std::span<std::byte> space = sender->Writable();
      ASSERT_FALSE(space.empty());
      std::memset(space.data(), 5, space.size());
      sender->Commit(static_cast<std::int64_t>(space.size()));
    }
  }
  // Takes one message, as it comes; the time when its last byte was there.
  Clock::time_point Take() {
    while (receiver->Front() == nullptr) std::this_thread::yield();
    EXPECT_EQ(receiver->Front()->sequence, 7U);
    if (receiver->remaining() == 0) receiver->Consume(0);
    while (receiver->remaining() > 0) {
      const std::span<const std::byte> there = receiver->Readable();
      if (!there.empty()) receiver->Consume(static_cast<std::int64_t>(there.size()));
    }
    return Clock::now();
  }

  std::unique_ptr<MessageSender> sender;
  std::unique_ptr<MessageReceiver> receiver;
  NextArrival next;

 private:
  struct alignas(128) Line {
    std::byte bytes[128];
  };
  static constexpr std::int64_t kCapacity = 1 << 20;
  std::vector<Line> memory_;
  Doorbell bell_{};
  SentCounter counter_;
  std::unique_ptr<MessageSender> inner_sender_;
  std::unique_ptr<MessageReceiver> inner_receiver_;
};

double MillisecondsSince(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

TEST(LinkPace, NothingComesSoonerThanTheLinkAllows) {
  PacedChannel channel({100e6, std::chrono::milliseconds(3)});
  const Clock::time_point begin = Clock::now();
  channel.Send(200'000);
  channel.Send(100'000);  // goes onto the link when the first has left it
  EXPECT_EQ(channel.receiver->Front(), nullptr);
  EXPECT_GE(channel.next.Take(), begin + std::chrono::milliseconds(3));
  EXPECT_GE(MillisecondsSince(begin, channel.Take()), 3 + 2);
  EXPECT_GE(MillisecondsSince(begin, channel.Take()), 3 + 3);
}

TEST(LinkPace, WhatCameWhileNobodyLookedIsThereAtOnce) {
  PacedChannel channel({100e6, std::chrono::milliseconds(1)});
  for (int k = 0; k < 4; ++k) channel.Send(100'000);
  std::this_thread::sleep_for(std::chrono::milliseconds(6));
  for (int k = 0; k < 4; ++k) {
    ASSERT_NE(channel.receiver->Front(), nullptr) << k;
    const auto there = static_cast<std::int64_t>(channel.receiver->Readable().size());
    ASSERT_EQ(there, 100'000) << k;
    channel.receiver->Consume(there);
  }
  EXPECT_EQ(channel.receiver->Front(), nullptr);
}

TEST(LinkPace, AnIdleLinkBeginsWithTheNextMessage) {
  PacedChannel channel({100e6, std::chrono::milliseconds(1)});
  channel.Send(0);
  channel.Take();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Clock::time_point begin = Clock::now();
  channel.Send(100'000);
  EXPECT_GE(MillisecondsSince(begin, channel.Take()), 1 + 1);
}

}  // namespace
}  // namespace chorus
