#include "chorus/transport/thread/thread_transport.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "chorus/transport/ring.h"
#include "chorus/transport/shared_transport.h"

namespace chorus {
namespace {

constexpr std::align_val_t kPage{4096};

struct Deleter {
  void operator()(std::byte* p) const { ::operator delete(p, kPage); }
};

// What the n transports share.
class ThreadWorld {
 public:
  explicit ThreadWorld(int n) : controls_(static_cast<std::size_t>(n)) {}

  ControlBlock& control(int rank) { return controls_[static_cast<std::size_t>(rank)]; }

  // As much as a rank of another transport can get, and never so much that asking for it is an
  // error of its own.
  static constexpr std::int64_t kMostBytes = std::int64_t{64} << 30;

  std::byte* Allocate(std::int64_t bytes) {
    if (bytes > kMostBytes) return nullptr;
    const auto size = static_cast<std::size_t>(bytes);
    auto* data = static_cast<std::byte*>(::operator new(size, kPage, std::nothrow));
    if (data == nullptr) return nullptr;
    std::memset(data, 0, size);
    const std::lock_guard<std::mutex> lock(mutex_);
    memory_.emplace(data, data);
    return data;
  }

  // Does nothing for memory that was registered.
  void Release(std::byte* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    memory_.erase(data);
  }

 private:
  std::vector<ControlBlock> controls_;
  std::mutex mutex_;
  std::map<std::byte*, std::unique_ptr<std::byte, Deleter>> memory_;  // guarded by mutex_
};

class ThreadTransport final : public SharedTransport {
 public:
  ThreadTransport(std::shared_ptr<ThreadWorld> world, int rank, int size)
      : SharedTransport(rank, size), world_(std::move(world)) {
    ShowItself();
  }
  ~ThreadTransport() override { SayGoodbye(); }
  ThreadTransport(const ThreadTransport&) = delete;
  ThreadTransport& operator=(const ThreadTransport&) = delete;

  std::string_view name() const override { return "thread"; }
  Capabilities capabilities(int /*peer*/) const override {
    return {true, true, true, true, kInlineBytes};
  }

  Result<Region> Allocate(std::int64_t bytes) override {
    std::byte* const data = world_->Allocate(bytes);
    if (data == nullptr) {
      return ResourceExhausted(fmt::format("rank {} cannot get {} bytes of memory", rank(), bytes));
    }
    return Register(data, bytes);
  }
  Result<Region> Register(void* data, std::int64_t bytes) override {
    return Region{static_cast<std::byte*>(data),
                  {rank(), reinterpret_cast<std::uint64_t>(data), bytes}};
  }
  std::optional<RegionKey> Locate(const void* data, std::int64_t bytes) const override {
    return RegionKey{rank(), reinterpret_cast<std::uint64_t>(data), bytes};
  }
  void Prefault(const RegionKey& /*key*/) override {}
  void Release(const Region& region) override { world_->Release(region.data); }
  Result<std::byte*> Map(const RegionKey& key) override {
    return reinterpret_cast<std::byte*>(key.address);  // NOLINT: a key is an address here
  }

  bool CanRead(int /*peer*/) override { return true; }
  Status Read(int /*peer*/, std::uint64_t address, void* dst, std::int64_t bytes) override {
    std::memcpy(dst, reinterpret_cast<const void*>(address),  // NOLINT: one process
                static_cast<std::size_t>(bytes));
    return OkStatus();
  }

  PeerState peer_state(int peer) const override {
    const bool left = control(peer).left.load(std::memory_order_seq_cst) != 0;
    return left ? PeerState::kLeft : PeerState::kPresent;
  }
  std::uint32_t failures() const override { return 0; }

 private:
  ControlBlock& control(int peer) const override { return world_->control(peer); }

  const std::shared_ptr<ThreadWorld> world_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> MakeThreadTransports(int n) {
  const auto world = std::make_shared<ThreadWorld>(n);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < n; ++rank) {
    transports.push_back(std::make_unique<ThreadTransport>(world, rank, n));
  }
  return transports;
}

}  // namespace chorus
