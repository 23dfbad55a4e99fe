// Lane: the way of small messages, one per ordered pair of ranks of a group.
//
//   LaneMemory   | slot 0 | slot 1 | slot 2 | slot 3 | ... | slot 23 |
//   slot         | stamp 8 | fingerprint 8 | payload 48 | room for larger payloads ...   |
//                  ^ one line of 64 bytes: a small message moves it, and nothing else
//
// Operation #s may send a peer three messages, phases 0 to 2. Their stamp is 3s + phase and their
// slot is stamp mod 24, so nothing is searched, counted or queued: the receiver knows which slot
// will change and to what. A slot is free for operation s once its receiver has finished operation
// s - 8; that is known without looking if it has sent anything of operation s - 7 or later, and
// else from the word in which every rank shows what it has finished. So a root that only sends is
// up to 8 operations ahead, and looks at that word once for several of them.
//
// Worked example: 8 bytes of #17 from rank 0 to rank 1.
//
//   rank 0   Room(17)   Payload(17, 0, 8) = the bytes   Post: stamp = 51, rank 1 is woken if asleep
//   rank 1   Look(17, 0): stamp is 51                   reads the bytes where they are
//
// Cost: one line from core to core; no copy but the sender's, no acknowledgement.
// Thread safety: one sending and one receiving thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "chorus/transport/doorbell.h"
#include "chorus/transport/links.h"

namespace chorus {

// The line that begins a slot.
struct alignas(64) LaneLine {
  static constexpr std::int64_t kPayload = 48;

  std::atomic<std::uint64_t> stamp{0};
  std::uint64_t fingerprint = 0;
  std::array<std::byte, kPayload> payload{};
};
static_assert(sizeof(LaneLine) == 64);

// Begins to take a line away from the core that has it, to write it soon. (What compilers offer is
// a hint to read where the processor is not known to have this.)
inline void TakeLine(LaneLine* line) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" : : "m"(line->stamp));
#else
  __builtin_prefetch(line, 1);
#endif
}

// The memory of one lane, in the receiver's inbox. Payloads up to slot_bytes.
class LaneMemory {
 public:
  static constexpr std::uint64_t kPhases = 3;
  static constexpr std::uint64_t kAhead = 8;  // operations
  static constexpr std::uint64_t kSlots = kAhead * kPhases;

  static constexpr std::int64_t BytesFor(std::int64_t slot_bytes) {
    return static_cast<std::int64_t>(kSlots) * SlotStride(slot_bytes);
  }
  // Begins the life of a lane in zeroed memory. REQUIRES: BytesFor(slot_bytes) bytes at `memory`.
  static void Make(void* memory, std::int64_t slot_bytes) {
    auto* const lane = static_cast<LaneMemory*>(memory);
    for (std::uint64_t slot = 0; slot < kSlots; ++slot) {
      new (static_cast<void*>(lane->line(slot, slot_bytes))) LaneLine;
    }
  }
  // Of the operation and phase; its payload is line->payload or, if it is larger, the bytes after.
  LaneLine* line(std::uint64_t stamp, std::int64_t slot_bytes) {
    auto* const slots = reinterpret_cast<std::byte*>(this);
    return reinterpret_cast<LaneLine*>(slots + static_cast<std::int64_t>(stamp % kSlots) *
                                                   SlotStride(slot_bytes));
  }

 private:
  // Lines are fetched in pairs, so two slots never share 128 bytes.
  static constexpr std::int64_t SlotStride(std::int64_t slot_bytes) {
    return (static_cast<std::int64_t>(sizeof(LaneLine)) + slot_bytes + 127) / 128 * 128;
  }
};

class LaneSender {
 public:
  // `memory`, `finished` (the word of the receiver), `receiver` (whom to wake) and `counter` must
  // outlive this.
  LaneSender(LaneMemory* memory, std::int64_t slot_bytes,
             const std::atomic<std::uint64_t>* finished, Doorbell* receiver, SentCounter* counter)
      : memory_(memory),
        slot_bytes_(slot_bytes),
        finished_(finished),
        receiver_(receiver),
        counter_(counter) {}

  // The same lane, counting elsewhere. Only one of the two may be used.
  LaneSender CountingInto(SentCounter* counter) const {
    return {memory_, slot_bytes_, finished_, receiver_, counter};
  }

  // Whether operation `sequence` may write its messages now.
  bool Room(std::uint64_t sequence) {
    return sequence <= LaneMemory::kAhead || HasFinished(sequence - LaneMemory::kAhead);
  }
  // Whether the receiver has finished operation `sequence`.
  bool HasFinished(std::uint64_t sequence) {
    if (known_finished_ >= sequence) return true;
    known_finished_ = std::max(known_finished_, finished_->load(std::memory_order_seq_cst));
    return known_finished_ >= sequence;
  }
  // The receiver has sent something of `sequence`, so it has finished the one before.
  void HeardOf(std::uint64_t sequence) {
    if (sequence > known_finished_ + 1) known_finished_ = sequence - 1;
  }

  // Where the payload goes. REQUIRES: Room; bytes <= slot_bytes, or <= LaneLine::kPayload.
  std::byte* Payload(std::uint64_t sequence, unsigned phase, std::int64_t bytes) {
    LaneLine* const line = memory_->line(StampOf(sequence, phase), slot_bytes_);
    return bytes <= LaneLine::kPayload ? line->payload.data()
                                       : reinterpret_cast<std::byte*>(line + 1);
  }
  // Shows a message to the receiver. `bytes`: of payload, which count as sent. What was posted, to
  // this and to other lanes, reaches those who sleep with Links::PostsAreOut and then Wake.
  void Post(std::uint64_t sequence, unsigned phase, std::uint64_t fingerprint, std::int64_t bytes) {
    counter_->bytes += bytes;
    ++counter_->messages;
    Signal(sequence, phase, fingerprint);
    // The receiver still has the line that the next operation will write: taking it early is free.
    if (known_finished_ + LaneMemory::kAhead > sequence) {
      TakeLine(memory_->line(StampOf(sequence + 1, phase), slot_bytes_));
    }
  }
  // As Post for what the ranks tell each other about a call and no schedule speaks of: not counted.
  void Signal(std::uint64_t sequence, unsigned phase, std::uint64_t fingerprint) {
    LaneLine* const line = memory_->line(StampOf(sequence, phase), slot_bytes_);
    line->fingerprint = fingerprint;
    line->stamp.store(StampOf(sequence, phase), kPostOrder);
  }
  // Wakes the receiver if it sleeps. REQUIRES: Links::PostsAreOut since the last Post.
  void Wake() { receiver_->Ring(); }

  static std::uint64_t StampOf(std::uint64_t sequence, unsigned phase) {
    return LaneMemory::kPhases * sequence + phase;
  }

 private:
  LaneMemory* const memory_;
  const std::int64_t slot_bytes_;
  const std::atomic<std::uint64_t>* const finished_;
  Doorbell* const receiver_;
  SentCounter* const counter_;
  std::uint64_t known_finished_ = 0;
};

class LaneReceiver {
 public:
  LaneReceiver(LaneMemory* memory, std::int64_t slot_bytes)
      : memory_(memory), slot_bytes_(slot_bytes) {}

  // The line of a message, or nullptr while it has not come. Valid until the operation is finished.
  const LaneLine* Look(std::uint64_t sequence, unsigned phase) const {
    const std::uint64_t stamp = LaneSender::StampOf(sequence, phase);
    const LaneLine* const line = memory_->line(stamp, slot_bytes_);
    return line->stamp.load(std::memory_order_seq_cst) == stamp ? line : nullptr;
  }
  // To be called where messages of later operations may have come already: the next one's line
  // is then on its way while this one is dealt with.
  void LookAhead(std::uint64_t sequence, unsigned phase) const {
    __builtin_prefetch(memory_->line(LaneSender::StampOf(sequence + 1, phase), slot_bytes_));
  }
  // The payload of a line that Look gave.
  static const std::byte* Payload(const LaneLine* line, std::int64_t bytes) {
    return bytes <= LaneLine::kPayload ? line->payload.data()
                                       : reinterpret_cast<const std::byte*>(line + 1);
  }

 private:
  LaneMemory* const memory_;
  const std::int64_t slot_bytes_;
};

}  // namespace chorus
