// Persistent calls: what PersistentCalls asks of a GroupCore.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chorus/collective/coalesce.h"
#include "chorus/collective/exchange.h"
#include "chorus/collective/group_core.h"

namespace chorus {
namespace {

// A rank tells the others which of its parts have memory that they can reach, one bit each.
constexpr std::size_t kMostReachable = 62;

}  // namespace

bool GroupCore::IsReachable(const Call& call) const {
  if (call.packed != nullptr) return false;
  const Transport& transport = endpoint_->transport();
  const auto reaches = [&](const ConstBuffer& buffer) {
    return buffer.count == 0 ||
           transport.Locate(buffer.data, buffer.count * SizeOf(buffer.dtype)).has_value();
  };
  return (!UsesIn(call, rank()) || reaches(call.in)) &&
         (!UsesOut(call, rank()) || reaches(call.out)) && !NeedsDetour(call, rank());
}

Result<std::shared_ptr<Prepared>> GroupCore::Prepare(const std::vector<ListedCall>& calls,
                                                     const CallOptions& options) {
  CHORUS_RETURN_IF_ERROR(CheckProcess("prepare"));
  auto prepared = std::make_shared<Prepared>();
  ListParts parts = PartsOf(calls);
  // 1. Check and lower everything; what each rank can know to be wrong.
  Status status;
  std::uint64_t fingerprint = parts.calls.size();
  std::uint64_t reachable = 0;
  for (std::size_t i = 0; i < parts.calls.size() && status.ok(); ++i) {
    Call& call = parts.calls[i];
    call.is_persistent = true;
    call.group_size = size();
    status = parts.checked[i];
    if (!status.ok()) break;
    const std::lock_guard<std::mutex> lock(endpoint_->mutex());
    status = over_;
    if (!status.ok()) break;
    Result<std::uint64_t> one = shapes_.FingerprintOf(call);
    status = one.status();
    if (!status.ok()) break;
    fingerprint = Chain(fingerprint, *one);
    if (i < kMostReachable && IsReachable(call)) reachable |= std::uint64_t{1} << i;
  }
  for (std::size_t i = parts.calls.size(); i < parts.checked.size() && status.ok(); ++i) {
    status = parts.checked[i];
  }
  // 2. Agree. Sends and receives are each between two ranks alone.
  const auto word = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  std::vector<std::int64_t> all;
  Status agreed;
  if (!parts.calls.empty()) {
    agreed = Exchange(*this, Agreement::kPrepare, {word(fingerprint), word(reachable)}, all,
                      options, !status.ok());
  }
  CHORUS_RETURN_IF_ERROR(status.WithContext("prepare"));
  CHORUS_RETURN_IF_ERROR(agreed);
  bool same = true;
  for (std::size_t r = 0; r < all.size(); r += 2) {
    same = same && all[r] == word(fingerprint);
    reachable &= static_cast<std::uint64_t>(all[r + 1]);
  }
  if (!same) return Differing(parts, options);
  // 3. The operations, to be started again and again.
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  auto list = std::make_shared<ListOperation>();
  list->size = static_cast<int>(calls.size());
  list->calls = std::move(parts.members);
  list->done = true;
  for (std::size_t i = 0; i < parts.calls.size(); ++i) {
    auto operation = std::make_shared<Operation>();
    operation->call = std::move(parts.calls[i]);
    const bool mapped = i < kMostReachable && (reachable >> i & 1U) != 0;
    CHORUS_ASSIGN_OR_RETURN(operation->shape, shapes_.MakeFor(operation->call, mapped));
    operation->part = i;
    operation->call.BorrowFrom(operation->shape->call);
    operation->timeout = TimeoutOf(operation->call.timeout);
    operation->done = true;
    list->parts.emplace_back(operation);
    prepared->operations.push_back(std::move(operation));
  }
  list->parts.resize(list->calls.size());
  for (const std::size_t i : parts.transfers) prepared->transfers.push_back(calls[i]);
  if (calls.size() != 1 || prepared->operations.size() != 1) prepared->list = std::move(list);
  return prepared;
}

// "prepare: call 2 of 3: rank 0 has all_reduce f32 x 10 sum, rank 1 all_reduce f32 x 8 sum".
Status GroupCore::Differing(const ListParts& parts, const CallOptions& options) {
  constexpr std::size_t kShown = 8;
  constexpr std::size_t kWords = 3;  // number of parts or fingerprint, what, count
  std::vector<std::int64_t> mine(kWords * kShown, 0);
  for (std::size_t i = 0; i < std::min(kShown, parts.calls.size()); ++i) {
    const std::lock_guard<std::mutex> lock(endpoint_->mutex());
    const Result<std::uint64_t> fingerprint = shapes_.FingerprintOf(parts.calls[i]);
    mine[kWords * i] = static_cast<std::int64_t>(fingerprint.ok() ? *fingerprint : 0);
    mine[kWords * i + 1] = static_cast<std::int64_t>(PackCall(parts.calls[i]));
    mine[kWords * i + 2] = parts.calls[i].total();
  }
  std::vector<std::int64_t> all;
  CHORUS_RETURN_IF_ERROR(Exchange(*this, Agreement::kPrepare, mine, all, options, false));
  const auto describe = [](const std::int64_t* words) -> std::string {
    if (words[0] == 0) return "no more";
    const auto what = static_cast<std::uint64_t>(words[1]);
    return fmt::format("{} {}", NameOfPacked(what), DescribePacked(what, words[2]));
  };
  for (std::size_t i = 0; i < kShown; ++i) {
    const std::int64_t* const first = all.data() + kWords * i;
    for (int peer = 1; peer < size(); ++peer) {
      const std::int64_t* const other = first + kWords * kShown * static_cast<std::size_t>(peer);
      if (first[0] == other[0]) continue;
      const std::string which = i < parts.calls.size()
                                    ? DescribeCalls(parts.members[i], parts.listed)
                                    : fmt::format("call {}", i + 1);
      return Status(
          StatusCode::kMismatch,
          fmt::format("prepare: {}: {} has {}, {} has {}{} (group {})", which, RankName(0),
                      describe(first), RankName(peer), describe(other),
                      first[1] == other[1] && first[2] == other[2]
                          ? fmt::format(", with {}",
                                        WhatElseMayDiffer(static_cast<std::uint64_t>(first[1])))
                          : "",
                      settings_.name));
    }
  }
  return Status(StatusCode::kMismatch,
                fmt::format("prepare: the ranks have different calls after the first {} (group {})",
                            kShown, settings_.name));
}

Status GroupCore::StartLocked(Prepared& prepared) {
  CHORUS_RETURN_IF_ERROR(over_);
  if (!prepared.whole().done) {
    return InvalidArgument("a persistent call is started while it still runs; Wait for it first");
  }
  if (prepared.list != nullptr) {
    prepared.list->Restart();
    prepared.list->parts_left = prepared.list->calls.size();
    prepared.list->first_error = OkStatus();
    for (std::size_t i = 0; i < prepared.transfers.size(); ++i) {
      const std::size_t part = prepared.operations.size() + i;
      auto operation = std::make_shared<P2POperation>();
      operation->list = prepared.list;
      operation->part = part;
      prepared.list->parts[part] = operation;
      std::vector<Transfer> transfers = prepared.transfers[i].transfers;
      StartTransfers(operation, transfers, prepared.transfers[i].options);
    }
  }
  for (const std::shared_ptr<Operation>& operation : prepared.operations) {
    operation->Restart();
    operation->sequence = ++last_sequence_;
    operation->list = prepared.list;
    queue_.push_back({operation.get(), operation, false});
  }
  Advance();
  return OkStatus();
}

Status GroupCore::Start(Prepared& prepared) {
  CHORUS_RETURN_IF_ERROR(CheckProcess("persistent call"));
  std::unique_lock<std::mutex> lock(endpoint_->mutex());
  Status status = StartLocked(prepared);
  endpoint_->Unlock(lock);
  return status;
}

Status GroupCore::Run(Prepared& prepared) {
  CHORUS_RETURN_IF_ERROR(CheckProcess("persistent call"));
  std::unique_lock<std::mutex> lock(endpoint_->mutex());
  CHORUS_RETURN_IF_ERROR(StartLocked(prepared));
  return endpoint_->Wait(prepared.whole(), lock);
}

}  // namespace chorus
