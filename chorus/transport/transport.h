// Transport: how the bytes of one rank reach the others. Start here.
//
//   memory      Allocate, Register -> Region; its RegionKey is plain data that may be sent to peers
//   one-sided   Map(key) -> pointer where possible; Put with a signal; Get
//   messages    Connect -> Links: per group and ordered pair of ranks one channel of messages
//   waiting     Poll, then Arm, look once more, Wait
//   failures    peer_state, failures
//   counters    every byte is counted where it is copied
//
// Upper rooms ask capabilities(peer) and never which transport it is. No call blocks but Wait.
// Ranks here are world ranks: positions among all ranks that joined; groups map theirs to them.
//
// Thread safety: peer_state, failures, Arm and Wait from any thread; the rest by one thread at a
// time. Lifetime: Links and Regions must be gone before their Transport is.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/transport/links.h"

namespace chorus {

// What is possible towards one peer.
struct Capabilities {
  bool map_allocated = false;   // Map works for memory that the peer got from Allocate
  bool map_registered = false;  // Map works for any memory that the peer registered
  bool put_get = false;         // Put and Get work for regions that can be mapped
  bool read_in_place =
      false;  // MessageReceiver::Readable is the sender's copy, no further one made
  std::int64_t inline_bytes = 0;  // payloads up to this travel with their header in one line

  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

// Names memory of rank `owner` to other ranks.
struct RegionKey {
  std::int32_t owner = -1;
  std::uint64_t address = 0;  // meaningful to the transport only
  std::int64_t bytes = 0;

  friend bool operator==(const RegionKey&, const RegionKey&) = default;
};

// Memory of this rank that peers may be given a key of. Not an owner: see Release.
struct Region {
  std::byte* data = nullptr;
  RegionKey key;
};

// A 64-bit counter in a peer's region, to which a Put adds when its bytes are in place.
struct Signal {
  RegionKey region;
  std::int64_t offset = 0;  // bytes; a multiple of 8
  std::uint64_t add = 1;
};

enum class PeerState : std::uint8_t {
  kPresent,
  kLeft,  // said goodbye: what it sent before is complete
  kLost,  // its process ended without
};

class Transport {
 public:
  using Clock = std::chrono::steady_clock;
  // The state of the doorbell when Arm was called.
  using Ticket = std::uint32_t;

  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string_view name() const = 0;  // "thread", "shm"
  virtual Capabilities capabilities(int peer) const = 0;

  // Zeroed memory on a page boundary that peers can map, reserved now so that touching it later
  // cannot fail. kResourceExhausted says how much was asked for. REQUIRES: bytes > 0.
  virtual Result<Region> Allocate(std::int64_t bytes) = 0;
  // Makes existing memory known. kUnsupported if peers could not reach it: on shm, memory that is
  // not within a region from Allocate.
  virtual Result<Region> Register(void* data, std::int64_t bytes) = 0;
  // The key of memory of this rank that peers can map as it is, at any place within it; empty if
  // they cannot. Fast enough for every call.
  virtual std::optional<RegionKey> Locate(const void* data, std::int64_t bytes) const = 0;
  // Has this rank's view of the region ready, so that no page is missing at its first use. Of an
  // own region or a peer's. Never fails: what cannot be prepared is slower at first.
  virtual void Prefault(const RegionKey& key) = 0;
  // Gives back what Allocate or Register returned. REQUIRES: no peer uses the key any more.
  virtual void Release(const Region& region) = 0;

  // Where the memory of `key` is for this rank. Valid until the owner releases it.
  virtual Result<std::byte*> Map(const RegionKey& key) = 0;

  // Whether this rank may read memory of `peer` that it cannot map: a real read was tried once.
  virtual bool CanRead(int peer) = 0;
  // `bytes` at `address` of the process of `peer` to `dst`. kUnsupported with the kernel's reason
  // if it will not; kPeerLost if the process has ended. REQUIRES: CanRead; the peer leaves its
  // memory as it is meanwhile.
  virtual Status Read(int peer, std::uint64_t address, void* dst, std::int64_t bytes) = 0;

  // Copies to byte `offset` of `dst` and then, if given, adds to the signal: whoever sees the sum
  // (LoadSignal) sees the bytes. kInvalidArgument if outside the region.
  virtual Status Put(const void* src, std::int64_t bytes, const RegionKey& dst, std::int64_t offset,
                     const std::optional<Signal>& signal) = 0;
  virtual Status Get(const RegionKey& src, std::int64_t offset, void* dst, std::int64_t bytes) = 0;
  // The counter at byte `offset` of an own region.
  virtual std::uint64_t LoadSignal(const Region& region, std::int64_t offset) const = 0;

  // The mailbox of this rank for one group of `members` ranks: memory into which they will write.
  // Its key goes to the other members before any of them calls Connect.
  virtual Result<Region> AllocateInbox(int members, std::int64_t channel_bytes) = 0;
  // The channels of one group. members[i]: world rank of group rank i; inboxes[i]: its key;
  // inbox: this rank's own, which the Links take over. All members pass the same channel_bytes.
  virtual Result<std::unique_ptr<Links>> Connect(const std::vector<int>& members, int group_rank,
                                                 const Region& inbox,
                                                 const std::vector<RegionKey>& inboxes,
                                                 std::int64_t channel_bytes) = 0;

  // How many cores the ranks of this host may run on, all together. Fewer than ranks: whoever
  // waits must let others run. REQUIRES: all peers are known.
  virtual int cores() const = 0;

  // Moves what the transport itself has under way; a rank that computes for long should call it.
  // Returns true if anything moved. Nothing on shared memory.
  virtual bool Poll() = 0;
  // To sleep without missing anything: ticket = Arm(); look for work once more; Wait(ticket).
  // Every Arm needs one Wait or Disarm.
  virtual Ticket Arm() = 0;
  // Returns when a peer has rung since Arm, at `deadline`, or earlier for no reason. Disarms.
  virtual void Wait(Ticket ticket, Clock::time_point deadline) = 0;
  virtual void Disarm() = 0;

  virtual PeerState peer_state(int peer) const = 0;
  // How many peers have been lost so far; rises before a Wait that slept through it returns.
  virtual std::uint32_t failures() const = 0;

  // What was moved by Put and Get. Messages are counted by their Links.
  virtual SentCounter one_sided() const = 0;
};

}  // namespace chorus
