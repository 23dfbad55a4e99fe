#include "chorus/launch/meeting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "chorus/base/fnv.h"
#include "chorus/launch/packet.h"

namespace chorus {
namespace {

using Clock = std::chrono::steady_clock;

// How much longer than rank 0 the others wait, so that its word on who is missing reaches them.
constexpr std::chrono::milliseconds kGrace{2000};

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
};

Address AddressOf(int port) {
  const std::string text = fmt::format("chorus-{}-{}", getuid(), port);
  Address address;
  address.name.sun_family = AF_UNIX;
  // A leading 0 makes the name abstract.
  std::memcpy(address.name.sun_path + 1, text.data(), text.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return address;
}

// Of a descriptor that could not be had; `error` is the errno of it.
Status NoDescriptor(int error) {
  return ResourceExhausted(fmt::format(
      "no socket to join by: {}; rank 0 has one for each rank while they join (`ulimit -n`)",
      std::strerror(error)));  // NOLINT
}

Status CheckUser(int socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return Internal(fmt::format("SO_PEERCRED: {}", std::strerror(errno)));  // NOLINT
  }
  if (peer.uid == getuid()) return OkStatus();
  return InvalidArgument(fmt::format("process {} of user {} tried to join a job of user {}",
                                     peer.pid, peer.uid, getuid()));
}

// Of the job's name; 0 for none.
std::uint64_t HashOf(const std::string& job) {
  return job.empty() ? 0 : std::max<std::uint64_t>(Fnv1a(job), 1);
}

Packet HelloPacket(int rank, const JobPlace& place, const ShmHelloData& data) {
  Packet packet;
  packet.rank = rank;
  packet.size = place.size;
  packet.job = HashOf(place.job);
  packet.hello = data;
  return packet;
}

Status GivenUp(int rank) {
  return Status(StatusCode::kAborted, fmt::format("rank {} gave up joining", rank));
}

// Rank 0's side.
class Host {
 public:
  Host(const JobPlace& place, std::chrono::milliseconds timeout, MeetingProgress& progress)
      : place_(place),
        timeout_(timeout),
        progress_(progress),
        deadline_(Clock::now() + timeout),
        sockets_(static_cast<std::size_t>(place.size)),
        hellos_(static_cast<std::size_t>(place.size)) {}

  Result<std::vector<ShmHello>> Run(const ShmHello& mine) {
    const Address address = AddressOf(place_.port);
    Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (listener.get() < 0) return NoDescriptor(errno);
    if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.name), address.length) !=
        0) {
      return InvalidArgument(fmt::format(
          "port {}: another job of this user is meeting there on this host just now ({}); choose "
          "another MASTER_PORT",
          place_.port, std::strerror(errno)));  // NOLINT
    }
    listen(listener.get(), place_.size);
    for (;;) {
      const std::vector<int> missing = Missing();
      progress_.SetMissing(missing);
      if (missing.empty()) break;
      const Status status = Admit(listener.get());
      if (!status.ok()) return TellAll(status);
    }
    for (int to = 1; to < place_.size; ++to) {
      for (int from = 0; from < place_.size; ++from) {
        if (from == to) continue;
        const ShmHello& hello = from == 0 ? mine : hellos_[static_cast<std::size_t>(from)];
        const Status sent =
            SendPacket(sockets_[static_cast<std::size_t>(to)].get(),
                       HelloPacket(from, place_, hello.data), hello.arena.get(), hello.pidfd.get());
        if (!sent.ok()) return TellAll(sent.WithContext(fmt::format("rank {}", to)));
      }
    }
    return std::move(hellos_);
  }

 private:
  // Takes in one who comes. Ok too if it goes away at once.
  Status Admit(int listener) {
    if (!WaitReadable(listener, deadline_, &progress_.given_up())) return Late();
    Descriptor socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.get() < 0) return errno == ECONNABORTED ? OkStatus() : NoDescriptor(errno);
    CHORUS_RETURN_IF_ERROR(CheckUser(socket.get()));
    Result<ReceivedPacket> received = ReceivePacket(socket.get(), deadline_, &progress_.given_up());
    if (received.status().code() == StatusCode::kPeerLost) return OkStatus();
    if (received.status().code() == StatusCode::kDeadlineExceeded) return Late();
    CHORUS_RETURN_IF_ERROR(received.status());
    const Packet& packet = received->packet;
    Descriptor unseated = std::move(socket);
    Status status;
    const std::uint64_t job = HashOf(place_.job);
    if (packet.job != job && packet.job != 0 && job != 0) {
      // A stranger is sent away, and the job goes on waiting for its own.
      Tell(unseated.get(),
           InvalidArgument(fmt::format("rank {}: another job (CHORUS_JOB={}) meets at port {} of "
                                       "this host; choose another MASTER_PORT",
                                       packet.rank, place_.job, place_.port)));
      return OkStatus();
    }
    if (packet.size != place_.size) {
      status = InvalidArgument(fmt::format("rank 0 joins with WORLD_SIZE {}, rank {} with {}",
                                           place_.size, packet.rank, packet.size));
    } else if (packet.rank < 1 || packet.rank >= place_.size || HasCome(packet.rank)) {
      status = InvalidArgument(
          fmt::format("two processes of the job at port {} say that they are rank {}", place_.port,
                      packet.rank));
    }
    if (!status.ok()) {
      Tell(unseated.get(), status);
      return status;
    }
    const auto at = static_cast<std::size_t>(packet.rank);
    sockets_[at] = std::move(unseated);
    hellos_[at].data = packet.hello;
    hellos_[at].arena = std::move(received->arena);
    hellos_[at].pidfd = std::move(received->pidfd);
    return OkStatus();
  }

  bool HasCome(int rank) {
    const Descriptor& socket = sockets_[static_cast<std::size_t>(rank)];
    return socket.valid() && !HasHungUp(socket.get());
  }

  // Who has not come, or has gone again.
  std::vector<int> Missing() {
    std::vector<int> missing;
    for (int rank = 1; rank < place_.size; ++rank) {
      Descriptor& socket = sockets_[static_cast<std::size_t>(rank)];
      if (socket.valid() && HasHungUp(socket.get())) socket = Descriptor();
      if (!socket.valid()) missing.push_back(rank);
    }
    return missing;
  }

  Status Late() {
    if (progress_.given_up()) return GivenUp(0);
    const std::vector<int> missing = Missing();
    return Status(StatusCode::kDeadlineExceeded,
                  fmt::format("joining at port {}: rank{} {} of {} did not come within {} ms",
                              place_.port, missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
                              place_.size, timeout_.count()));
  }

  static void Tell(int socket, const Status& status) {
    Packet packet;
    packet.kind = Packet::Kind::kError;
    packet.error_code = static_cast<std::int32_t>(status.code());
    const std::size_t length = std::min(status.message().size(), packet.text.size() - 1);
    std::memcpy(packet.text.data(), status.message().data(), length);
    // Who has gone meanwhile need not be told.
    static_cast<void>(SendPacket(socket, packet));
  }

  Status TellAll(const Status& status) {
    for (const Descriptor& socket : sockets_) {
      if (socket.valid()) Tell(socket.get(), status);
    }
    return status;
  }

  const JobPlace place_;
  const std::chrono::milliseconds timeout_;
  MeetingProgress& progress_;
  const Clock::time_point deadline_;
  std::vector<Descriptor> sockets_;  // by rank, of those who have come
  std::vector<ShmHello> hellos_;
};

Result<Descriptor> Connect(const JobPlace& place, std::chrono::milliseconds timeout,
                           const MeetingProgress& progress) {
  const Address address = AddressOf(place.port);
  const Clock::time_point deadline = Clock::now() + timeout;
  for (std::chrono::milliseconds pause{1};;
       pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
    Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) return NoDescriptor(errno);
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.name), address.length) ==
        0) {
      return socket;
    }
    if (progress.given_up()) return GivenUp(place.rank);
    if (Clock::now() >= deadline) {
      return Status(
          StatusCode::kDeadlineExceeded,
          fmt::format("rank {}: rank 0 did not come to port {} of this host within {} ms; "
                      "is MASTER_PORT the same for all ranks?",
                      place.rank, place.port, timeout.count()));
    }
    std::this_thread::sleep_for(pause);
  }
}

Result<std::vector<ShmHello>> Visit(const JobPlace& place, const ShmHello& mine,
                                    std::chrono::milliseconds timeout, MeetingProgress& progress) {
  progress.SetMissing({0});
  CHORUS_ASSIGN_OR_RETURN(const Descriptor socket, Connect(place, timeout, progress));
  CHORUS_RETURN_IF_ERROR(CheckUser(socket.get()));
  CHORUS_RETURN_IF_ERROR(SendPacket(socket.get(), HelloPacket(place.rank, place, mine.data),
                                    mine.arena.get(), mine.pidfd.get()));
  const Clock::time_point deadline = Clock::now() + timeout + kGrace;
  std::vector<ShmHello> hellos(static_cast<std::size_t>(place.size));
  for (int left = place.size - 1; left > 0; --left) {
    Result<ReceivedPacket> received = ReceivePacket(socket.get(), deadline, &progress.given_up());
    if (!received.ok()) {
      if (progress.given_up()) return GivenUp(place.rank);
      return received.status().WithContext(
          fmt::format("rank {} waits for rank 0 at port {}", place.rank, place.port));
    }
    const Packet& packet = received->packet;
    if (packet.kind == Packet::Kind::kError) {
      return Status(static_cast<StatusCode>(packet.error_code), packet.text.data());
    }
    if (packet.rank < 0 || packet.rank >= place.size) return Internal("a hello of no rank came");
    ShmHello& hello = hellos[static_cast<std::size_t>(packet.rank)];
    hello.data = packet.hello;
    hello.arena = std::move(received->arena);
    hello.pidfd = std::move(received->pidfd);
  }
  progress.SetMissing({});
  return hellos;
}

}  // namespace

std::optional<std::vector<int>> MeetingProgress::missing() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return missing_;
}

void MeetingProgress::SetMissing(std::vector<int> ranks) {
  const std::lock_guard<std::mutex> lock(mutex_);
  missing_ = std::move(ranks);
}

Result<std::vector<ShmHello>> Meet(const JobPlace& place, const ShmHello& mine,
                                   std::chrono::milliseconds timeout, MeetingProgress* progress) {
  if (place.size == 1) return std::vector<ShmHello>(1);
  MeetingProgress unseen;
  MeetingProgress& shown = progress != nullptr ? *progress : unseen;
  return place.rank == 0 ? Host(place, timeout, shown).Run(mine)
                         : Visit(place, mine, timeout, shown);
}

}  // namespace chorus
