#include "chorus/transport/shared_links.h"

#include <utility>

namespace chorus {

SharedLinks::SharedLinks(std::vector<Member> members, int rank, std::int64_t channel_bytes,
                         std::function<void()> retire)
    : members_(std::move(members)),
      rank_(rank),
      channel_bytes_(channel_bytes),
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

void SharedLinks::Poison(const Status& status) {
  for (const Member& each : members_) each.inbox->Poison(status);
  RingAll();
}

void SharedLinks::RingAll() {
  for (const Member& each : members_) each.control->bell.Ring();
}

}  // namespace chorus
