#include "chorus/transport/shared_transport.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "chorus/transport/inbox.h"
#include "chorus/transport/shared_links.h"

namespace chorus {

Result<std::byte*> SharedTransport::MapRange(const RegionKey& key, std::int64_t offset,
                                             std::int64_t bytes) {
  if (offset < 0 || bytes < 0 || offset > key.bytes || bytes > key.bytes - offset) {
    return InvalidArgument(
        fmt::format("bytes {} to {} are not within the region of {} bytes of rank {}", offset,
                    offset + bytes, key.bytes, key.owner));
  }
  CHORUS_ASSIGN_OR_RETURN(std::byte * data, Map(key));
  return data + offset;
}

Status SharedTransport::Put(const void* src, std::int64_t bytes, const RegionKey& dst,
                            std::int64_t offset, const std::optional<Signal>& signal) {
  CHORUS_ASSIGN_OR_RETURN(std::byte * target, MapRange(dst, offset, bytes));
  std::byte* word = nullptr;
  if (signal.has_value()) {
    CHORUS_ASSIGN_OR_RETURN(word, MapRange(signal->region, signal->offset, 8));
    if (signal->offset % 8 != 0) {
      return InvalidArgument(
          fmt::format("a signal at byte {} is not on a multiple of 8", signal->offset));
    }
  }
  if (bytes > 0) std::memcpy(target, src, static_cast<std::size_t>(bytes));
  one_sided_.bytes += bytes;
  ++one_sided_.messages;
  if (word != nullptr) {
    reinterpret_cast<std::atomic<std::uint64_t>*>(word)->fetch_add(signal->add,
                                                                   std::memory_order_seq_cst);
    control(signal->region.owner).bell.Ring();
  }
  return OkStatus();
}

Status SharedTransport::Get(const RegionKey& src, std::int64_t offset, void* dst,
                            std::int64_t bytes) {
  CHORUS_ASSIGN_OR_RETURN(const std::byte* source, MapRange(src, offset, bytes));
  if (bytes > 0) std::memcpy(dst, source, static_cast<std::size_t>(bytes));
  return OkStatus();
}

std::uint64_t SharedTransport::LoadSignal(const Region& region, std::int64_t offset) const {
  return reinterpret_cast<const std::atomic<std::uint64_t>*>(region.data + offset)
      ->load(std::memory_order_seq_cst);
}

Result<Region> SharedTransport::AllocateInbox(int members, std::int64_t channel_bytes) {
  SweepRetired();
  CHORUS_ASSIGN_OR_RETURN(Region region, Allocate(InboxMemory::BytesFor(members, channel_bytes)));
  auto* inbox = new (region.data) InboxMemory;
  inbox->MakeBoard(members);
  for (int i = 0; i < members; ++i) {
    new (&inbox->departed(i)) std::atomic<std::uint32_t>(0);
    new (inbox->ring(i, members, channel_bytes)) RingMemory;
    new (inbox->direct_ring(i, members, channel_bytes)) RingMemory;
    LaneMemory::Make(inbox->lane(i, members, channel_bytes), InboxMemory::LaneSlotBytes(members));
  }
  StageWords* const words = inbox->stage(members, channel_bytes).words;
  new (words) StageWords;
  new (words + 1) StageWords;
  return region;
}

Result<std::unique_ptr<Links>> SharedTransport::Connect(const std::vector<int>& members,
                                                        int group_rank, const Region& inbox,
                                                        const std::vector<RegionKey>& inboxes,
                                                        std::int64_t channel_bytes) {
  std::vector<SharedLinks::Member> mapped;
  for (std::size_t i = 0; i < members.size(); ++i) {
    CHORUS_ASSIGN_OR_RETURN(std::byte * data, Map(inboxes[i]));
    mapped.push_back({members[i], reinterpret_cast<InboxMemory*>(data), &control(members[i])});
  }
  const Retired retired{inbox, members, group_rank};
  auto retire = [list = retired_, retired] { list->push_back(retired); };
  return std::unique_ptr<Links>(std::make_unique<SharedLinks>(
      std::move(mapped), group_rank, channel_bytes, size_ > cores(), std::move(retire)));
}

Transport::Ticket SharedTransport::Arm() {
  const Ticket ticket = control(rank_).bell.Arm();
  if (control(rank_).orders_stores.load(std::memory_order_relaxed) != 0) OrderAllStores();
  return ticket;
}

void SharedTransport::ShowItself() {
  control(rank_).orders_stores.store(LetStoresBeOrdered() ? 1 : 0, std::memory_order_relaxed);
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &set)) continue;
    control(rank_).cores[core / 64].fetch_or(std::uint64_t{1} << core % 64,
                                             std::memory_order_relaxed);
  }
}

int SharedTransport::cores() const {
  int count = 0;
  for (std::size_t word = 0; word < control(rank_).cores.size(); ++word) {
    std::uint64_t any = 0;
    for (int peer = 0; peer < size_; ++peer) {
      any |= control(peer).cores[word].load(std::memory_order_relaxed);
    }
    count += std::popcount(any);
  }
  return std::max(count, 1);
}

void SharedTransport::SayGoodbye() {
  if (InForkedChild()) return;
  control(rank_).left.store(1, std::memory_order_seq_cst);
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_) control(peer).bell.Ring();
  }
}

void SharedTransport::SweepRetired() {
  const auto is_free = [this](const Retired& retired) {
    auto* const inbox = reinterpret_cast<InboxMemory*>(retired.inbox.data);
    for (int i = 0; i < static_cast<int>(retired.members.size()); ++i) {
      const bool writes_no_more =
          i == retired.rank || inbox->departed(i).load(std::memory_order_seq_cst) != 0 ||
          peer_state(retired.members[static_cast<std::size_t>(i)]) != PeerState::kPresent;
      if (!writes_no_more) return false;
    }
    Release(retired.inbox);
    return true;
  };
  retired_->erase(std::remove_if(retired_->begin(), retired_->end(), is_free), retired_->end());
}

}  // namespace chorus
