// Inbox: the memory that one rank gives to one group; its peers write into it.
//
//   | poison | records: its last calls | labels | finished | departed: a word a member | board |
//   | cells | ring from member 0 | ring 1 | ... | lane from member 0 | lane 1 | ... |
//   | direct ring 0 | ... | stage
//
// The owner reads its rings, lanes and poison, and writes its records, its board, what it has
// finished and its stage; a peer writes its ring, its lane, its departed word, and the poison. The
// cells of member 0's inbox are those of the group. An inbox lives until every other member has
// departed or ended.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
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
  // The capacity of a direct ring: a quarter of a channel's, 64 KiB at least if that has so much.
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
  // The owner's side of Links::Finish and AddStart.
  void Finish(std::uint64_t sequence, CallRecord::End end, std::int64_t time) {
    Slot& slot = slots_[sequence % Links::kRecords];
    if (slot.stamp.load(std::memory_order_relaxed) >> kStateBits == sequence) {
      slot.words[kEnded].store(
          static_cast<std::uint64_t>(time) << kEndBits | static_cast<std::uint64_t>(end),
          std::memory_order_release);
    }
    finished_.store(sequence, std::memory_order_release);
  }
  void AddStart(std::uint64_t sequence, std::int64_t time);
  std::int32_t Label(std::string_view text);
  std::string LabelOf(std::int32_t label) const;

  // Begins the life of board and cells.
  void MakeBoard(int members);
  // Links::Note and ReadNote.
  static std::int64_t BoardWords(int members) { return 8 + (members + 63) / 64; }
  void Note(std::span<const std::uint64_t> words, int members);
  bool ReadNote(std::span<std::uint64_t> words, int members) const;
  // Links::Settle and Settled.
  static std::int64_t Cells(int members) { return 2 * (std::int64_t{members} + 2); }
  std::uint64_t Settle(std::int64_t index, std::uint64_t value, int members);
  std::uint64_t Settled(std::int64_t index, int members) const;

  // The owner's side of Links::PublishParts, a peer's of Links::Parts.
  void PublishParts(std::uint64_t sequence, std::span<const std::int64_t> counts);
  std::vector<std::int64_t> Parts(std::uint64_t sequence) const;

  void Poison(const Status& status);
  Status poison() const;
  bool poisoned() const { return poison_.load(std::memory_order_acquire) == kPoisoned; }

 private:
  // Where the board begins; its first word is the stamp, the cells come after its last.
  std::atomic<std::uint64_t>* board(int members) const;
  std::atomic<std::uint64_t>* cell(std::int64_t index, int members) const {
    return board(members) + 1 + BoardWords(members) + index;
  }

  static constexpr std::uint32_t kClean = 0, kWriting = 1, kPoisoned = 2;
  static constexpr unsigned kStateBits = 3;
  static constexpr unsigned kEndBits = 2;
  static constexpr std::size_t kStarted = 4;
  static constexpr std::size_t kEnded = 5;

  // A record that can be read while it is written: the stamp, sequence and state, changes last, and
  // is 0 meanwhile. All words are atomic, each store a release and each load an acquire, so that a
  // reader who saw a new word also sees that the stamp has changed. The last two words change
  // without the stamp. One line of memory: that is all that a record costs its owner.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> stamp{0};
    std::array<std::atomic<std::uint64_t>, 6> words{};
  };
  static_assert(sizeof(Slot) == 64);

  alignas(128) std::atomic<std::uint32_t> poison_{kClean};
  std::uint32_t poison_code_ = 0;
  std::uint32_t poison_length_ = 0;
  char poison_text_[Links::kPoisonText] = {};
  alignas(128) std::atomic<std::uint64_t> published_{0};
  std::array<Slot, Links::kRecords> slots_{};
  std::atomic<std::uint32_t> label_count_{0};
  char labels_[Links::kLabels][Links::kLabelText + 1] = {};
  // As a Slot, with the sequence itself as stamp.
  std::atomic<std::uint64_t> parts_stamp_{0};
  std::atomic<std::uint64_t> parts_size_{0};
  std::array<std::atomic<std::int64_t>, Links::kParts> parts_{};
  alignas(128) std::atomic<std::uint64_t> finished_{0};
};

}  // namespace chorus
