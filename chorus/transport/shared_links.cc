#include "chorus/transport/shared_links.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace chorus {
namespace {

// About as long as a line takes from core to core. Looking for longer where cores are shared only
// keeps the others waiting.
constexpr int kLooks = 40;

}  // namespace

SharedLinks::SharedLinks(std::vector<Member> members, int rank, std::int64_t channel_bytes,
                         bool crowded, std::function<void()> retire)
    : members_(std::move(members)),
      rank_(rank),
      channel_bytes_(channel_bytes),
      crowded_(crowded),
      fences_(
          std::any_of(members_.begin(), members_.end(),
                      [](const Member& each) { return each.control->orders_stores.load() == 0; })),
      retire_(std::move(retire)) {
  const int n = size();
  for (int peer = 0; peer < n; ++peer) {
    if (peer == rank_) {
      senders_.emplace_back();
      receivers_.emplace_back();
      direct_senders_.emplace_back();
      direct_receivers_.emplace_back();
      lane_senders_.emplace_back();
      lane_receivers_.emplace_back();
      continue;
    }
    // The ring from a to b lies in b's inbox.
    Doorbell* const bell = &member(peer).control->bell;
    senders_.push_back(std::make_unique<RingSender>(
        member(peer).inbox->ring(rank_, n, channel_bytes), channel_bytes, bell, &sent_));
    receivers_.push_back(
        std::make_unique<RingReceiver>(inbox().ring(peer, n, channel_bytes), channel_bytes, bell));
    const std::int64_t direct_bytes = InboxMemory::DirectBytes(channel_bytes);
    direct_senders_.push_back(
        std::make_unique<RingSender>(member(peer).inbox->direct_ring(rank_, n, channel_bytes),
                                     direct_bytes, bell, &direct_sent_));
    direct_receivers_.push_back(std::make_unique<RingReceiver>(
        inbox().direct_ring(peer, n, channel_bytes), direct_bytes, bell));
    InboxMemory& theirs = *member(peer).inbox;
    lane_senders_.push_back(std::make_unique<LaneSender>(
        theirs.lane(rank_, n, channel_bytes), lane_bytes(), &theirs.finished(), bell, &sent_));
    lane_receivers_.push_back(
        std::make_unique<LaneReceiver>(inbox().lane(peer, n, channel_bytes), lane_bytes()));
  }
}

SharedLinks::~SharedLinks() {
  if (fork_guard_.InChild()) return;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank_) continue;
    // After this store the peer may free its inbox: touch nothing of it any more.
    member(peer).inbox->departed(rank_).store(1, std::memory_order_seq_cst);
    member(peer).control->bell.Ring();
  }
  if (retire_) retire_();
}

int SharedLinks::Looks(int peer) {
  if (!crowded_) return kLooks;
  const int core = sched_getcpu();
  std::atomic<std::int32_t>& own = member(rank_).control->core;
  if (own.load(std::memory_order_relaxed) != core) own.store(core, std::memory_order_relaxed);
  // A peer that needs this core gets it at once.
  return member(peer).control->core.load(std::memory_order_relaxed) == core ? 1 : kLooks;
}

void SharedLinks::Poison(const Status& status) {
  for (const Member& each : members_) each.inbox->Poison(status);
  RingAll();
}

void SharedLinks::Note(std::span<const std::uint64_t> words) {
  inbox().Note(words, size());
  RingAll();
}

std::uint64_t SharedLinks::Settle(std::int64_t cell, std::uint64_t value) {
  const std::uint64_t settled = member(0).inbox->Settle(cell, value, size());
  RingAll();
  return settled;
}

void SharedLinks::RingAll() {
  for (const Member& each : members_) each.control->bell.Ring();
}

}  // namespace chorus
