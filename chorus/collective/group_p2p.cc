// Send, Recv, SendRecv: what a group offers between two of its ranks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "chorus/collective/group.h"
#include "chorus/collective/group_core.h"
#include "chorus/collective/p2p.h"

namespace chorus {
namespace {

Transfer MakeSend(ConstBuffer data, int to, int tag) {
  Transfer transfer;
  transfer.kind = Transfer::Kind::kSend;
  transfer.peer = to;
  transfer.tag = tag;
  // Of a send it is only read.
  transfer.data = static_cast<std::byte*>(const_cast<void*>(data.data));
  transfer.count = data.count;
  transfer.dtype = data.dtype;
  return transfer;
}

Transfer MakeRecv(MutableBuffer data, int from, int tag, Received* received) {
  Transfer transfer;
  transfer.peer = from;
  transfer.tag = tag;
  transfer.data = static_cast<std::byte*>(data.data);
  transfer.count = data.count;
  transfer.dtype = data.dtype;
  transfer.received = received;
  return transfer;
}

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

std::shared_ptr<Operation> GroupCore::Submit(std::span<Transfer> transfers,
                                             const CallOptions& options) {
  auto operation = MakeKept<P2POperation>(memory_);
  const auto refuse = [&](Status status) {
    operation->done = true;
    operation->status = std::move(status);
    return operation;
  };
  if (Status status = CheckProcess(NameOf(transfers[0])); !status.ok()) return refuse(status);
  for (const Transfer& transfer : transfers) {
    if (Status status = Check(transfer, size(), options); !status.ok()) return refuse(status);
  }
  if (transfers.size() == 2) {
    if (Status status = CheckApart(transfers[0], transfers[1]); !status.ok()) return refuse(status);
  }
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  if (!over_.ok()) return refuse(over_);
  const std::chrono::milliseconds wanted = options.timeout;
  operation->timeout = std::min(wanted.count() > 0 ? wanted : settings_.timeout, kLongestTimeout);
  operation->transfers_left = static_cast<int>(transfers.size());
  for (Transfer& transfer : transfers) {
    transfer.operation = operation;
    direct_.Start(MakeKept<Transfer>(memory_, std::move(transfer)));
  }
  if (direct_.busy()) direct_.Advance();
  return operation;
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
