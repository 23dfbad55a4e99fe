// Send, Recv, SendRecv: what a group offers between two of its ranks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "chorus/collective/group.h"
#include "chorus/collective/group_core.h"
#include "chorus/collective/make_call.h"
#include "chorus/collective/p2p.h"

namespace chorus {
namespace {

bool Sends(const Transfer& transfer) { return transfer.kind == Transfer::Kind::kSend; }

std::string_view NameOf(const Transfer& transfer) {
  switch (transfer.kind) {
    case Transfer::Kind::kSend:
      return "send";
    case Transfer::Kind::kReceive:
      return "recv";
    case Transfer::Kind::kSignals:
      break;
  }
  return "wait_signals";
}

Status Wrong(const Transfer& transfer, const std::string& why) {
  return InvalidArgument(fmt::format("{}: {}", NameOf(transfer), why));
}

// Everything that one rank can know to be wrong by itself.
Status Check(const Transfer& transfer, int size, const CallOptions& options) {
  const bool any_source = transfer.kind == Transfer::Kind::kReceive && transfer.peer == kAnySource;
  if (!any_source && (transfer.peer < 0 || transfer.peer >= size)) {
    return Wrong(transfer, fmt::format("{} is not a rank of a group of {}", transfer.peer, size));
  }
  if (transfer.tag < 0 && (Sends(transfer) || transfer.tag != kAnyTag)) {
    return Wrong(transfer, fmt::format("the tag is {}; a tag is 0 or more{}", transfer.tag,
                                       Sends(transfer) ? "" : ", or kAnyTag"));
  }
  if (transfer.count < 0 ||
      transfer.count > std::numeric_limits<std::int64_t>::max() / SizeOf(transfer.dtype)) {
    return Wrong(transfer, fmt::format("the buffer has {} elements", transfer.count));
  }
  if (transfer.data == nullptr && transfer.count > 0) {
    return Wrong(transfer, fmt::format("the buffer is null but has {} elements", transfer.count));
  }
  if (!options.algorithm.empty() || options.schedule != nullptr) {
    return Wrong(transfer, "takes neither an algorithm nor a schedule");
  }
  return OkStatus();
}

Status CheckApart(const Transfer& send, const Transfer& recv) {
  const auto a = reinterpret_cast<std::uintptr_t>(send.data);
  const auto b = reinterpret_cast<std::uintptr_t>(recv.data);
  const bool apart = send.bytes() == 0 || recv.bytes() == 0 ||
                     a + static_cast<std::uintptr_t>(send.bytes()) <= b ||
                     b + static_cast<std::uintptr_t>(recv.bytes()) <= a;
  return apart ? OkStatus() : InvalidArgument("send_recv: the two buffers overlap");
}

}  // namespace

Status GroupCore::CheckTransfers(std::span<const Transfer> transfers,
                                 const CallOptions& options) const {
  for (const Transfer& transfer : transfers) {
    CHORUS_RETURN_IF_ERROR(Check(transfer, size(), options));
  }
  return transfers.size() == 2 ? CheckApart(transfers[0], transfers[1]) : OkStatus();
}

std::shared_ptr<Operation> GroupCore::Submit(std::span<Transfer> transfers,
                                             const CallOptions& options) {
  auto operation = MakeKept<P2POperation>(memory_);
  const auto refuse = [&](Status status) {
    operation->done = true;
    operation->status = std::move(status);
    return operation;
  };
  if (Status status = CheckProcess(NameOf(transfers[0])); !status.ok()) return refuse(status);
  if (Status status = CheckTransfers(transfers, options); !status.ok()) return refuse(status);
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  if (!over_.ok()) return refuse(over_);
  StartTransfers(operation, transfers, options);
  return operation;
}

void GroupCore::StartTransfers(const std::shared_ptr<P2POperation>& operation,
                               std::span<Transfer> transfers, const CallOptions& options) {
  operation->timeout = TimeoutOf(options.timeout);
  operation->transfers_left = static_cast<int>(transfers.size());
  for (Transfer& transfer : transfers) {
    transfer.operation = operation;
    direct_.Start(MakeKept<Transfer>(memory_, std::move(transfer)));
  }
  if (direct_.busy()) direct_.Advance();
}

Status GroupCore::ExchangeAmong(const std::vector<int>& peers, int tag,
                                const std::vector<std::int64_t>& mine, std::size_t most,
                                std::vector<std::vector<std::int64_t>>& theirs,
                                const CallOptions& options) {
  theirs.assign(peers.size(), std::vector<std::int64_t>(most));
  if (peers.empty()) return OkStatus();
  std::vector<Received> received(peers.size());
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    transfers.push_back(MakeSend(mine, peers[i], tag));
    transfers.push_back(MakeRecv(theirs[i], peers[i], tag, &received[i]));
  }
  auto operation = std::make_shared<P2POperation>();
  {
    const std::lock_guard<std::mutex> lock(endpoint_->mutex());
    CHORUS_RETURN_IF_ERROR(over_);
    StartTransfers(operation, transfers, options);
  }
  CHORUS_RETURN_IF_ERROR(endpoint_->Wait(*operation, std::nullopt));
  for (std::size_t i = 0; i < peers.size(); ++i) {
    theirs[i].resize(static_cast<std::size_t>(received[i].count));
  }
  return OkStatus();
}

void GroupCore::SendToAll(const std::vector<int>& peers, int tag, std::int64_t number) {
  if (peers.empty()) return;
  auto operation = std::make_shared<P2POperation>();
  // The operation lives until the messages are gone, and so does what it holds.
  operation->detour.resize(sizeof(number));
  std::memcpy(operation->detour.data(), &number, sizeof(number));
  std::vector<Transfer> transfers;
  for (const int peer : peers) {
    transfers.push_back(MakeSend(ConstBuffer(operation->detour.data(), 1, DType::kI64), peer, tag));
  }
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  if (over_.ok()) StartTransfers(operation, transfers, {});
}

Status GroupCore::Put(const void* data, std::int64_t bytes, const RegionKey& to,
                      std::int64_t offset, const Signal& signal) {
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  CHORUS_RETURN_IF_ERROR(over_);
  CHORUS_RETURN_IF_ERROR(links_->poison());
  CHORUS_RETURN_IF_ERROR(endpoint_->transport().Put(data, bytes, to, offset, signal));
  direct_.CountPut(bytes);
  return OkStatus();
}

namespace {

Work Begin(const std::shared_ptr<GroupCore>& core, std::span<Transfer> transfers,
           const CallOptions& options) {
  std::shared_ptr<Operation> operation = core->Submit(transfers, options);
  core->endpoint().RunCallbacks();
  return Work::State::WorkOf(core, std::move(operation));
}

}  // namespace

Work Group::SendAsync(ConstBuffer data, int to, int tag, const CallOptions& options) {
  Transfer transfer = MakeSend(data, to, tag);
  return Begin(impl_->core(), {&transfer, 1}, options);
}

Status Group::Send(ConstBuffer data, int to, int tag, const CallOptions& options) {
  return SendAsync(data, to, tag, options).Wait();
}

Work Group::RecvAsync(MutableBuffer data, int from, int tag, Received* received,
                      const CallOptions& options) {
  Transfer transfer = MakeRecv(data, from, tag, received);
  return Begin(impl_->core(), {&transfer, 1}, options);
}

Result<Received> Group::Recv(MutableBuffer data, int from, int tag, const CallOptions& options) {
  Received received;
  CHORUS_RETURN_IF_ERROR(RecvAsync(data, from, tag, &received, options).Wait());
  return received;
}

Work Group::SendRecvAsync(ConstBuffer send, int to, int send_tag, MutableBuffer recv, int from,
                          int recv_tag, Received* received, const CallOptions& options) {
  std::array transfers = {MakeSend(send, to, send_tag), MakeRecv(recv, from, recv_tag, received)};
  return Begin(impl_->core(), transfers, options);
}

Result<Received> Group::SendRecv(ConstBuffer send, int to, int send_tag, MutableBuffer recv,
                                 int from, int recv_tag, const CallOptions& options) {
  Received received;
  CHORUS_RETURN_IF_ERROR(
      SendRecvAsync(send, to, send_tag, recv, from, recv_tag, &received, options).Wait());
  return received;
}

}  // namespace chorus
