#include "chorus/transport/watched/link_pace.h"

#include <algorithm>
#include <optional>

namespace chorus {
namespace {

using Clock = Transport::Clock;

// Before each message goes one without payload whose number is the time in ns.
constexpr double kHeaderBytes = 64;

class PacedSender final : public MessageSender {
 public:
  explicit PacedSender(MessageSender* inner) : inner_(*inner) {}

  bool HasRoom() override { return inner_.HasRoom(); }
  bool Begin(const MessageHeader& header) override {
    if (!said_when_) {
      MessageHeader when;
      when.sequence = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
      if (!inner_.Begin(when)) return false;
      said_when_ = true;
    }
    if (!inner_.Begin(header)) return false;
    said_when_ = false;
    return true;
  }
  std::span<std::byte> Writable() override { return inner_.Writable(); }
  void Commit(std::int64_t bytes) override { inner_.Commit(bytes); }
  std::int64_t remaining() const override { return inner_.remaining(); }
  void Cut() override { inner_.Cut(); }

 private:
  MessageSender& inner_;
  bool said_when_ = false;  // of the message that has not begun for want of room
};

class PacedReceiver final : public MessageReceiver {
 public:
  PacedReceiver(MessageReceiver* inner, const LinkPace& pace, NextArrival* next)
      : inner_(*inner), pace_(pace), next_(*next) {}

  const MessageHeader* Front() override {
    if (!knows_when_) {
      const MessageHeader* const when = inner_.Front();
      if (when == nullptr) return nullptr;
      sent_ = Clock::time_point(Clock::duration(static_cast<std::int64_t>(when->sequence)));
      inner_.Consume(0);
      knows_when_ = true;
    }
    const MessageHeader* const front = inner_.Front();
    if (front == nullptr) return nullptr;
    if (sent_) {  // a message that has not been looked at before
      begin_ = std::max(free_, *sent_);
      free_ = begin_ + TimeOf(kHeaderBytes + static_cast<double>(front->bytes));
      taken_ = 0;
      sent_.reset();
    }
    return HasArrived(kHeaderBytes) ? front : nullptr;
  }
  std::span<const std::byte> Readable() override {
    const std::span<const std::byte> there = inner_.Readable();
    if (there.empty()) return there;
    const double arrived =
        std::chrono::duration<double>(Clock::now() - begin_ - pace_.latency).count() *
            pace_.bytes_per_second -
        kHeaderBytes - static_cast<double>(taken_);
    const auto most = static_cast<std::int64_t>(std::clamp(arrived, 0.0, 1e15));
    if (most >= static_cast<std::int64_t>(there.size())) return there;
    // The rest of the channel's piece is due then.
    next_.Tell(
        begin_ + pace_.latency +
        TimeOf(kHeaderBytes + static_cast<double>(taken_) + static_cast<double>(there.size())));
    return there.first(static_cast<std::size_t>(most / kPieceBytes * kPieceBytes));
  }
  void Consume(std::int64_t bytes) override {
    taken_ += bytes;
    inner_.Consume(bytes);
    knows_when_ = inner_.remaining() > 0;
  }
  std::int64_t remaining() const override { return inner_.remaining(); }
  bool Discard() override {
    if (Front() == nullptr || !inner_.Discard()) return false;
    knows_when_ = false;
    return true;
  }

 private:
  Clock::duration TimeOf(double bytes) const {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(bytes / pace_.bytes_per_second));
  }
  // Whether so much of the message under way is there; else says when it will be.
  bool HasArrived(double bytes) {
    const Clock::time_point due = begin_ + pace_.latency + TimeOf(bytes);
    if (due <= Clock::now()) return true;
    next_.Tell(due);
    return false;
  }

  MessageReceiver& inner_;
  const LinkPace pace_;
  NextArrival& next_;
  bool knows_when_ = false;                // of the message at the front, or to come
  std::optional<Clock::time_point> sent_;  // of a message that has not been looked at
  Clock::time_point begin_{};              // the message under way goes onto the link
  Clock::time_point free_{};               // the link is done with it
  std::int64_t taken_ = 0;                 // payload of it that was given up to the rank
};

}  // namespace

std::unique_ptr<MessageSender> PaceSender(MessageSender* inner) {
  return std::make_unique<PacedSender>(inner);
}

std::unique_ptr<MessageReceiver> PaceReceiver(MessageReceiver* inner, const LinkPace& pace,
                                              NextArrival* next) {
  return std::make_unique<PacedReceiver>(inner, pace, next);
}

}  // namespace chorus
