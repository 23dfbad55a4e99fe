#include "chorus/transport/watched/watched_transport.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "chorus/transport/watched/watched_links.h"

namespace chorus {
namespace {

class WatchedTransport final : public Transport {
 public:
  WatchedTransport(std::unique_ptr<Transport> inner, TransportWatcher watcher,
                   std::shared_ptr<PacedLink> pace)
      : inner_(std::move(inner)),
        watcher_(std::make_shared<const TransportWatcher>(std::move(watcher))),
        pace_(std::move(pace)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::string_view name() const override { return inner_->name(); }
  Capabilities capabilities(int peer) const override {
    return pace_ == nullptr ? inner_->capabilities(peer) : Capabilities();
  }

  Result<Region> Allocate(std::int64_t bytes) override { return inner_->Allocate(bytes); }
  Result<Region> Register(void* data, std::int64_t bytes) override {
    return inner_->Register(data, bytes);
  }
  std::optional<RegionKey> Locate(const void* data, std::int64_t bytes) const override {
    return pace_ == nullptr ? inner_->Locate(data, bytes) : std::nullopt;
  }
  void Prefault(const RegionKey& key) override { inner_->Prefault(key); }
  void Release(const Region& region) override { inner_->Release(region); }
  Result<std::byte*> Map(const RegionKey& key) override {
    Tell(Kind::kMap, key.owner, 0);
    return inner_->Map(key);
  }

  bool CanRead(int peer) override { return pace_ == nullptr && inner_->CanRead(peer); }
  Status Read(int peer, std::uint64_t address, void* dst, std::int64_t bytes) override {
    Tell(Kind::kRead, peer, bytes);
    return inner_->Read(peer, address, dst, bytes);
  }

  Status Put(const void* src, std::int64_t bytes, const RegionKey& dst, std::int64_t offset,
             const std::optional<Signal>& signal) override {
    Tell(Kind::kPut, dst.owner, bytes);
    return inner_->Put(src, bytes, dst, offset, signal);
  }
  Status Get(const RegionKey& src, std::int64_t offset, void* dst, std::int64_t bytes) override {
    Tell(Kind::kGet, src.owner, bytes);
    return inner_->Get(src, offset, dst, bytes);
  }
  std::uint64_t LoadSignal(const Region& region, std::int64_t offset) const override {
    return inner_->LoadSignal(region, offset);
  }

  Result<Region> AllocateInbox(int members, std::int64_t channel_bytes) override {
    return inner_->AllocateInbox(members, channel_bytes);
  }
  Result<std::unique_ptr<Links>> Connect(const std::vector<int>& members, int group_rank,
                                         const Region& inbox, const std::vector<RegionKey>& inboxes,
                                         std::int64_t channel_bytes) override {
    CHORUS_ASSIGN_OR_RETURN(std::unique_ptr<Links> links,
                            inner_->Connect(members, group_rank, inbox, inboxes, channel_bytes));
    return WatchLinks(std::move(links), watcher_, ++groups_, pace_);
  }

  int cores() const override { return inner_->cores(); }
  bool Poll() override { return inner_->Poll(); }
  Ticket Arm() override { return inner_->Arm(); }
  void Wait(Ticket ticket, Clock::time_point deadline) override {
    if (pace_ != nullptr) deadline = std::min(deadline, pace_->next.Take());
    inner_->Wait(ticket, deadline);
  }
  void Disarm() override { inner_->Disarm(); }
  PeerState peer_state(int peer) const override { return inner_->peer_state(peer); }
  std::uint32_t failures() const override { return inner_->failures(); }
  SentCounter one_sided() const override { return inner_->one_sided(); }

 private:
  using Kind = TransportPoint::Kind;

  void Tell(Kind kind, int peer, std::int64_t bytes) const {
    TransportPoint point;
    point.kind = kind;
    point.peer = peer;
    point.bytes = bytes;
    (*watcher_)(point);
  }

  const std::unique_ptr<Transport> inner_;
  const std::shared_ptr<const TransportWatcher> watcher_;
  const std::shared_ptr<PacedLink> pace_;  // null: none
  std::uint64_t groups_ = 0;
};

}  // namespace

std::unique_ptr<Transport> WatchTransport(std::unique_ptr<Transport> inner,
                                          TransportWatcher watcher) {
  return std::make_unique<WatchedTransport>(std::move(inner), std::move(watcher), nullptr);
}

std::unique_ptr<Transport> PaceTransport(std::unique_ptr<Transport> inner, const LinkPace& pace) {
  auto link = std::make_shared<PacedLink>();
  link->pace = pace;
  return std::make_unique<WatchedTransport>(
      std::move(inner), [](const TransportPoint&) {}, std::move(link));
}

}  // namespace chorus
