#include "chorus/collective/p2p.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "chorus/collective/member_name.h"

namespace chorus {
namespace {

using Kind = P2PFrame::Kind;

}  // namespace

PointToPoint::PointToPoint(Links* links, Transport* transport, std::shared_ptr<KeptMemory> memory,
                           std::string group, Finish finish)
    : links_(*links),
      transport_(*transport),
      group_(std::move(group)),
      finish_(std::move(finish)),
      memory_(std::move(memory)),
      matcher_(memory_.get()),
      pending_(memory_.get()),
      reading_(memory_.get()),
      signals_(memory_.get()),
      gone_(static_cast<std::size_t>(links->size())) {
  ForgetPeers();
}

void PointToPoint::ForgetPeers() {
  peers_.clear();
  for (int rank = 0; rank < links_.size(); ++rank) peers_.emplace_back(memory_.get());
}

void PointToPoint::Start(const TransferPtr& transfer) {
  ++traffic_.calls;
  pending_.push_back(transfer);
  if (transfer->kind == Transfer::Kind::kSignals) {
    signals_.push_back(transfer);
  } else if (transfer->kind == Transfer::Kind::kReceive) {
    std::optional<Arrival> arrival = matcher_.Post({transfer->peer, transfer->tag, transfer});
    if (arrival.has_value()) Deliver(transfer, arrival->message);
  } else if (transfer->peer == links_.rank()) {
    StartSendToSelf(transfer);
  } else {
    transfer->serial = ++peer(transfer->peer).last_serial;
    peer(transfer->peer).envelopes.push_back(transfer);
  }
}

// A small message is copied, so that it can be received later; a large one waits for its receive,
// as one to another rank does.
void PointToPoint::StartSendToSelf(const TransferPtr& transfer) {
  auto message = MakeKept<Message>(memory_);
  message->source = links_.rank();
  message->frame = {Kind::kEager, transfer->dtype, 0, transfer->tag, transfer->bytes()};
  if (transfer->bytes() <= kEagerBytes) {
    message->payload = MakeKeptBytes(memory_, transfer->bytes());
    if (transfer->bytes() > 0) {
      std::memcpy(message->payload.get(), transfer->data,
                  static_cast<std::size_t>(transfer->bytes()));
    }
    message->arrived = transfer->bytes();
    traffic_.bytes_sent += transfer->bytes();
    ++traffic_.messages_sent;
    End(transfer, OkStatus());
  } else {
    message->offered = true;
    message->own = transfer;
  }
  TakeIn(links_.rank(), message);
}

// A message whose payload is here or offered: to the receive that fits, or kept.
void PointToPoint::TakeIn(int from, const std::shared_ptr<Message>& message) {
  Arrival arrival{from, static_cast<int>(message->frame.tag), message};
  const std::optional<Posted> posted = matcher_.Arrive(arrival);
  if (posted.has_value()) Deliver(posted->transfer, message);
}

Status PointToPoint::Fit(const Transfer& transfer, const Message& message) const {
  const std::int64_t count = message.frame.bytes / SizeOf(message.frame.dtype);
  if (message.frame.dtype == transfer.dtype && count <= transfer.count) return OkStatus();
  return InvalidArgument(fmt::format(
      "{}: the message of {} is {} x {}, which does not fit into {} x {}; it was dropped",
      Title(transfer), MemberName(links_, message.source), Name(message.frame.dtype), count,
      Name(transfer.dtype), transfer.count));
}

// From here on the receive knows its source.
void PointToPoint::Match(Transfer& transfer, const Message& message) {
  transfer.peer = message.source;
  transfer.tag = static_cast<int>(message.frame.tag);
  transfer.serial = message.frame.serial;
  transfer.payload = message.frame.bytes;
  if (transfer.received != nullptr) {
    *transfer.received = {message.source, static_cast<int>(message.frame.tag),
                          message.frame.bytes / SizeOf(message.frame.dtype)};
  }
}

void PointToPoint::Deliver(const TransferPtr& transfer, const std::shared_ptr<Message>& message) {
  // The thread that waits for the other side of it may be another one, asleep.
  if (message->source == links_.rank()) links_.RingAll();
  const Status fits = Fit(*transfer, *message);
  Match(*transfer, *message);
  const auto bytes = static_cast<std::size_t>(message->frame.bytes);
  if (message->offered) {
    const P2PFrame wanted{Kind::kWanted, DType::kU8, transfer->serial, 0, 0};
    const P2PFrame taken{Kind::kTaken, DType::kU8, transfer->serial, 0, 0};
    if (message->own != nullptr) {
      if (fits.ok()) std::memcpy(transfer->data, message->own->data, bytes);
      if (fits.ok()) traffic_.bytes_sent += message->frame.bytes;
      ++traffic_.messages_sent;
      End(message->own, OkStatus());
      End(transfer, fits);
    } else if (!fits.ok()) {
      Answered(message->source, taken, nullptr);
      End(transfer, fits);
    } else if (const std::byte* place = Place(*message); place != nullptr) {
      reading_[{message->source, message->frame.tag}].push_back({transfer, message, place});
    } else {
      peer(message->source).receiving[transfer->serial] = transfer;
      Answered(message->source, wanted, nullptr);
    }
    return;
  }
  if (message->arrived < message->frame.bytes) {
    message->receiver = transfer;  // EndIncoming brings it
    return;
  }
  if (fits.ok() && bytes > 0) std::memcpy(transfer->data, message->payload.get(), bytes);
  if (message->source != links_.rank()) Credit(message->source, message->frame.bytes);
  End(transfer, fits);
}

const std::byte* PointToPoint::Place(const Message& message) const {
  if (message.place.bytes == 0) return nullptr;
  const Result<std::byte*> place = transport_.Map(message.place);
  return place.ok() ? *place : nullptr;
}

// Ordinary memory of a thread could be mapped too, but its owner may free it when the group fails;
// memory from Allocate stays mapped.
RegionKey PointToPoint::KeyOf(const Transfer& transfer) const {
  if (transport_.capabilities(transfer.peer).map_registered) return {};
  return transport_.Locate(transfer.data, transfer.bytes()).value_or(RegionKey());
}

void PointToPoint::Credit(int from, std::int64_t bytes) {
  Peer& to = peer(from);
  to.credit += bytes + kEarlyOverhead;
  if (to.credit < kWindowBytes / 2) return;
  Answered(from, {Kind::kCredit, DType::kU8, 0, std::exchange(to.credit, 0), 0}, nullptr);
}

void PointToPoint::Answered(int to, const P2PFrame& frame, TransferPtr then) {
  peer(to).answers.push_back({frame, std::move(then)});
  ++answers_;
}

void PointToPoint::End(const TransferPtr& transfer, const Status& status) {
  if (transfer->done) return;
  transfer->done = true;
  pending_.remove(transfer);
  P2POperation& operation = *transfer->operation;
  if (operation.first_error.ok()) operation.first_error = status;
  if (--operation.transfers_left == 0) finish_(operation, operation.first_error);
}

void PointToPoint::CountPut(std::int64_t bytes) {
  ++traffic_.calls;
  ++traffic_.messages_sent;
  traffic_.bytes_sent += bytes;
}

bool PointToPoint::Advance() {
  bool moved = AdvanceSignals();
  for (int rank = 0; rank < links_.size(); ++rank) {
    if (rank == links_.rank()) continue;
    moved = AdvanceIn(rank) || moved;
    moved = AdvanceOut(rank) || moved;
  }
  return AdvanceReading() || moved;
}

bool PointToPoint::HasGone(int rank) const {
  return rank != links_.rank() &&
         (links_.Departed(rank) ||
          transport_.peer_state(links_.world_rank(rank)) == PeerState::kLeft);
}

Status PointToPoint::Inspect(Clock::time_point now, Clock::time_point* next) {
  // First who has left, then once more what has come: what they sent came before.
  gone_.assign(peers_.size(), false);
  for (int rank = 0; rank < links_.size(); ++rank) {
    gone_[static_cast<std::size_t>(rank)] = busy() && HasGone(rank);
  }
  if (Advance()) *next = now;
  const auto left = static_cast<int>(std::count(gone_.begin(), gone_.end(), true));
  for (const TransferPtr& transfer : pending_) {
    const bool any = transfer->peer == kAnySource;
    // Who waits for any source may still hear from itself, but from no other thread than its own.
    if (any ? left > 0 && left == links_.size() - 1
            : gone_[static_cast<std::size_t>(transfer->peer)]) {
      return Status(StatusCode::kPeerLost,
                    fmt::format("{} left the group; {} waits in {}",
                                any ? "all other ranks have"
                                    : fmt::format("{} has", MemberName(links_, transfer->peer)),
                                MemberName(links_, links_.rank()), Title(*transfer)));
    }
    Operation& operation = *transfer->operation;
    if (!operation.deadline.has_value()) operation.deadline = now + operation.timeout;
    if (*operation.deadline <= now) {
      return Status(
          StatusCode::kDeadlineExceeded,
          fmt::format("{} waited {} ms for {} in {}", MemberName(links_, links_.rank()),
                      operation.timeout.count(),
                      any ? "any rank" : MemberName(links_, transfer->peer), Title(*transfer)));
    }
    *next = std::min(*next, *operation.deadline);
  }
  return OkStatus();
}

void PointToPoint::FailAll(const Status& status) {
  while (!pending_.empty()) End(TransferPtr(pending_.front()), status);
  matcher_.Clear();
  reading_.clear();
  signals_.clear();
  ForgetPeers();
  answers_ = 0;
}

std::string PointToPoint::Title(const Transfer& transfer) const {
  if (transfer.kind == Transfer::Kind::kSignals) {
    return fmt::format("wait for {} signals (group {})", transfer.wanted, group_);
  }
  const std::string listed =
      transfer.operation->list == nullptr
          ? ""
          : ", " + transfer.operation->list->Describe(transfer.operation->part);
  if (transfer.tag < kAnyTag) {
    return fmt::format("new_group tag {} (group {})", TagOfNewGroup(transfer.tag), group_);
  }
  const std::string tag = transfer.tag == kAnyTag ? "any tag" : fmt::format("tag {}", transfer.tag);
  return fmt::format("{} {}{} (group {}, {} B)",
                     transfer.kind == Transfer::Kind::kSend ? "send" : "recv", tag, listed, group_,
                     transfer.bytes());
}

}  // namespace chorus
