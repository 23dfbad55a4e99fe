// Lists of calls: what CallList asks of a GroupCore.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "chorus/collective/coalesce.h"
#include "chorus/collective/group_core.h"

namespace chorus {
namespace {

// What a small call costs by itself, in nanoseconds: two ranks that have a core each exchange a
// line of memory; ranks that share cores have to be scheduled in between. Measured with `chorus
// bench`.
constexpr double kCallNs = 500;
constexpr double kCrowdedCallNs = 5000;

}  // namespace

CoalescingTerms GroupCore::Terms() {
  CoalescingTerms terms;
  const Transport& transport = endpoint_->transport();
  terms.call_ns = transport.size() > transport.cores() ? kCrowdedCallNs : kCallNs;
  terms.most_bytes = links_->lane_bytes();
  terms.adds_in_rank_order = [this](const Call& call) { return shapes_.AddsInRankOrder(call); };
  return terms;
}

Status GroupCore::CheckList(const std::vector<ListedCall>& calls) const {
  std::vector<CallRange> ranges;
  ranges.reserve(2 * calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const int index = static_cast<int>(i);
    for (const Transfer& transfer : calls[i].transfers) {
      const bool writes = transfer.kind == Transfer::Kind::kReceive;
      ranges.push_back({index, writes, transfer.data, transfer.bytes()});
    }
    if (!calls[i].transfers.empty()) continue;
    const Call& call = calls[i].call;
    if (UsesIn(call, rank())) {
      ranges.push_back({index, false, call.in.data, call.in.count * SizeOf(call.in.dtype)});
    }
    if (UsesOut(call, rank())) {
      ranges.push_back({index, true, call.out.data, call.out.count * SizeOf(call.out.dtype)});
    }
  }
  return CheckApart(ranges);
}

GroupCore::ListParts GroupCore::PartsOf(const std::vector<ListedCall>& calls) {
  ListParts result;
  result.listed = static_cast<int>(calls.size());
  const Status together = CheckList(calls);
  std::vector<const Call*> collectives;
  std::vector<int> places;  // in the list
  std::vector<Status> checked;
  collectives.reserve(calls.size());
  places.reserve(calls.size());
  checked.reserve(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].transfers.empty()) continue;
    collectives.push_back(&calls[i].call);
    places.push_back(static_cast<int>(i));
    Status status = together;
    if (status.ok()) status = CheckCall(calls[i].call, rank(), size());
    checked.push_back(std::move(status));
  }
  const std::vector<std::vector<int>> parts = [&] {
    const std::lock_guard<std::mutex> lock(endpoint_->mutex());
    return Coalesce(collectives, Terms());
  }();
  for (const std::vector<int>& part : parts) {
    Status status;
    std::vector<const Call*> members;
    std::vector<int> indices;
    members.reserve(part.size());
    indices.reserve(part.size());
    for (const int i : part) {
      const auto at = static_cast<std::size_t>(i);
      members.push_back(collectives[at]);
      indices.push_back(places[at]);
      if (!status.ok() || checked[at].ok()) continue;
      status = checked[at];
      if (part.size() > 1) {
        status = status.WithContext(DescribeCalls({places[at]}, static_cast<int>(calls.size())));
      }
    }
    result.calls.push_back(members.size() == 1 ? *members[0] : Packed(members));
    result.checked.push_back(std::move(status));
    result.members.push_back(std::move(indices));
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].transfers.empty()) continue;
    result.transfers.push_back(i);
    result.members.push_back({static_cast<int>(i)});
    result.checked.push_back(together.ok() ? CheckTransfers(calls[i].transfers, calls[i].options)
                                           : together);
  }
  return result;
}

std::shared_ptr<Operation> GroupCore::Submit(const std::vector<ListedCall>& calls) {
  auto list = std::make_shared<ListOperation>();
  if (Status status = CheckProcess("list of calls"); !status.ok() || calls.empty()) {
    list->done = true;
    list->status = std::move(status);
    return list;
  }
  ListParts parts = PartsOf(calls);
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  list->size = static_cast<int>(calls.size());
  list->calls = std::move(parts.members);
  list->parts_left = list->calls.size();
  // First what waits for nobody's number: it then moves while collectives wait.
  for (std::size_t i = 0; i < parts.transfers.size(); ++i) {
    const std::size_t part = parts.calls.size() + i;
    auto operation = std::make_shared<P2POperation>();
    operation->list = list;
    operation->part = part;
    list->parts.emplace_back(operation);
    const ListedCall& listed = calls[parts.transfers[i]];
    Status status = over_.ok() ? parts.checked[part] : over_;
    if (status.ok()) {
      std::vector<Transfer> transfers = listed.transfers;
      StartTransfers(operation, transfers, listed.options);
    } else {
      Finish(*operation, status.WithContext(list->Describe(part)));
    }
  }
  for (std::size_t part = 0; part < parts.calls.size(); ++part) {
    list->parts.emplace_back(
        Enqueue(parts.calls[part], std::move(parts.checked[part]), list, part));
  }
  return list;
}

void GroupCore::EndPart(Operation& operation, const Status& status) {
  const std::shared_ptr<ListOperation> list = std::move(operation.list);
  operation.list = nullptr;
  if (list->first_error.ok()) list->first_error = status;
  if (--list->parts_left == 0) Finish(*list, list->first_error);
}

void* GroupCore::Pack(Operation& operation) {
  const Call& call = operation.call;
  const std::int64_t size = SizeOf(call.in.dtype);
  operation.detour.resize(static_cast<std::size_t>(call.in.count * size));
  std::byte* to = operation.detour.data();
  for (const PackedPart& part : *call.packed) {
    const auto bytes = static_cast<std::size_t>(part.count * size);
    std::memcpy(to, part.in, bytes);
    to += bytes;
  }
  return operation.detour.data();
}

void GroupCore::Unpack(Operation& operation) {
  const std::int64_t size = SizeOf(operation.call.in.dtype);
  const std::byte* from = operation.detour.data();
  for (const PackedPart& part : *operation.call.packed) {
    const auto bytes = static_cast<std::size_t>(part.count * size);
    std::memcpy(part.out, from, bytes);
    from += bytes;
  }
}

std::string GroupCore::FirstThatDiffers(CallRecord& mine, CallRecord& theirs, int peer) const {
  // With another operation, dtype or reduction all of them differ.
  if (CallsOfPacked(mine.what) == 1 || CallsOfPacked(theirs.what) == 1) return "";
  const std::vector<std::int64_t> own = links_->Parts(rank(), mine.sequence);
  const std::vector<std::int64_t> other = links_->Parts(peer, theirs.sequence);
  const auto [a, b] = std::mismatch(own.begin(), own.end(), other.begin(), other.end());
  if (a == own.end() || b == other.end()) return "";
  // Two records of one call each, for the message.
  mine.what = WithoutPacking(mine.what);
  theirs.what = WithoutPacking(theirs.what);
  mine.count = *a;
  theirs.count = *b;
  const auto at = static_cast<std::size_t>(a - own.begin());
  if (!idle() && front().operation->sequence == mine.sequence) {
    const Operation& head = *front().operation;
    if (head.list == nullptr) return "";
    return ", " + DescribeCalls({head.list->calls[head.part][at]}, head.list->size);
  }
  return fmt::format(", call {} of those packed", at + 1);
}

}  // namespace chorus
