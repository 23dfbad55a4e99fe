// SharedTransport: what all transports over memory that the ranks share have in common. A concrete
// one says how memory is made and mapped, and who is alive.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "chorus/transport/control.h"
#include "chorus/transport/fork_guard.h"
#include "chorus/transport/transport.h"

namespace chorus {

class SharedTransport : public Transport {
 public:
  int rank() const final { return rank_; }
  int size() const final { return size_; }

  Status Put(const void* src, std::int64_t bytes, const RegionKey& dst, std::int64_t offset,
             const std::optional<Signal>& signal) final;
  Status Get(const RegionKey& src, std::int64_t offset, void* dst, std::int64_t bytes) final;
  std::uint64_t LoadSignal(const Region& region, std::int64_t offset) const final;

  Result<Region> AllocateInbox(int members, std::int64_t channel_bytes) final;
  Result<std::unique_ptr<Links>> Connect(const std::vector<int>& members, int group_rank,
                                         const Region& inbox, const std::vector<RegionKey>& inboxes,
                                         std::int64_t channel_bytes) final;

  int cores() const final;
  bool Poll() final { return false; }
  Ticket Arm() final;
  void Wait(Ticket ticket, Clock::time_point deadline) final {
    control(rank_).bell.Wait(ticket, deadline);
  }
  void Disarm() final { control(rank_).bell.Disarm(); }
  SentCounter one_sided() const final { return one_sided_; }

 protected:
  SharedTransport(int rank, int size) : rank_(rank), size_(size) {}
  // How a peer's control block is reached; valid as long as the transport.
  virtual ControlBlock& control(int peer) const = 0;
  // Shows the peers on which cores this rank may run and how it sleeps. Once, before they look.
  void ShowItself();
  // Tells all peers that this rank has left. Not in the child of a fork.
  void SayGoodbye();
  bool InForkedChild() const { return fork_guard_.InChild(); }

 private:
  struct Retired {
    Region inbox;
    std::vector<int> members;  // world ranks
    int rank;                  // of this one in the group
  };

  Result<std::byte*> MapRange(const RegionKey& key, std::int64_t offset, std::int64_t bytes);
  // Releases inboxes of groups left by this rank, once every other member has departed too,
  // or its process has ended.
  void SweepRetired();

  const int rank_;
  const int size_;
  const ForkGuard fork_guard_;
  SentCounter one_sided_;
  // Shared with the Links, which retire their inbox when they end.
  const std::shared_ptr<std::vector<Retired>> retired_ = std::make_shared<std::vector<Retired>>();
};

}  // namespace chorus
