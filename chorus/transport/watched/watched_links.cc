#include "chorus/transport/watched/watched_links.h"

#include <optional>
#include <utility>
#include <vector>

#include "chorus/transport/lane.h"
#include "chorus/transport/stage.h"

namespace chorus {
namespace {

using Kind = TransportPoint::Kind;

// What one group tells its watcher by.
class Teller {
 public:
  Teller(std::shared_ptr<const TransportWatcher> watcher, std::uint64_t serial)
      : watcher_(std::move(watcher)), serial_(serial) {}

  void Tell(TransportPoint point) const {
    point.group_serial = serial_;
    (*watcher_)(point);
  }
  void Tell(Kind kind, int peer, std::int64_t bytes, bool is_direct) const {
    TransportPoint point;
    point.kind = kind;
    point.peer = peer;
    point.bytes = bytes;
    point.is_direct = is_direct;
    Tell(point);
  }
  void Tell(Kind kind, std::uint64_t sequence) const {
    TransportPoint point;
    point.kind = kind;
    point.sequence = sequence;
    Tell(point);
  }

 private:
  const std::shared_ptr<const TransportWatcher> watcher_;
  const std::uint64_t serial_;
};

class WatchedSender final : public MessageSender {
 public:
  WatchedSender(MessageSender* inner, const Teller* teller, int peer, bool is_direct)
      : inner_(*inner), teller_(*teller), peer_(peer), is_direct_(is_direct) {}

  bool HasRoom() override { return inner_.HasRoom(); }
  bool Begin(const MessageHeader& header) override {
    TransportPoint point;
    point.kind = Kind::kBegin;
    point.peer = peer_;
    point.bytes = header.bytes;
    point.sequence = header.sequence;
    point.is_direct = is_direct_;
    point.message = header.id;
    teller_.Tell(point);
    return inner_.Begin(header);
  }
  std::span<std::byte> Writable() override { return inner_.Writable(); }
  void Commit(std::int64_t bytes) override {
    teller_.Tell(Kind::kCommit, peer_, bytes, is_direct_);
    inner_.Commit(bytes);
  }
  std::int64_t remaining() const override { return inner_.remaining(); }
  void Cut() override {
    if (inner_.remaining() > 0) teller_.Tell(Kind::kCut, peer_, 0, is_direct_);
    inner_.Cut();
  }

 private:
  MessageSender& inner_;
  const Teller& teller_;
  const int peer_;
  const bool is_direct_;
};

class WatchedReceiver final : public MessageReceiver {
 public:
  WatchedReceiver(MessageReceiver* inner, const Teller* teller, int peer, bool is_direct)
      : inner_(*inner), teller_(*teller), peer_(peer), is_direct_(is_direct) {}

  const MessageHeader* Front() override { return inner_.Front(); }
  std::span<const std::byte> Readable() override { return inner_.Readable(); }
  void Consume(std::int64_t bytes) override {
    teller_.Tell(Kind::kConsume, peer_, bytes, is_direct_);
    inner_.Consume(bytes);
  }
  std::int64_t remaining() const override { return inner_.remaining(); }
  bool Discard() override { return inner_.Discard(); }

 private:
  MessageReceiver& inner_;
  const Teller& teller_;
  const int peer_;
  const bool is_direct_;
};

class WatchedLinks final : public Links {
 public:
  WatchedLinks(std::unique_ptr<Links> inner, std::shared_ptr<const TransportWatcher> watcher,
               std::uint64_t serial, std::shared_ptr<PacedLink> pace)
      : teller_(std::move(watcher), serial), inner_(std::move(inner)), pace_(std::move(pace)) {
    for (int peer = 0; peer < size(); ++peer) {
      ends_.push_back(peer == rank()
                          ? nullptr
                          : std::make_unique<Ends>(inner_.get(), &teller_, peer, pace_.get()));
    }
  }
  ~WatchedLinks() override { teller_.Tell(Kind::kGoodbye, 0); }
  WatchedLinks(const WatchedLinks&) = delete;
  WatchedLinks& operator=(const WatchedLinks&) = delete;

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  int world_rank(int peer) const override { return inner_->world_rank(peer); }
  MessageSender& sender(int peer) override { return ends(peer).sender; }
  MessageReceiver& receiver(int peer) override { return ends(peer).receiver; }
  SentCounter sent() const override {
    SentCounter all = inner_->sent();
    for (const auto& each : ends_) {
      if (each == nullptr) continue;
      all.bytes += each->lane_sent.bytes;
      all.messages += each->lane_sent.messages;
    }
    return all;
  }
  MessageSender& direct_sender(int peer) override { return ends(peer).direct_sender; }
  MessageReceiver& direct_receiver(int peer) override { return ends(peer).direct_receiver; }

  std::int64_t lane_bytes() const override { return pace_ == nullptr ? inner_->lane_bytes() : 0; }
  LaneSender& lane_to(int peer) override {
    teller_.Tell(Kind::kLaneTo, peer, 0, false);
    if (lane_bytes() == 0) return inner_->lane_to(peer);
    return *ends(peer).lane;
  }
  LaneReceiver& lane_from(int peer) override {
    teller_.Tell(Kind::kLaneFrom, peer, 0, false);
    return inner_->lane_from(peer);
  }
  void PostsAreOut() override {
    teller_.Tell(Kind::kPosted, 0);
    inner_->PostsAreOut();
  }
  int Looks(int peer) override { return inner_->Looks(peer); }
  Stage stage(int member) const override { return inner_->stage(member); }
  void CountSent(std::int64_t bytes, std::int64_t messages) override {
    inner_->CountSent(bytes, messages);
  }
  void Moved(int from, int to, std::int64_t bytes) override {
    TransportPoint point;
    point.kind = Kind::kMoved;
    point.from = from;
    point.peer = to;
    point.bytes = bytes;
    teller_.Tell(point);
    inner_->Moved(from, to, bytes);
  }
  void Finish(std::uint64_t sequence, CallRecord::End end, std::int64_t time) override {
    TellOfLanes();
    teller_.Tell(Kind::kFinish, sequence);
    inner_->Finish(sequence, end, time);
  }

  void Publish(const CallRecord& record) override {
    teller_.Tell(Kind::kPublish, record.sequence);
    inner_->Publish(record);
  }
  void PublishParts(std::uint64_t sequence, std::span<const std::int64_t> counts) override {
    inner_->PublishParts(sequence, counts);
  }
  std::vector<std::int64_t> Parts(int peer, std::uint64_t sequence) const override {
    return inner_->Parts(peer, sequence);
  }
  void AddStart(std::uint64_t sequence, std::int64_t time) override {
    inner_->AddStart(sequence, time);
  }
  std::int32_t Label(std::string_view text) override { return inner_->Label(text); }
  std::string LabelOf(int peer, std::int32_t label) const override {
    return inner_->LabelOf(peer, label);
  }
  std::uint64_t Published(int peer) const override { return inner_->Published(peer); }
  CallRecord Record(int peer, std::uint64_t sequence) const override {
    return inner_->Record(peer, sequence);
  }

  void Poison(const Status& status) override {
    teller_.Tell(Kind::kPoison, 0);
    inner_->Poison(status);
  }
  Status poison() const override { return inner_->poison(); }
  bool Departed(int peer) const override { return inner_->Departed(peer); }
  void RingAll() override {
    teller_.Tell(Kind::kRing, 0);
    inner_->RingAll();
  }

  std::int64_t board_words() const override { return inner_->board_words(); }
  void Note(std::span<const std::uint64_t> words) override {
    teller_.Tell(Kind::kNote, 0);
    inner_->Note(words);
  }
  bool ReadNote(int peer, std::span<std::uint64_t> words) const override {
    return inner_->ReadNote(peer, words);
  }
  std::int64_t cells() const override { return inner_->cells(); }
  std::uint64_t Settle(std::int64_t cell, std::uint64_t value) override {
    teller_.Tell(Kind::kSettle, 0);
    return inner_->Settle(cell, value);
  }
  std::uint64_t Settled(std::int64_t cell) const override { return inner_->Settled(cell); }

 private:
  // The channels to and from one peer.
  struct Ends {
    Ends(Links* links, const Teller* teller, int peer, PacedLink* pace)
        : sender(Paced(&links->sender(peer), pace), teller, peer, false),
          receiver(Paced(&links->receiver(peer), pace), teller, peer, false),
          direct_sender(Paced(&links->direct_sender(peer), pace), teller, peer, true),
          direct_receiver(Paced(&links->direct_receiver(peer), pace), teller, peer, true) {
      if (pace == nullptr && links->lane_bytes() > 0)
        lane.emplace(links->lane_to(peer).CountingInto(&lane_sent));
    }
    MessageSender* Paced(MessageSender* channel, PacedLink* pace) {
      if (pace == nullptr) return channel;
      paced_senders.push_back(PaceSender(channel));
      return paced_senders.back().get();
    }
    MessageReceiver* Paced(MessageReceiver* channel, PacedLink* pace) {
      if (pace == nullptr) return channel;
      paced_receivers.push_back(PaceReceiver(channel, pace->pace, &pace->next));
      return paced_receivers.back().get();
    }

    std::vector<std::unique_ptr<MessageSender>> paced_senders;
    std::vector<std::unique_ptr<MessageReceiver>> paced_receivers;
    WatchedSender sender;
    WatchedReceiver receiver;
    WatchedSender direct_sender;
    WatchedReceiver direct_receiver;
    std::optional<LaneSender> lane;  // empty where there are none
    SentCounter lane_sent;           // by it
    SentCounter lane_told;           // what the watcher has been told of
  };

  void TellOfLanes() {
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      Ends& each = ends(peer);
      const SentCounter before = std::exchange(each.lane_told, each.lane_sent);
      if (before == each.lane_sent) continue;
      teller_.Tell(Kind::kLaneSent, peer, each.lane_sent.bytes - before.bytes, false);
    }
  }

  Ends& ends(int peer) const { return *ends_[static_cast<std::size_t>(peer)]; }

  const Teller teller_;
  const std::unique_ptr<Links> inner_;
  const std::shared_ptr<PacedLink> pace_;    // null: none
  std::vector<std::unique_ptr<Ends>> ends_;  // by peer, empty at this rank
};

}  // namespace

std::unique_ptr<Links> WatchLinks(std::unique_ptr<Links> inner,
                                  std::shared_ptr<const TransportWatcher> watcher,
                                  std::uint64_t serial, std::shared_ptr<PacedLink> pace) {
  return std::make_unique<WatchedLinks>(std::move(inner), std::move(watcher), serial,
                                        std::move(pace));
}

}  // namespace chorus
