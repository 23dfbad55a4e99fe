// The transport between processes of one host, over shared memory.
//
// Joining has two steps, with an exchange of any kind between them (chorus/launch does it):
//
//   rank r: Open(r, n) -> Hello() -------> every peer: Attach(all hellos)
//
// A hello is plain bytes and two descriptors, the rank's arena and a pidfd of its process. Peers
// that see the token of the hello in the arena share memory with the rank for certain.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/transport/shared_transport.h"
#include "chorus/transport/shm/arena.h"
#include "chorus/transport/shm/death_watch.h"
#include "chorus/transport/shm/process_memory.h"

namespace chorus {

// What one rank tells the others about itself. Descriptors apart, plain data that is sent as bytes.
struct ShmHelloData {
  std::uint64_t token = 0;
  RegionKey world_inbox;
  std::int64_t channel_bytes = 0;
};

struct ShmHello {
  ShmHelloData data;
  Descriptor arena;
  Descriptor pidfd;
};

class ShmTransport final : public SharedTransport {
 public:
  // Addresses that one rank can give out in all. Only what is allocated takes memory.
  static constexpr std::int64_t kArenaBytes = std::int64_t{64} << 30;

  // This rank's side, with its inbox for the group of all n ranks. Channels of that group hold
  // channel_bytes. REQUIRES: 0 <= rank < n; channel_bytes a multiple of 64, at least 256.
  static Result<std::unique_ptr<ShmTransport>> Open(int rank, int n, std::int64_t channel_bytes);
  ~ShmTransport() override;
  ShmTransport(const ShmTransport&) = delete;
  ShmTransport& operator=(const ShmTransport&) = delete;

  // For the peers; the descriptors are duplicates.
  Result<ShmHello> Hello() const;
  // Maps the peers: hellos[i] is rank i's, this rank's own is ignored. Only Hello may be called
  // before. Errors: a token that does not match, channel_bytes that differ, no addresses left.
  Status Attach(std::vector<ShmHello> hellos);
  // The channels of the group of all ranks, by `through` if this transport was wrapped in it.
  // REQUIRES: attached; called once.
  Result<std::unique_ptr<Links>> ConnectWorld() { return ConnectWorld(*this); }
  Result<std::unique_ptr<Links>> ConnectWorld(Transport& through);

  std::string_view name() const override { return "shm"; }
  Capabilities capabilities(int peer) const override;
  Result<Region> Allocate(std::int64_t bytes) override;
  Result<Region> Register(void* data, std::int64_t bytes) override;
  std::optional<RegionKey> Locate(const void* data, std::int64_t bytes) const override;
  void Prefault(const RegionKey& key) override;
  void Release(const Region& region) override { arena_.Free(region.data); }
  Result<std::byte*> Map(const RegionKey& key) override;
  bool CanRead(int peer) override;
  Status Read(int peer, std::uint64_t address, void* dst, std::int64_t bytes) override;
  PeerState peer_state(int peer) const override;
  std::uint32_t failures() const override { return failures_.load(std::memory_order_acquire); }

 private:
  ShmTransport(int rank, int size, std::int64_t channel_bytes, Arena arena);
  std::byte* base(int peer) const {
    return peer == rank() ? arena_.base() : peers_[static_cast<std::size_t>(peer)].data();
  }
  // An arena begins with the control block of its rank.
  ControlBlock& control(int peer) const override {
    return *reinterpret_cast<ControlBlock*>(base(peer));
  }

  const std::int64_t channel_bytes_;
  Arena arena_;
  Region world_inbox_;
  std::vector<RegionKey> world_inboxes_;  // by rank, once attached
  std::vector<Mapping> peers_;            // by rank, empty at this one
  std::vector<ProcessMemory> memories_;   // by rank, once attached
  std::atomic<std::uint32_t> failures_{0};
  std::optional<DeathWatch> watch_;  // once attached; last, for its thread uses what is above
};

}  // namespace chorus
