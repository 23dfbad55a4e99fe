#include "chorus/transport/inbox.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

namespace chorus {
namespace {

constexpr std::int64_t RoundUp(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

std::int64_t BoardOffset(int members) {
  const auto words = static_cast<std::int64_t>(sizeof(std::atomic<std::uint32_t>)) * members;
  return RoundUp(static_cast<std::int64_t>(sizeof(InboxMemory)) + words, 128);
}

std::int64_t RingsOffset(int members) {
  const std::int64_t words = 1 + InboxMemory::BoardWords(members) + InboxMemory::Cells(members);
  return RoundUp(BoardOffset(members) + 8 * words, 128);
}

std::int64_t StageOffset(int members, std::int64_t channel_bytes) {
  return RoundUp(
      RingsOffset(members) + members * (RingBytes(channel_bytes) +
                                        LaneMemory::BytesFor(InboxMemory::LaneSlotBytes(members)) +
                                        RingBytes(InboxMemory::DirectBytes(channel_bytes))),
      128);
}

// Room for some tiles of all blocks in flight, of a size that the second-level cache holds.
std::int64_t StageHalfBytes(std::int64_t channel_bytes) { return RoundUp(2 * channel_bytes, 128); }

}  // namespace

std::int64_t InboxMemory::LaneSlotBytes(int members) {
  constexpr std::int64_t kLeast = std::int64_t{1} << 10;
  constexpr std::int64_t kMost = std::int64_t{16} << 10;
  constexpr std::int64_t kAll = std::int64_t{32} << 10;  // of one slot of every lane
  return std::clamp(kAll / std::max(members, 1) / kPieceBytes * kPieceBytes, kLeast, kMost);
}

std::int64_t InboxMemory::BytesFor(int members, std::int64_t channel_bytes) {
  return StageOffset(members, channel_bytes) + 2 * static_cast<std::int64_t>(sizeof(StageWords)) +
         2 * StageHalfBytes(channel_bytes);
}

std::int64_t InboxMemory::DirectBytes(std::int64_t channel_bytes) {
  return std::min(channel_bytes,
                  std::max(std::int64_t{64} << 10, channel_bytes / 4 / kPieceBytes * kPieceBytes));
}

RingMemory* InboxMemory::ring(int member, int members, std::int64_t channel_bytes) {
  std::byte* const rings = reinterpret_cast<std::byte*>(this) + RingsOffset(members);
  return reinterpret_cast<RingMemory*>(rings + member * RingBytes(channel_bytes));
}

LaneMemory* InboxMemory::lane(int member, int members, std::int64_t channel_bytes) {
  std::byte* const lanes = reinterpret_cast<std::byte*>(this) + RingsOffset(members) +
                           members * RingBytes(channel_bytes);
  return reinterpret_cast<LaneMemory*>(lanes +
                                       member * LaneMemory::BytesFor(LaneSlotBytes(members)));
}

RingMemory* InboxMemory::direct_ring(int member, int members, std::int64_t channel_bytes) {
  std::byte* const rings =
      reinterpret_cast<std::byte*>(this) + RingsOffset(members) +
      members * (RingBytes(channel_bytes) + LaneMemory::BytesFor(LaneSlotBytes(members)));
  return reinterpret_cast<RingMemory*>(rings + member * RingBytes(DirectBytes(channel_bytes)));
}

Stage InboxMemory::stage(int members, std::int64_t channel_bytes) {
  std::byte* const begin = reinterpret_cast<std::byte*>(this) + StageOffset(members, channel_bytes);
  auto* const words = reinterpret_cast<StageWords*>(begin);
  return {words, reinterpret_cast<std::byte*>(words + 2), StageHalfBytes(channel_bytes)};
}

std::atomic<std::uint32_t>& InboxMemory::departed(int member) {
  return reinterpret_cast<std::atomic<std::uint32_t>*>(this + 1)[member];
}

void InboxMemory::Publish(const CallRecord& record) {
  Slot& slot = slots_[record.sequence % Links::kRecords];
  const std::uint64_t names = static_cast<std::uint32_t>(record.culprit) |
                              std::uint64_t{static_cast<std::uint32_t>(record.label)} << 32;
  constexpr auto kOrder = std::memory_order_release;
  slot.stamp.store(0, kOrder);
  slot.words[0].store(record.fingerprint, kOrder);
  slot.words[1].store(record.what, kOrder);
  slot.words[2].store(static_cast<std::uint64_t>(record.count), kOrder);
  slot.words[3].store(names, kOrder);
  slot.words[kStarted].store(static_cast<std::uint64_t>(record.started), kOrder);
  slot.words[kEnded].store(0, kOrder);
  slot.stamp.store(record.sequence << kStateBits | static_cast<std::uint64_t>(record.state),
                   std::memory_order_release);
  if (record.state == CallRecord::State::kPosted) return;
  // That a call runs wakes nobody; that it will not is looked for by who sleeps (doorbell.h).
  published_.store(record.sequence, record.state == CallRecord::State::kRunning
                                        ? std::memory_order_release
                                        : std::memory_order_seq_cst);
}

CallRecord InboxMemory::Record(std::uint64_t sequence) const {
  const Slot& slot = slots_[sequence % Links::kRecords];
  const std::uint64_t stamp = slot.stamp.load(std::memory_order_acquire);
  CallRecord record;
  if (stamp >> kStateBits != sequence) return record;
  record.sequence = sequence;
  record.state = static_cast<CallRecord::State>(stamp & ((1U << kStateBits) - 1));
  record.fingerprint = slot.words[0].load(std::memory_order_acquire);
  record.what = slot.words[1].load(std::memory_order_acquire);
  record.count = static_cast<std::int64_t>(slot.words[2].load(std::memory_order_acquire));
  const std::uint64_t names = slot.words[3].load(std::memory_order_acquire);
  record.culprit = static_cast<std::int32_t>(names);
  record.label = static_cast<std::int32_t>(names >> 32);
  record.started = static_cast<std::int64_t>(slot.words[kStarted].load(std::memory_order_acquire));
  const std::uint64_t ended = slot.words[kEnded].load(std::memory_order_acquire);
  record.ended = static_cast<std::int64_t>(ended >> kEndBits);
  record.end = static_cast<CallRecord::End>(ended & ((1U << kEndBits) - 1));
  if (slot.stamp.load(std::memory_order_acquire) != stamp) return CallRecord();
  return record;
}

void InboxMemory::PublishParts(std::uint64_t sequence, std::span<const std::int64_t> counts) {
  const std::size_t size = std::min(counts.size(), parts_.size());
  parts_stamp_.store(0, std::memory_order_release);
  for (std::size_t i = 0; i < size; ++i) parts_[i].store(counts[i], std::memory_order_release);
  parts_size_.store(size, std::memory_order_release);
  parts_stamp_.store(sequence, std::memory_order_release);
}

std::vector<std::int64_t> InboxMemory::Parts(std::uint64_t sequence) const {
  if (parts_stamp_.load(std::memory_order_acquire) != sequence) return {};
  std::vector<std::int64_t> counts(parts_size_.load(std::memory_order_acquire) %
                                   (parts_.size() + 1));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] = parts_[i].load(std::memory_order_acquire);
  }
  if (parts_stamp_.load(std::memory_order_acquire) != sequence) return {};
  return counts;
}

void InboxMemory::AddStart(std::uint64_t sequence, std::int64_t time) {
  Slot& slot = slots_[sequence % Links::kRecords];
  if (slot.stamp.load(std::memory_order_relaxed) >> kStateBits != sequence) return;
  slot.words[kStarted].store(static_cast<std::uint64_t>(time), std::memory_order_release);
}

std::int32_t InboxMemory::Label(std::string_view text) {
  text = text.substr(0, Links::kLabelText);
  const std::uint32_t count = label_count_.load(std::memory_order_relaxed);
  for (std::uint32_t label = 0; label < count; ++label) {
    if (labels_[label] == text) return static_cast<std::int32_t>(label);
  }
  if (count == Links::kLabels) return -1;
  text.copy(labels_[count], text.size());
  label_count_.store(count + 1, std::memory_order_release);
  return static_cast<std::int32_t>(count);
}

std::string InboxMemory::LabelOf(std::int32_t label) const {
  const auto count = static_cast<std::int32_t>(label_count_.load(std::memory_order_acquire));
  return label < 0 || label >= count ? "" : labels_[label];
}

std::atomic<std::uint64_t>* InboxMemory::board(int members) const {
  auto* const self = reinterpret_cast<std::byte*>(const_cast<InboxMemory*>(this));
  return reinterpret_cast<std::atomic<std::uint64_t>*>(self + BoardOffset(members));
}

void InboxMemory::MakeBoard(int members) {
  for (std::atomic<std::uint64_t>* word = board(members); word < cell(Cells(members), members);
       ++word) {
    new (static_cast<void*>(word)) std::atomic<std::uint64_t>(0);
  }
}

// As Publish: a reader who saw a new word also sees that the stamp, which counts notes and is odd
// while one is written, has changed.
void InboxMemory::Note(std::span<const std::uint64_t> words, int members) {
  std::atomic<std::uint64_t>* const stamp = board(members);
  const std::uint64_t before = stamp->load(std::memory_order_relaxed);
  stamp->store(before + 1, std::memory_order_release);
  for (std::size_t i = 0; i < words.size(); ++i) {
    stamp[1 + i].store(words[i], std::memory_order_release);
  }
  stamp->store(before + 2, std::memory_order_seq_cst);
}

bool InboxMemory::ReadNote(std::span<std::uint64_t> words, int members) const {
  const std::atomic<std::uint64_t>* const stamp = board(members);
  const std::uint64_t before = stamp->load(std::memory_order_seq_cst);
  if (before == 0 || before % 2 != 0) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = stamp[1 + i].load(std::memory_order_acquire);
  }
  return stamp->load(std::memory_order_acquire) == before;
}

std::uint64_t InboxMemory::Settle(std::int64_t index, std::uint64_t value, int members) {
  std::uint64_t settled = 0;
  const bool first =
      cell(index, members)->compare_exchange_strong(settled, value, std::memory_order_seq_cst);
  return first ? value : settled;
}

std::uint64_t InboxMemory::Settled(std::int64_t index, int members) const {
  return cell(index, members)->load(std::memory_order_seq_cst);
}

void InboxMemory::Poison(const Status& status) {
  std::uint32_t expected = kClean;
  if (!poison_.compare_exchange_strong(expected, kWriting, std::memory_order_acq_rel)) return;
  const std::size_t length = std::min(status.message().size(), sizeof(poison_text_));
  std::memcpy(poison_text_, status.message().data(), length);
  poison_length_ = static_cast<std::uint32_t>(length);
  poison_code_ = static_cast<std::uint32_t>(status.code());
  poison_.store(kPoisoned, std::memory_order_seq_cst);
}

Status InboxMemory::poison() const {
  if (poison_.load(std::memory_order_seq_cst) != kPoisoned) return OkStatus();
  return Status(static_cast<StatusCode>(poison_code_), std::string(poison_text_, poison_length_));
}

}  // namespace chorus
