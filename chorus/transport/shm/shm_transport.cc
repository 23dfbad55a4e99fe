#include "chorus/transport/shm/shm_transport.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "chorus/transport/ring.h"

namespace chorus {
namespace {

std::string ErrorText() { return std::strerror(errno); }  // NOLINT: glibc's is thread-safe

std::uint64_t RandomToken() {
  std::uint64_t token = 0;
  while (getrandom(&token, sizeof(token), 0) != sizeof(token)) {
  }
  return token;
}

}  // namespace

ShmTransport::ShmTransport(int rank, int size, std::int64_t channel_bytes, Arena arena)
    : SharedTransport(rank, size),
      channel_bytes_(channel_bytes),
      arena_(std::move(arena)),
      peers_(static_cast<std::size_t>(size)) {}

Result<std::unique_ptr<ShmTransport>> ShmTransport::Open(int rank, int n,
                                                         std::int64_t channel_bytes) {
  CHORUS_ASSIGN_OR_RETURN(Arena arena, Arena::Create(kArenaBytes));
  // The first allocation is the beginning of the arena.
  CHORUS_ASSIGN_OR_RETURN(std::byte * first, arena.Allocate(sizeof(ControlBlock)));
  auto* control = new (first) ControlBlock;
  control->token.store(RandomToken(), std::memory_order_seq_cst);
  control->token_address = reinterpret_cast<std::uint64_t>(&control->token);
  std::unique_ptr<ShmTransport> transport(
      new ShmTransport(rank, n, channel_bytes, std::move(arena)));
  transport->ShowItself();
  CHORUS_ASSIGN_OR_RETURN(transport->world_inbox_, transport->AllocateInbox(n, channel_bytes));
  return transport;
}

ShmTransport::~ShmTransport() {
  if (watch_.has_value()) SayGoodbye();
}

Result<ShmHello> ShmTransport::Hello() const {
  ShmHello hello;
  hello.data = {control(rank()).token.load(std::memory_order_seq_cst), world_inbox_.key,
                channel_bytes_};
  hello.arena = Descriptor(fcntl(arena_.fd(), F_DUPFD_CLOEXEC, 0));
  // glibc has no pidfd_open before 2.36.
  hello.pidfd = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (!hello.arena.valid() || !hello.pidfd.valid()) {
    return ResourceExhausted(
        fmt::format("rank {}: a descriptor for its peers: {}", rank(), ErrorText()));
  }
  return hello;
}

Status ShmTransport::Attach(std::vector<ShmHello> hellos) {
  std::vector<Descriptor> pidfds;
  for (int peer = 0; peer < size(); ++peer) {
    ShmHello& hello = hellos[static_cast<std::size_t>(peer)];
    if (peer == rank()) {
      world_inboxes_.push_back(world_inbox_.key);
      pidfds.emplace_back();
      memories_.emplace_back();
      continue;
    }
    if (hello.data.channel_bytes != channel_bytes_) {
      return Status(StatusCode::kMismatch,
                    fmt::format("channel_bytes: rank {} joins with {}, rank {} with {}", rank(),
                                channel_bytes_, peer, hello.data.channel_bytes));
    }
    CHORUS_ASSIGN_OR_RETURN(peers_[static_cast<std::size_t>(peer)], Mapping::Of(hello.arena.get()));
    if (control(peer).token.load(std::memory_order_seq_cst) != hello.data.token) {
      return Internal(fmt::format("rank {} and rank {} do not share memory", rank(), peer));
    }
    world_inboxes_.push_back(hello.data.world_inbox);
    memories_.push_back(ProcessMemory::Of(hello.pidfd.get()));
    pidfds.push_back(std::move(hello.pidfd));
  }
  watch_.emplace(std::move(pidfds), [this](int peer) {
    if (control(peer).left.load(std::memory_order_seq_cst) != 0) return;
    failures_.fetch_add(1, std::memory_order_release);
    control(rank()).bell.WakeAll();
  });
  return OkStatus();
}

Result<std::unique_ptr<Links>> ShmTransport::ConnectWorld(Transport& through) {
  std::vector<int> members(static_cast<std::size_t>(size()));
  std::iota(members.begin(), members.end(), 0);
  return through.Connect(members, rank(), world_inbox_, world_inboxes_, channel_bytes_);
}

Capabilities ShmTransport::capabilities(int peer) const {
  return {true, peer == rank(), true, true, kInlineBytes};
}

bool ShmTransport::CanRead(int peer) {
  const ControlBlock& theirs = control(peer);
  return memories_[static_cast<std::size_t>(peer)].Holds(
      theirs.token_address, theirs.token.load(std::memory_order_relaxed));
}

Status ShmTransport::Read(int peer, std::uint64_t address, void* dst, std::int64_t bytes) {
  Status status = memories_[static_cast<std::size_t>(peer)].Read(address, dst, bytes);
  if (status.ok()) return status;  // without a text that nobody needs
  return status.WithContext(fmt::format("rank {} reads memory of rank {}", rank(), peer));
}

Result<Region> ShmTransport::Allocate(std::int64_t bytes) {
  CHORUS_ASSIGN_OR_RETURN(std::byte * data, arena_.Allocate(bytes));
  return Register(data, bytes);
}

Result<Region> ShmTransport::Register(void* data, std::int64_t bytes) {
  const std::optional<RegionKey> key = Locate(data, bytes);
  if (key.has_value()) return Region{static_cast<std::byte*>(data), *key};
  return Unsupported(
      fmt::format("{} bytes of ordinary memory of rank {} cannot be seen by other "
                  "processes; memory from Allocate can",
                  bytes, rank()));
}

std::optional<RegionKey> ShmTransport::Locate(const void* data, std::int64_t bytes) const {
  if (!arena_.Contains(data, bytes)) return std::nullopt;
  const auto offset = static_cast<const std::byte*>(data) - arena_.base();
  return RegionKey{rank(), static_cast<std::uint64_t>(offset), bytes};
}

void ShmTransport::Prefault(const RegionKey& key) {
  const Result<std::byte*> data = Map(key);
  if (data.ok()) PrefaultPages(*data, key.bytes);
}

Result<std::byte*> ShmTransport::Map(const RegionKey& key) {
  const std::int64_t limit = arena_.bytes();  // the same on every rank
  if (key.owner < 0 || key.owner >= size() || key.bytes < 0 || key.bytes > limit ||
      key.address > static_cast<std::uint64_t>(limit - key.bytes)) {
    return InvalidArgument(fmt::format("there is no region of {} bytes at {} of rank {}", key.bytes,
                                       key.address, key.owner));
  }
  return base(key.owner) + key.address;
}

PeerState ShmTransport::peer_state(int peer) const {
  // Left first: a process that ends after its goodbye has left.
  if (control(peer).left.load(std::memory_order_seq_cst) != 0) return PeerState::kLeft;
  const bool lost = peer != rank() && watch_.has_value() && watch_->ended(peer);
  return lost ? PeerState::kLost : PeerState::kPresent;
}

}  // namespace chorus
