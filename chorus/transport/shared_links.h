// SharedLinks: Links over memory that all members see. Used by the thread and the shm transport.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "chorus/transport/control.h"
#include "chorus/transport/fork_guard.h"
#include "chorus/transport/inbox.h"
#include "chorus/transport/lane.h"
#include "chorus/transport/links.h"
#include "chorus/transport/ring.h"

namespace chorus {

class SharedLinks final : public Links {
 public:
  struct Member {
    int world_rank = 0;
    InboxMemory* inbox = nullptr;  // as mapped here
    ControlBlock* control = nullptr;
  };

  // `crowded`: ranks share cores. `retire` is called once this rank has departed; its inbox may
  // still be written by others then.
  SharedLinks(std::vector<Member> members, int rank, std::int64_t channel_bytes, bool crowded,
              std::function<void()> retire);
  ~SharedLinks() override;
  SharedLinks(const SharedLinks&) = delete;
  SharedLinks& operator=(const SharedLinks&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  int world_rank(int peer) const override { return member(peer).world_rank; }
  MessageSender& sender(int peer) override { return *senders_[static_cast<std::size_t>(peer)]; }
  MessageReceiver& receiver(int peer) override {
    return *receivers_[static_cast<std::size_t>(peer)];
  }
  SentCounter sent() const override { return sent_; }
  MessageSender& direct_sender(int peer) override {
    return *direct_senders_[static_cast<std::size_t>(peer)];
  }
  MessageReceiver& direct_receiver(int peer) override {
    return *direct_receivers_[static_cast<std::size_t>(peer)];
  }

  std::int64_t lane_bytes() const override { return InboxMemory::LaneSlotBytes(size()); }
  LaneSender& lane_to(int peer) override { return *lane_senders_[static_cast<std::size_t>(peer)]; }
  LaneReceiver& lane_from(int peer) override {
    return *lane_receivers_[static_cast<std::size_t>(peer)];
  }
  void PostsAreOut() override {
    if (fences_) {
      FenceStores();
    } else {
      std::atomic_signal_fence(std::memory_order_seq_cst);  // the sleeper does the rest
    }
  }
  int Looks(int peer) override;
  Stage stage(int peer) const override { return member(peer).inbox->stage(size(), channel_bytes_); }
  void CountSent(std::int64_t bytes, std::int64_t messages) override {
    sent_.bytes += bytes;
    sent_.messages += messages;
  }
  void Finish(std::uint64_t sequence, CallRecord::End end, std::int64_t time) override {
    inbox().Finish(sequence, end, time);
  }

  void Publish(const CallRecord& record) override { inbox().Publish(record); }
  void AddStart(std::uint64_t sequence, std::int64_t time) override {
    inbox().AddStart(sequence, time);
  }
  std::int32_t Label(std::string_view text) override { return inbox().Label(text); }
  std::string LabelOf(int peer, std::int32_t label) const override {
    return member(peer).inbox->LabelOf(label);
  }
  std::uint64_t Published(int peer) const override { return member(peer).inbox->Published(); }
  CallRecord Record(int peer, std::uint64_t sequence) const override {
    return member(peer).inbox->Record(sequence);
  }

  void PublishParts(std::uint64_t sequence, std::span<const std::int64_t> counts) override {
    inbox().PublishParts(sequence, counts);
  }
  std::vector<std::int64_t> Parts(int peer, std::uint64_t sequence) const override {
    return member(peer).inbox->Parts(sequence);
  }

  void Poison(const Status& status) override;
  Status poison() const override { return inbox().poison(); }
  bool Departed(int peer) const override {
    return inbox().departed(peer).load(std::memory_order_seq_cst) != 0;
  }
  void RingAll() override;

  std::int64_t board_words() const override { return InboxMemory::BoardWords(size()); }
  void Note(std::span<const std::uint64_t> words) override;
  bool ReadNote(int peer, std::span<std::uint64_t> words) const override {
    return member(peer).inbox->ReadNote(words, size());
  }
  std::int64_t cells() const override { return InboxMemory::Cells(size()); }
  std::uint64_t Settle(std::int64_t cell, std::uint64_t value) override;
  std::uint64_t Settled(std::int64_t cell) const override {
    return member(0).inbox->Settled(cell, size());
  }

 private:
  const Member& member(int peer) const { return members_[static_cast<std::size_t>(peer)]; }
  InboxMemory& inbox() const { return *member(rank_).inbox; }

  const std::vector<Member> members_;
  const int rank_;
  const std::int64_t channel_bytes_;
  const bool crowded_;
  const bool fences_;  // some member does not order stores before it sleeps
  const std::function<void()> retire_;
  const ForkGuard fork_guard_;
  SentCounter sent_;
  std::vector<std::unique_ptr<RingSender>> senders_;      // empty at rank_
  std::vector<std::unique_ptr<RingReceiver>> receivers_;  // empty at rank_
  SentCounter direct_sent_;
  std::vector<std::unique_ptr<RingSender>> direct_senders_;      // empty at rank_
  std::vector<std::unique_ptr<RingReceiver>> direct_receivers_;  // empty at rank_
  std::vector<std::unique_ptr<LaneSender>> lane_senders_;        // empty at rank_
  std::vector<std::unique_ptr<LaneReceiver>> lane_receivers_;    // empty at rank_
};

}  // namespace chorus
