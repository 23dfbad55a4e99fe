#include "chorus/transport/ring.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace chorus {
namespace {

constexpr std::uint64_t kLine = 64;

std::uint64_t RoundUpToLine(std::uint64_t position) {
  return (position + kLine - 1) / kLine * kLine;
}

}  // namespace

RingSender::RingSender(RingMemory* memory, std::int64_t capacity, Doorbell* receiver,
                       SentCounter* counter)
    : memory_(memory),
      capacity_(static_cast<std::uint64_t>(capacity)),
      receiver_(receiver),
      counter_(counter) {}

// Free bytes after head_; looks at the receiver's line only if it seems that fewer than `wanted`
// are.
std::uint64_t RingSender::Free(std::uint64_t wanted) {
  if (capacity_ - (head_ - tail_) < wanted) tail_ = memory_->tail.load(std::memory_order_seq_cst);
  return capacity_ - (head_ - tail_);
}

bool RingSender::HasRoom() {
  if (cut_ != 0) {
    if (memory_->cut_seen.load(std::memory_order_seq_cst) != cut_) return false;
    cut_ = 0;
  }
  return inline_ || Free(kLine) >= kLine;
}

bool RingSender::Begin(const MessageHeader& header) {
  assert(remaining_ == 0);
  inline_ = false;
  if (!HasRoom()) return false;
  std::memcpy(At(head_), &header, sizeof(header));
  ++counter_->messages;
  remaining_ = header.bytes;
  inline_ = header.bytes > 0 && header.bytes <= kInlineBytes;
  if (!inline_) head_ += kLine;
  // The header is published together with the first piece, unless there is none to wait for.
  if (remaining_ == 0) PublishHead();
  return true;
}

std::span<std::byte> RingSender::Writable() {
  if (remaining_ == 0) return {};
  const auto left = static_cast<std::uint64_t>(remaining_);
  if (inline_) return {At(head_) + sizeof(MessageHeader), left};
  std::uint64_t length = std::min(
      {left, Free(std::min(RoundUpToLine(left), capacity_ / 4)), capacity_ - head_ % capacity_});
  if (length < left) length = length / kLine * kLine;
  return {At(head_), length};
}

void RingSender::Commit(std::int64_t bytes) {
  assert(bytes <= remaining_ && (bytes == remaining_ || bytes % kPieceBytes == 0));
  remaining_ -= bytes;
  counter_->bytes += bytes;
  head_ += inline_ ? kLine : RoundUpToLine(static_cast<std::uint64_t>(bytes));
  PublishHead();
}

void RingSender::Cut() {
  if (remaining_ == 0) return;
  if (inline_) head_ += kLine;  // such a message is whole for the receiver, whatever it holds
  remaining_ = 0;
  if (!inline_) {
    cut_ = head_;
    memory_->cut.store(cut_, std::memory_order_seq_cst);
  }
  PublishHead();
}

void RingSender::PublishHead() {
  memory_->head.store(head_, std::memory_order_seq_cst);
  receiver_->Ring();
}

RingReceiver::RingReceiver(RingMemory* memory, std::int64_t capacity, Doorbell* sender)
    : memory_(memory), capacity_(static_cast<std::uint64_t>(capacity)), sender_(sender) {}

// Bytes between tail_ and what the sender has published.
std::uint64_t RingReceiver::Arrived() {
  if (head_ == tail_) head_ = memory_->head.load(std::memory_order_seq_cst);
  return head_ - tail_;
}

const MessageHeader* RingReceiver::Front() {
  if (has_front_) return &front_.message;
  if (Arrived() == 0) return nullptr;
  std::memcpy(&front_, memory_->data() + tail_ % capacity_, sizeof(front_));
  has_front_ = true;
  remaining_ = front_.message.bytes;
  tail_ += kLine;  // given back with the first Consume
  return &front_.message;
}

std::span<const std::byte> RingReceiver::Readable() {
  if (remaining_ == 0) return {};
  const auto left = static_cast<std::uint64_t>(remaining_);
  if (front_.message.bytes <= kInlineBytes) {
    return {front_.inline_payload + (front_.message.bytes - remaining_), left};
  }
  // Look again even if a little is there: more may have come, and longer pieces cost less.
  if (head_ - tail_ < left) head_ = memory_->head.load(std::memory_order_seq_cst);
  const std::uint64_t length = std::min({left, head_ - tail_, capacity_ - tail_ % capacity_});
  return {memory_->data() + tail_ % capacity_, length};
}

void RingReceiver::Consume(std::int64_t bytes) {
  assert(has_front_ && bytes <= remaining_);
  remaining_ -= bytes;
  if (front_.message.bytes > kInlineBytes) tail_ += static_cast<std::uint64_t>(bytes);
  if (remaining_ == 0) {
    tail_ = RoundUpToLine(tail_);
    has_front_ = false;
  }
  PublishTail();
}

bool RingReceiver::Discard() {
  if (Front() == nullptr) return false;
  while (has_front_) {
    const std::span<const std::byte> piece = Readable();
    if (!piece.empty() || remaining_ == 0) {
      Consume(static_cast<std::int64_t>(piece.size()));
    } else if (memory_->cut.load(std::memory_order_seq_cst) == tail_) {
      remaining_ = 0;
      has_front_ = false;
      memory_->cut_seen.store(tail_, std::memory_order_seq_cst);
      PublishTail();
    } else {
      return false;
    }
  }
  return true;
}

void RingReceiver::PublishTail() {
  // The sender counts in whole lines: one that is half consumed is not free yet.
  memory_->tail.store(tail_ / kLine * kLine, std::memory_order_seq_cst);
  sender_->Ring();
}

}  // namespace chorus
