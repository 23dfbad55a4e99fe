// The frames of PointToPoint: what goes out next on a channel, and what is done with what comes in.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "chorus/collective/p2p.h"

namespace chorus {
namespace {

using Kind = P2PFrame::Kind;

// Payload of a Data frame: long enough that its header does not count, short enough to wait for.
constexpr std::int64_t kDataBytes = std::int64_t{32} << 10;
// What is read of a mapped payload before others get their turn.
constexpr std::int64_t kReadBytes = std::int64_t{1} << 20;

}  // namespace

// Messages of one rank and tag one after another, as NextStream sends them.
bool PointToPoint::AdvanceReading() {
  bool moved = false;
  for (auto it = reading_.begin(); it != reading_.end();) {
    const Reading& reading = it->second.front();
    Transfer& transfer = *reading.transfer;
    const std::int64_t bytes = reading.message->frame.bytes;
    const std::int64_t length = std::min(kReadBytes, bytes - transfer.offset);
    std::memcpy(transfer.data + transfer.offset, reading.from + transfer.offset,
                static_cast<std::size_t>(length));
    transfer.offset += length;
    moved = true;
    if (transfer.offset < bytes) {
      ++it;
      continue;
    }
    // The receive is done once the sender will hear of it, lest this rank leaves before.
    Answered(reading.message->source, {Kind::kTaken, DType::kU8, transfer.serial, 1, 0},
             reading.transfer);
    it->second.pop_front();
    it = it->second.empty() ? reading_.erase(it) : std::next(it);
  }
  return moved;
}

bool PointToPoint::AdvanceSignals() {
  bool moved = false;
  for (auto it = signals_.begin(); it != signals_.end();) {
    const TransferPtr& transfer = *it;
    if (transport_.LoadSignal(transfer->signals, transfer->place) < transfer->wanted) {
      ++it;
      continue;
    }
    End(TransferPtr(transfer), OkStatus());
    it = signals_.erase(it);
    moved = true;
  }
  return moved;
}

bool PointToPoint::AdvanceOut(int to) {
  Peer& p = peer(to);
  MessageSender& sender = links_.direct_sender(to);
  bool moved = false;
  for (;;) {
    if (!p.out.active) {
      if (!PickFrame(to)) return moved;
      moved = true;
    }
    while (sender.remaining() > 0) {
      const std::span<std::byte> space = sender.Writable();
      if (space.empty()) return moved;
      const auto length = std::min(space.size(), static_cast<std::size_t>(sender.remaining()));
      std::memcpy(space.data(), p.out.data, length);
      p.out.data += length;
      sender.Commit(static_cast<std::int64_t>(length));
      moved = true;
    }
    EndOutgoing(to);
  }
}

bool PointToPoint::BeginFrame(int to, const P2PFrame& frame, const std::byte* data,
                              TransferPtr transfer) {
  if (!links_.direct_sender(to).Begin(frame.ToHeader())) return false;
  Outgoing& out = peer(to).out;
  out.active = true;
  out.frame = frame;
  out.data = data;
  out.transfer = std::move(transfer);
  return true;
}

// Messages of one tag come in the order in which they were sent. Of several tags the one of which
// least is left goes on, so that a short message does not wait for a long one; every other frame is
// the oldest's, so that it ends too.
const PointToPoint::TransferPtr& PointToPoint::NextStream(int to) {
  Peer& p = peer(to);
  p.oldest_turn = !p.oldest_turn;
  const auto is_before = [&p](const Transfer& a, const Transfer& b) {
    if (p.oldest_turn) return a.serial < b.serial;
    return a.bytes() - a.offset < b.bytes() - b.offset;
  };
  return std::min_element(p.streams.begin(), p.streams.end(),
                          [&](const auto& a, const auto& b) {
                            return is_before(*a.second.front(), *b.second.front());
                          })
      ->second.front();
}

// Answers first, since a peer waits for them; then envelopes and payload in turns.
bool PointToPoint::PickFrame(int to) {
  Peer& p = peer(to);
  if (!p.answers.empty()) {
    return BeginFrame(to, p.answers.front().frame, nullptr, p.answers.front().then);
  }
  if (!p.streams.empty() && (p.streams_turn || p.envelopes.empty())) {
    const TransferPtr& transfer = NextStream(to);
    const std::int64_t length = std::min(kDataBytes, transfer->bytes() - transfer->offset);
    return BeginFrame(to, {Kind::kData, transfer->dtype, transfer->serial, 0, length},
                      transfer->data + transfer->offset, transfer);
  }
  if (p.envelopes.empty()) return false;
  const TransferPtr& transfer = p.envelopes.front();
  const std::int64_t bytes = transfer->bytes();
  const P2PFrame frame{Kind::kEager, transfer->dtype, transfer->serial, transfer->tag, bytes};
  const std::int64_t early = bytes + kEarlyOverhead;
  if (bytes <= kEagerBytes && p.early_bytes + early <= kWindowBytes) {
    if (!BeginFrame(to, frame, transfer->data, transfer)) return false;
    p.early_bytes += early;
    return true;
  }
  P2PFrame offer = frame;
  offer.kind = Kind::kOffer;
  offer.bytes = sizeof(OfferBody);
  p.out.body = {bytes, KeyOf(*transfer)};
  return BeginFrame(to, offer, reinterpret_cast<const std::byte*>(&p.out.body), transfer);
}

void PointToPoint::EndOutgoing(int to) {
  Peer& p = peer(to);
  p.out.active = false;
  const TransferPtr transfer = std::move(p.out.transfer);
  switch (p.out.frame.kind) {
    case Kind::kEager:
      p.envelopes.pop_front();
      p.streams_turn = true;
      traffic_.bytes_sent += p.out.frame.bytes;
      ++traffic_.messages_sent;
      return End(transfer, OkStatus());
    case Kind::kOffer:
      p.envelopes.pop_front();
      p.streams_turn = true;
      p.offered[transfer->serial] = transfer;
      return;
    case Kind::kData:
      p.streams_turn = false;
      traffic_.bytes_sent += p.out.frame.bytes;
      transfer->offset += p.out.frame.bytes;
      if (transfer->offset == transfer->bytes()) {
        const auto of_tag = p.streams.find(transfer->tag);
        of_tag->second.pop_front();
        if (of_tag->second.empty()) p.streams.erase(of_tag);
        ++traffic_.messages_sent;
        End(transfer, OkStatus());
      }
      return;
    case Kind::kWanted:
    case Kind::kTaken:
    case Kind::kCredit:
      p.answers.pop_front();
      --answers_;
      if (transfer != nullptr) End(transfer, OkStatus());
      return;
  }
}

bool PointToPoint::AdvanceIn(int from) {
  Incoming& in = peer(from).in;
  MessageReceiver& receiver = links_.direct_receiver(from);
  bool moved = false;
  for (;;) {
    if (!in.active) {
      const MessageHeader* header = receiver.Front();
      if (header == nullptr) return moved;
      in = Incoming();
      in.active = true;
      in.frame = P2PFrame::Of(*header);
      BeginIncoming(from);
      moved = true;
      if (in.frame.bytes == 0) {
        receiver.Consume(0);
        EndIncoming(from);
        continue;
      }
    }
    const std::span<const std::byte> arrived = receiver.Readable();
    if (arrived.empty()) return moved;
    const std::size_t length =
        std::min(arrived.size(), static_cast<std::size_t>(in.frame.bytes - in.offset));
    if (in.to != nullptr) std::memcpy(in.to + in.offset, arrived.data(), length);
    receiver.Consume(static_cast<std::int64_t>(length));
    in.offset += static_cast<std::int64_t>(length);
    moved = true;
    if (in.offset == in.frame.bytes) EndIncoming(from);
  }
}

// Where the payload of a frame goes.
void PointToPoint::BeginIncoming(int from) {
  Incoming& in = peer(from).in;
  if (in.frame.kind == Kind::kOffer) {
    in.to = reinterpret_cast<std::byte*>(&in.body);
  } else if (in.frame.kind == Kind::kData) {
    const auto found = peer(from).receiving.find(in.frame.serial);
    in.transfer = found == peer(from).receiving.end() ? nullptr : found->second;
    if (in.transfer != nullptr) in.to = in.transfer->data + in.transfer->offset;
  } else if (in.frame.kind == Kind::kEager) {
    auto message = MakeKept<Message>(memory_);
    message->frame = in.frame;
    message->source = from;
    Arrival arrival{from, static_cast<int>(in.frame.tag), message};
    const std::optional<Posted> posted = matcher_.Arrive(arrival);
    if (posted.has_value()) {
      in.transfer = posted->transfer;
      in.status = Fit(*in.transfer, *message);
      Match(*in.transfer, *message);
      if (in.status.ok()) in.to = in.transfer->data;
    } else {
      message->payload = MakeKeptBytes(memory_, in.frame.bytes);
      in.to = message->payload.get();
      in.message = std::move(message);
    }
  }
}

void PointToPoint::EndIncoming(int from) {
  Peer& p = peer(from);
  Incoming& in = p.in;
  in.active = false;
  const auto take_offered = [&]() -> TransferPtr {
    const auto found = p.offered.find(in.frame.serial);
    if (found == p.offered.end()) return nullptr;
    TransferPtr transfer = found->second;
    p.offered.erase(found);
    return transfer;
  };
  switch (in.frame.kind) {
    case Kind::kEager:
      if (in.transfer != nullptr) {
        Credit(from, in.frame.bytes);
        return End(in.transfer, in.status);
      }
      in.message->arrived = in.frame.bytes;
      if (in.message->receiver != nullptr) Deliver(in.message->receiver, in.message);
      return;
    case Kind::kOffer: {
      auto message = MakeKept<Message>(memory_);
      message->frame = in.frame;
      message->frame.bytes = in.body.bytes;
      message->source = from;
      message->place = in.body.place;
      message->offered = true;
      return TakeIn(from, message);
    }
    case Kind::kData:
      if (in.transfer == nullptr) return;
      in.transfer->offset += in.frame.bytes;
      if (in.transfer->offset == in.transfer->payload) {
        p.receiving.erase(in.frame.serial);
        End(in.transfer, OkStatus());
      }
      return;
    case Kind::kWanted:
      if (TransferPtr transfer = take_offered(); transfer != nullptr) {
        p.streams[transfer->tag].push_back(std::move(transfer));
      }
      return;
    case Kind::kTaken:
      if (const TransferPtr transfer = take_offered(); transfer != nullptr) {
        if (in.frame.tag != 0) traffic_.bytes_sent += transfer->bytes();
        ++traffic_.messages_sent;
        End(transfer, OkStatus());
      }
      return;
    case Kind::kCredit:
      p.early_bytes -= in.frame.tag;
      return;
  }
}

}  // namespace chorus
