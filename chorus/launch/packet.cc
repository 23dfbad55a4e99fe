#include "chorus/launch/packet.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace chorus {
namespace {

constexpr std::size_t kDescriptors = 2;

// How soon after it is given up a wait ends, in milliseconds; and how long one can be at all.
constexpr std::int64_t kLook = 20;
constexpr std::int64_t kLongestPoll = 60'000;

// Room for the control message that carries the descriptors.
union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int) * kDescriptors)];
};

}  // namespace

Status SendPacket(int socket, const Packet& packet, int arena, int pidfd) {
  iovec data{const_cast<Packet*>(&packet), sizeof(packet)};  // sendmsg only reads
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  Control control{};
  if (arena >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int) * kDescriptors);
    const int descriptors[kDescriptors] = {arena, pidfd};
    std::memcpy(CMSG_DATA(&control.header), descriptors, sizeof(descriptors));
  }
  if (sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(packet))) {
    return OkStatus();
  }
  return Status(StatusCode::kPeerLost,
                fmt::format("a rank hung up while joining: {}", std::strerror(errno)));  // NOLINT
}

bool WaitReadable(int socket, std::chrono::steady_clock::time_point deadline,
                  const std::atomic<bool>* given_up) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd entry{socket, POLLIN, 0};
    const auto wait =
        std::clamp<std::int64_t>(left.count(), 0, given_up != nullptr ? kLook : kLongestPoll);
    const int ready = poll(&entry, 1, static_cast<int>(wait));
    if (ready > 0) return true;
    if (left.count() <= 0 || (given_up != nullptr && given_up->load())) return false;
  }
}

bool HasHungUp(int socket) {
  pollfd entry{socket, POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

Result<ReceivedPacket> ReceivePacket(int socket, std::chrono::steady_clock::time_point deadline,
                                     const std::atomic<bool>* given_up) {
  if (!WaitReadable(socket, deadline, given_up)) {
    return Status(StatusCode::kDeadlineExceeded, "nothing came in time");
  }
  ReceivedPacket received;
  iovec data{&received.packet, sizeof(received.packet)};
  msghdr message{};
  Control control{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  const ssize_t size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (size <= 0) return Status(StatusCode::kPeerLost, "a rank hung up while joining");
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return ResourceExhausted(
        "this process may not have all the descriptors that joining needs (`ulimit -n`)");
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int) * kDescriptors)) {
    int descriptors[kDescriptors];
    std::memcpy(descriptors, CMSG_DATA(header), sizeof(descriptors));
    received.arena = Descriptor(descriptors[0]);
    received.pidfd = Descriptor(descriptors[1]);
  }
  if (size != static_cast<ssize_t>(sizeof(Packet)) || received.packet.magic != Packet().magic) {
    return InvalidArgument("something that is no rank of this version of Chorus tried to join");
  }
  received.packet.text.back() = 0;
  return received;
}

}  // namespace chorus
