// Packets with descriptors over a Unix socket: what a meeting speaks.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "chorus/base/status.h"
#include "chorus/transport/shm/arena.h"
#include "chorus/transport/shm/shm_transport.h"

namespace chorus {

struct Packet {
  enum class Kind : std::uint32_t { kHello, kError };

  std::uint64_t magic = 0x3130737572'6f6863;  // "chorus01", little-endian
  Kind kind = Kind::kHello;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::int32_t error_code = 0;   // kError
  std::uint64_t job = 0;         // kHello: a hash of the job's name; 0: fits any
  ShmHelloData hello;            // kHello
  std::array<char, 512> text{};  // kError, ends with 0
};

// Sends a packet; for kHello with the two descriptors, which stay the caller's.
Status SendPacket(int socket, const Packet& packet, int arena, int pidfd);
inline Status SendPacket(int socket, const Packet& packet) {
  return SendPacket(socket, packet, -1, -1);
}

struct ReceivedPacket {
  Packet packet;
  Descriptor arena;
  Descriptor pidfd;
};

// Waits for a packet until `deadline`. kDeadlineExceeded when none came, kPeerLost when the other
// side hung up, kInvalidArgument when it speaks something else. `given_up` as of WaitReadable.
Result<ReceivedPacket> ReceivePacket(int socket, std::chrono::steady_clock::time_point deadline,
                                     const std::atomic<bool>* given_up = nullptr);

// Waits until `socket` can be read (or accepted from): true, or false at `deadline`, or soon after
// `given_up`, if not null, has become true.
bool WaitReadable(int socket, std::chrono::steady_clock::time_point deadline,
                  const std::atomic<bool>* given_up = nullptr);

// Whether the other side has hung up, or has sent what nobody asked for. Never waits.
bool HasHungUp(int socket);

}  // namespace chorus
