// Links: the channels between the ranks of one group, and what they tell each other beside them.
//
// A channel carries messages from one rank to one other, in order. A message is a header and
// payload; the payload may be longer than the channel, it then streams through: the sender writes
// what fits, the receiver uses it where it lies and gives the space back.
//
// Thread safety: one thread at a time per Links. Ranks here are ranks of the group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"

namespace chorus {

struct MessageHeader {
  std::uint64_t sequence = 0;     // number of the operation in its group
  std::uint64_t fingerprint = 0;  // of the call: operation, dtype, count, reduction, root, schedule
  std::int64_t bytes = 0;         // of payload
  std::uint32_t id = 0;           // which message of the schedule

  friend bool operator==(const MessageHeader&, const MessageHeader&) = default;
};

// Counted in the loop that copies. Payload bytes; a message without payload counts as a message.
struct SentCounter {
  std::int64_t bytes = 0;
  std::int64_t messages = 0;

  friend bool operator==(const SentCounter&, const SentCounter&) = default;
};

// Pieces of payload are published in multiples of this, except the last of a message, so that no
// element is ever torn. Also the alignment of the first piece.
inline constexpr std::int64_t kPieceBytes = 64;

class MessageSender {
 public:
  virtual ~MessageSender() = default;
  // Whether Begin, or between Begin and the last Commit, Writable would give room now.
  virtual bool HasRoom() = 0;
  // Starts a message; false if there is no room for its header now. A message without payload is
  // complete with it. REQUIRES: the last message is complete.
  virtual bool Begin(const MessageHeader& header) = 0;
  // Where the next payload may be written, possibly nothing; never beyond the end of the message.
  virtual std::span<std::byte> Writable() = 0;
  // Publishes the first `bytes` of Writable. REQUIRES: a multiple of kPieceBytes, or all that is
  // left of the message.
  virtual void Commit(std::int64_t bytes) = 0;
  // Payload bytes of the current message not yet committed; 0 between messages.
  virtual std::int64_t remaining() const = 0;
  // Ends the current message here; the receiver sees that it was cut.
  virtual void Cut() = 0;
};

class MessageReceiver {
 public:
  virtual ~MessageReceiver() = default;
  // The header of the message at the front, or nullptr. Valid until the message is consumed.
  virtual const MessageHeader* Front() = 0;
  // The contiguous payload that has arrived and is not consumed. REQUIRES: Front() != nullptr.
  virtual std::span<const std::byte> Readable() = 0;
  // Gives back the first `bytes` of Readable; with its last byte the message is gone. A message
  // without payload goes with Consume(0).
  virtual void Consume(std::int64_t bytes) = 0;
  virtual std::int64_t remaining() const = 0;
  // Drops the front message as far as it has arrived; true once it is wholly gone.
  virtual bool Discard() = 0;
};

// How a rank stands in one of its operations, for the others to read. Plain words, no pointers.
struct CallRecord {
  enum class State : std::uint8_t {
    kNone,
    kRunning,  // has begun; may have ended since, see `end`
    kRefused,
    kFailed,  // was given up because of another rank
    kPosted,  // waits for those before it
  };
  enum class End : std::uint8_t { kOpen, kOk, kFailed };

  std::uint64_t sequence = 0;
  std::uint64_t fingerprint = 0;
  std::uint64_t what = 0;  // the collective room's packing of operation, dtype, reduction, root
  std::int64_t count = 0;  // elements
  State state = State::kNone;
  std::int32_t culprit = -1;  // kFailed: the rank that the failure began at
  std::int32_t label = -1;    // of its algorithm, see Links::Label
  // steady_clock in ns; 0 where reading the clock would have cost the call too much.
  std::int64_t started = 0;
  std::int64_t ended = 0;  // set by Finish
  End end = End::kOpen;    // set by Finish

  friend bool operator==(const CallRecord&, const CallRecord&) = default;
};

struct Stage;        // stage.h
class LaneSender;    // lane.h
class LaneReceiver;  // lane.h

class Links {
 public:
  // Says goodbye to the members; never waits.
  virtual ~Links() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int world_rank(int peer) const = 0;
  // REQUIRES: peer != rank().
  virtual MessageSender& sender(int peer) = 0;
  virtual MessageReceiver& receiver(int peer) = 0;
  virtual SentCounter sent() const = 0;
  // A second channel of each ordered pair, for what belongs to no operation of the group: sends and
  // receives between two ranks. Not counted by sent(). REQUIRES: peer != rank().
  virtual MessageSender& direct_sender(int peer) = 0;
  virtual MessageReceiver& direct_receiver(int peer) = 0;

  // Lanes: the way of small messages, where the transport has one. The largest payload; 0 if none.
  virtual std::int64_t lane_bytes() const = 0;
  // REQUIRES: lane_bytes() > 0; peer != rank().
  virtual LaneSender& lane_to(int peer) = 0;
  virtual LaneReceiver& lane_from(int peer) = 0;
  // What `member`, which may be this rank, shows to all others.
  virtual Stage stage(int member) const = 0;
  // After posts and before waking those they are for: no post can be missed by one who falls
  // asleep.
  virtual void PostsAreOut() = 0;
  // How often to look for something of `peer` before other operations of this rank, or other ranks
  // on its core, should get a turn. REQUIRES: peer != rank().
  virtual int Looks(int peer) = 0;
  // Counts payload that this rank moved by other means than channels and lanes.
  virtual void CountSent(std::int64_t bytes, std::int64_t messages) = 0;
  // Told by who moves it what an edge of a schedule carries where there is no message: `bytes` of
  // `from` for `to`. Nothing comes of it but for who watches.
  virtual void Moved(int /*from*/, int /*to*/, std::int64_t /*bytes*/) {}
  // Shows that this rank has finished operation `sequence`, how, and when if that is known: what
  // lanes hold of it and of earlier ones may be overwritten. Wakes nobody.
  virtual void Finish(std::uint64_t sequence, CallRecord::End end, std::int64_t time) = 0;

  // Tells the members how this rank's call of record.sequence stands. The last kRecords are kept:
  // they are the group's flight recorder.
  virtual void Publish(const CallRecord& record) = 0;
  // Adds to the record of a running call when it began.
  virtual void AddStart(std::uint64_t sequence, std::int64_t time) = 0;
  // A number by which records name a text of at most kLabelText bytes (what is longer is cut); -1
  // once kLabels others have one.
  virtual std::int32_t Label(std::string_view text) = 0;
  // "" for -1.
  virtual std::string LabelOf(int peer, std::int32_t label) const = 0;
  // The newest sequence that `peer` has published as anything but kPosted; 0 before the first.
  virtual std::uint64_t Published(int peer) const = 0;
  // What `peer` published for `sequence`; state kNone if it has not, or not any more.
  virtual CallRecord Record(int peer, std::uint64_t sequence) const = 0;

  // Of an operation that stands for several calls: the elements of each, at most kParts, to be
  // shown before its record. Kept until the next such operation.
  virtual void PublishParts(std::uint64_t sequence, std::span<const std::int64_t> counts) = 0;
  // What `peer` has shown for `sequence`; empty if it has not, or not any more.
  virtual std::vector<std::int64_t> Parts(int peer, std::uint64_t sequence) const = 0;
  static constexpr std::size_t kParts = 32;

  // Ends the group for every member, with the code and text that poison() then returns there. The
  // first one stays. Texts are cut to kPoisonText bytes.
  virtual void Poison(const Status& status) = 0;
  // Ok while nobody has.
  virtual Status poison() const = 0;
  // True if `peer` has said goodbye. What it sent before has arrived.
  virtual bool Departed(int peer) const = 0;
  // Wakes every member that waits for what was stored before PostsAreOut, or seq_cst; no system
  // call unless one sleeps.
  virtual void RingAll() = 0;

  // What members have to agree by when the group is over: memory that outlives those who wrote it.
  //
  // A board each, on which a rank shows board_words() words; the newest note only. Note wakes all.
  virtual std::int64_t board_words() const = 0;
  virtual void Note(std::span<const std::uint64_t> words) = 0;
  // False before the first note of `peer` and while one is being written. REQUIRES of both:
  // words.size() == board_words().
  virtual bool ReadNote(int peer, std::span<std::uint64_t> words) const = 0;
  // Cells that all members have in common: the first value given to one stays; returns that. Wakes
  // all. REQUIRES: 0 <= cell < cells(), value != 0.
  virtual std::int64_t cells() const = 0;
  virtual std::uint64_t Settle(std::int64_t cell, std::uint64_t value) = 0;
  // 0 before the first.
  virtual std::uint64_t Settled(std::int64_t cell) const = 0;

  static constexpr std::size_t kPoisonText = 440;
  static constexpr std::size_t kRecords = 1024;
  static constexpr std::size_t kLabels = 32;
  static constexpr std::size_t kLabelText = 47;
};

}  // namespace chorus
