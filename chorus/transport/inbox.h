// Inbox: the memory that one rank gives to one group; its peers write into it.
//
//   | poison | records: its last calls | finished | departed: a word a member
//   | ring from member 0 | ring 1 | ... | lane from member 0 | lane 1 | ... | direct ring 0 | ...
//   | stage
//
// The owner reads its rings, lanes and poison, and writes its records, what it has finished and its
// stage; a peer writes its ring, its lane, its departed word, and the poison. An inbox lives until
// every other member has departed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "chorus/transport/lane.h"
#include "chorus/transport/links.h"
#include "chorus/transport/ring.h"
#include "chorus/transport/stage.h"

namespace chorus {

class InboxMemory {
 public:
  static std::int64_t BytesFor(int members, std::int64_t channel_bytes);

  RingMemory* ring(int member, int members, std::int64_t channel_bytes);
  LaneMemory* lane(int member, int members, std::int64_t channel_bytes);
  RingMemory* direct_ring(int member, int members, std::int64_t channel_bytes);
  // The owner writes it, the others read it.
  Stage stage(int members, std::int64_t channel_bytes);
  // The capacity of a direct ring.
  static std::int64_t DirectBytes(std::int64_t channel_bytes);
  // The largest payload of a lane in a group of so many: 16 KiB for two, in all slots of all lanes
  // at most 768 KiB a rank while that is at least 1 KiB each.
  static std::int64_t LaneSlotBytes(int members);
  // The number of the last operation that the owner has finished. Written by the owner alone.
  std::atomic<std::uint64_t>& finished() { return finished_; }
  std::atomic<std::uint32_t>& departed(int member);

  // The owner's side of Links::Publish, a peer's of Links::Record.
  void Publish(const CallRecord& record);
  std::uint64_t Published() const { return published_.load(std::memory_order_seq_cst); }
  CallRecord Record(std::uint64_t sequence) const;

  // The owner's side of Links::PublishParts, a peer's of Links::Parts.
  void PublishParts(std::uint64_t sequence, std::span<const std::int64_t> counts);
  std::vector<std::int64_t> Parts(std::uint64_t sequence) const;

  void Poison(const Status& status);
  Status poison() const;
  bool poisoned() const { return poison_.load(std::memory_order_acquire) == kPoisoned; }

 private:
  static constexpr std::uint32_t kClean = 0, kWriting = 1, kPoisoned = 2;
  static constexpr std::size_t kRecords = 2 * LaneMemory::kAhead;

  // A record that can be read while it is written: the stamp, sequence and state, changes last, and
  // is 0 meanwhile. All words are atomic, each store a release and each load an acquire, so that a
  // reader who saw a new word also sees that the stamp has changed.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> stamp{0};
    std::array<std::atomic<std::uint64_t>, 4> words{};
  };

  alignas(128) std::atomic<std::uint32_t> poison_{kClean};
  std::uint32_t poison_code_ = 0;
  std::uint32_t poison_length_ = 0;
  char poison_text_[Links::kPoisonText] = {};
  alignas(128) std::atomic<std::uint64_t> published_{0};
  std::array<Slot, kRecords> slots_{};
  // As a Slot, with the sequence itself as stamp.
  std::atomic<std::uint64_t> parts_stamp_{0};
  std::atomic<std::uint64_t> parts_size_{0};
  std::array<std::atomic<std::int64_t>, Links::kParts> parts_{};
  alignas(128) std::atomic<std::uint64_t> finished_{0};
};

}  // namespace chorus
