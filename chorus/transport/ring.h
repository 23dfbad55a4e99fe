// Ring: one channel of messages in memory that both ranks see.
//
//   RingMemory   | head, cut | tail | data: capacity bytes                                  |
//                  sender's    receiver's
//   data         ...| header 64 | payload, padded to 64 | header 64 | payload ...
//                   ^tail (consumed up to here)              ^head (published up to here)
//
// head and tail only grow; byte p of the stream is data[p mod capacity]. Each has one writer and
// its own 128 bytes, since CPUs fetch lines in pairs. Payloads of at most 32 bytes lie in the
// header's line: a small message moves two lines, head and itself.
// Thread safety: one sending and one receiving thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "chorus/transport/doorbell.h"
#include "chorus/transport/links.h"

namespace chorus {

inline constexpr std::int64_t kInlineBytes = 32;

// The line that begins a message.
struct alignas(64) RingHeader {
  MessageHeader message;
  std::byte inline_payload[kInlineBytes];
};
static_assert(sizeof(RingHeader) == 64);

struct RingMemory {
  alignas(128) std::atomic<std::uint64_t> head{0};
  // Where the current message was cut off. Nothing is published beyond it until the receiver has
  // answered in cut_seen; so what a receiver reads can never be of the next message.
  std::atomic<std::uint64_t> cut{0};
  alignas(128) std::atomic<std::uint64_t> tail{0};
  std::atomic<std::uint64_t> cut_seen{0};

  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(RingMemory) == 256);

// Bytes of one ring of `capacity`.
constexpr std::int64_t RingBytes(std::int64_t capacity) {
  return static_cast<std::int64_t>(sizeof(RingMemory)) + (capacity + 127) / 128 * 128;
}

class RingSender final : public MessageSender {
 public:
  // `memory`, `receiver` (whom to wake) and `counter` must outlive this.
  // REQUIRES: capacity is a multiple of 64, at least 128.
  RingSender(RingMemory* memory, std::int64_t capacity, Doorbell* receiver, SentCounter* counter);

  bool HasRoom() override;
  bool Begin(const MessageHeader& header) override;
  std::span<std::byte> Writable() override;
  void Commit(std::int64_t bytes) override;
  std::int64_t remaining() const override { return remaining_; }
  void Cut() override;

 private:
  std::uint64_t Free(std::uint64_t wanted);
  std::byte* At(std::uint64_t position) const { return memory_->data() + position % capacity_; }
  void PublishHead();

  RingMemory* const memory_;
  const std::uint64_t capacity_;
  Doorbell* const receiver_;
  SentCounter* const counter_;
  std::uint64_t head_ = 0;      // may be ahead of what is published
  std::uint64_t tail_ = 0;      // last seen
  std::int64_t remaining_ = 0;  // payload of the current message
  std::uint64_t cut_ = 0;       // the last one made
  bool inline_ = false;
};

class RingReceiver final : public MessageReceiver {
 public:
  // As RingSender; `sender` is whom to wake when there is room again.
  RingReceiver(RingMemory* memory, std::int64_t capacity, Doorbell* sender);

  const MessageHeader* Front() override;
  std::span<const std::byte> Readable() override;
  void Consume(std::int64_t bytes) override;
  std::int64_t remaining() const override { return remaining_; }
  bool Discard() override;

 private:
  std::uint64_t Arrived();
  void PublishTail();

  RingMemory* const memory_;
  const std::uint64_t capacity_;
  Doorbell* const sender_;
  std::uint64_t tail_ = 0;
  std::uint64_t head_ = 0;  // last seen
  std::int64_t remaining_ = 0;
  bool has_front_ = false;
  RingHeader front_{};
};

}  // namespace chorus
