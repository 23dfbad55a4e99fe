#include "chorus/collective/group_core.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace chorus {
namespace {

// Bytes of a block that one tile takes: partial sums stay in the second-level cache, and a channel
// holds a few tiles, so that ranks work on different ones at a time.
constexpr std::int64_t kTileBytes = std::int64_t{64} << 10;

std::int64_t TileElements(DType dtype) { return kTileBytes / SizeOf(dtype); }

std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

}  // namespace

GroupCore::GroupCore(std::shared_ptr<Endpoint> endpoint, std::unique_ptr<Links> links,
                     GroupSettings settings)
    : endpoint_(std::move(endpoint)),
      settings_(std::move(settings)),
      links_(std::move(links)),
      plans_(links_.get(), settings_.kernels) {
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  endpoint_->Add(this);
}

GroupCore::~GroupCore() {
  // In the child of a fork the mutex may be held by a thread that does not exist there.
  if (endpoint_->InForkedChild()) return;
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  endpoint_->Remove(this);
  if (!queue_.empty() && queue_.front().operation->started) {
    queue_.front().operation->plan->executor->Stop();
  }
  links_.reset();
}

std::string GroupCore::Title(const Operation& operation) {
  return fmt::format("{} #{}", operation.call.is_split ? "split" : Name(operation.call.op),
                     operation.sequence);
}

std::string GroupCore::RankName(int member) const {
  const int world = WorldRank(member);
  if (world == member) return fmt::format("rank {}", member);
  return fmt::format("rank {} (world rank {})", member, world);
}

std::string GroupCore::Place(const Operation& operation) const {
  return fmt::format("{} (group {}, {} B)", Title(operation), settings_.name,
                     operation.call.total() * SizeOf(operation.call.in.dtype));
}

std::shared_ptr<Operation> GroupCore::Submit(Call call) {
  auto operation = std::make_shared<Operation>();
  if (endpoint_->InForkedChild()) {
    operation->done = true;
    operation->status = Status(
        StatusCode::kAborted,
        fmt::format("{}: this process was forked from rank {} and is no rank itself; use the group "
                    "in the parent, or Join anew",
                    Name(call.op), rank()));
    return operation;
  }
  call.group_size = size();
  Status checked = CheckCall(call, rank(), size());
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  operation->call = std::move(call);
  operation->sequence = ++last_sequence_;
  const std::chrono::milliseconds wanted = operation->call.options.timeout;
  operation->timeout = std::min(wanted.count() > 0 ? wanted : settings_.timeout, kLongestTimeout);
  if (!over_.ok()) {
    operation->done = true;
    operation->status = over_;
    return operation;
  }
  if (checked.ok()) {
    // Whatever else can be refused, before an operation in front of it could hide it.
    const auto plan = plans_.For(operation->call);
    if (plan.ok()) {
      operation->plan = plan.value();
    } else {
      checked = plan.status();
    }
  }
  if (!checked.ok()) {
    operation->done = true;
    operation->status =
        Status(checked.code(), fmt::format("{} (refused, as {} of group {})", checked.message(),
                                           Title(*operation), settings_.name));
  }
  queue_.push_back({operation, !checked.ok()});
  Advance();
  return operation;
}

void GroupCore::Begin(Operation& operation) {
  operation.started = true;
  ++TrafficOf(operation).calls;
  const Call& call = operation.call;
  Binding binding;
  binding.in = call.in.data;
  binding.out = call.out.data;
  if (NeedsDetour(call, rank())) {
    operation.detour.resize(static_cast<std::size_t>(call.out.count * SizeOf(call.out.dtype)));
    binding.out = operation.detour.data();
  }
  PlanCache::BindBlocks(call, *operation.plan, binding);
  binding.dtype = call.in.dtype;
  binding.reduction = call.reduce;
  // Ranks that know different blocks would cut tiles differently: then a block is one tile.
  if (!call.CountsArePrivate()) binding.tile_elements = TileElements(call.in.dtype);
  binding.sequence = operation.sequence;
  binding.fingerprint = Fingerprint(operation, operation.plan->plan);
  links_->Publish(RecordOf(operation, CallRecord::State::kRunning, -1));
  operation.plan->executor->Start(binding);
}

std::uint64_t GroupCore::Fingerprint(const Operation& operation, const LoweredPlan& plan) const {
  const Call& call = operation.call;
  std::uint64_t hash = Mix(PackCall(call), plan.schedule_hash);
  if (Reduces(call.op)) hash = Mix(hash, call.reduce.Hash());
  if (call.CountsArePrivate()) return hash;
  hash = Mix(hash, static_cast<std::uint64_t>(call.total()));
  for (const std::int64_t count : call.counts) hash = Mix(hash, static_cast<std::uint64_t>(count));
  return hash;
}

CallRecord GroupCore::RecordOf(const Operation& operation, CallRecord::State state,
                               int culprit) const {
  CallRecord record;
  record.sequence = operation.sequence;
  record.what = PackCall(operation.call);
  record.count = operation.call.total();
  record.state = state;
  record.culprit = culprit;
  if (operation.plan != nullptr) {
    record.fingerprint = Fingerprint(operation, operation.plan->plan);
  }
  return record;
}

bool GroupCore::Advance() {
  bool moved = false;
  while (!queue_.empty()) {
    Operation& head = *queue_.front().operation;
    if (queue_.front().refused) {
      links_->Publish(RecordOf(head, CallRecord::State::kRefused, rank()));
      links_->RingAll();
      queue_.pop_front();
      moved = true;
      continue;
    }
    if (!head.started) {
      const Status poison = links_->poison();
      if (!poison.ok()) {
        Fail(poison);
        return true;
      }
      Begin(head);
    }
    const Executor::Progress progress = head.plan->executor->Advance();
    Count(head);
    switch (progress) {
      case Executor::Progress::kDone:
        Complete();
        moved = true;
        continue;
      case Executor::Progress::kTrouble:
        HandleTrouble();
        moved = true;
        continue;
      case Executor::Progress::kMoved:
        return true;
      case Executor::Progress::kBlocked:
        return moved;
    }
  }
  return moved;
}

OpTraffic& GroupCore::TrafficOf(const Operation& operation) {
  return operation.call.is_split ? traffic_.split : traffic_[operation.call.op];
}

// Adds to the operation's kind what the channels have counted since the last time.
void GroupCore::Count(const Operation& operation) {
  const SentCounter sent = links_->sent();
  OpTraffic& traffic = TrafficOf(operation);
  traffic.bytes_sent += sent.bytes - counted_.bytes;
  traffic.messages_sent += sent.messages - counted_.messages;
  counted_ = sent;
}

void GroupCore::Complete() {
  const std::shared_ptr<Operation> head = queue_.front().operation;
  queue_.pop_front();
  if (!head->detour.empty()) {
    std::memcpy(head->call.out.data, head->detour.data(), head->detour.size());
  }
  Finish(*head, OkStatus());
}

void GroupCore::Finish(Operation& operation, const Status& status) {
  if (operation.done) return;  // was refused
  operation.status = status;
  operation.done = true;
  endpoint_->Finished(std::move(operation.callbacks), status);
  operation.callbacks.clear();
}

void GroupCore::FailCall(const Status& status, CallRecord::State state, int culprit) {
  const std::shared_ptr<Operation> head = queue_.front().operation;
  queue_.pop_front();
  head->plan->executor->Stop();
  links_->Publish(RecordOf(*head, state, culprit));
  links_->RingAll();
  Finish(*head, status);
}

void GroupCore::Fail(const Status& status) {
  over_ = status;
  // Even if the news came from another: whoever sees this rank leave must find the reason.
  links_->Poison(status);
  if (!queue_.empty() && queue_.front().operation->started) {
    queue_.front().operation->plan->executor->Stop();
  }
  while (!queue_.empty()) {
    Finish(*queue_.front().operation, status);
    queue_.pop_front();
  }
}

void GroupCore::HandleTrouble() {
  Operation& head = *queue_.front().operation;
  const Executor::Trouble& trouble = head.plan->executor->trouble();
  if (trouble.kind == Executor::Trouble::Kind::kLaterCall && GaveUp(head, trouble.peer)) return;
  if (trouble.kind == Executor::Trouble::Kind::kOtherShape && head.call.CountsArePrivate()) {
    const std::int64_t size = SizeOf(head.call.in.dtype);
    Fail(Status(StatusCode::kMismatch,
                fmt::format("{} #{}: {} sends {} elements to {}, which expects {} (group {})",
                            NameOf(head.call), head.sequence, RankName(trouble.peer),
                            trouble.header.bytes / size, RankName(rank()),
                            trouble.expected_bytes / size, settings_.name)));
    return;
  }
  if (trouble.kind == Executor::Trouble::Kind::kOtherShape) {
    Fail(Status(StatusCode::kInternal,
                fmt::format("{}: {} sent message {} of {} B, which {} does not expect: the "
                            "schedule {} does not fit together",
                            Place(head), RankName(trouble.peer), trouble.header.id,
                            trouble.header.bytes, RankName(rank()), head.plan->plan.algorithm)));
    return;
  }
  const bool left_over = trouble.kind == Executor::Trouble::Kind::kLeftOver;
  const CallRecord mine = left_over ? links_->Record(rank(), trouble.header.sequence)
                                    : RecordOf(head, CallRecord::State::kRunning, -1);
  Fail(MismatchWith(mine, trouble.peer, trouble.header.sequence));
}

// "all_reduce #17: rank 0 calls f32 x 10 sum, rank 2 calls f32 x 8 sum".
Status GroupCore::MismatchWith(const CallRecord& mine, int peer,
                               std::uint64_t their_sequence) const {
  const CallRecord theirs = links_->Record(peer, their_sequence);
  const bool is_known = theirs.state != CallRecord::State::kNone;
  const bool same_op = is_known && NameOfPacked(theirs.what) == NameOfPacked(mine.what);
  const auto describe = [&](const CallRecord& record) {
    std::string detail = DescribePacked(record.what, record.count);
    if (same_op && !detail.empty()) return detail;
    return fmt::format("{}{}{}", NameOfPacked(record.what), detail.empty() ? "" : " ", detail);
  };
  std::string sides[2] = {
      fmt::format("{} calls {}", RankName(rank()), describe(mine)),
      fmt::format("{} calls {}", RankName(peer), is_known ? describe(theirs) : "something else")};
  if (theirs.what == mine.what && theirs.count == mine.count && is_known) {
    sides[1] += fmt::format(", with {}", WhatElseMayDiffer(mine.what));
  }
  if (peer < rank()) std::swap(sides[0], sides[1]);
  const std::string_view title = same_op ? NameOfPacked(mine.what) : "operation";
  return Status(StatusCode::kMismatch,
                fmt::format("{} #{}: {}, {} (group {})", title, mine.sequence, sides[0], sides[1],
                            settings_.name));
}

GroupCore::Clock::time_point GroupCore::Inspect(Clock::time_point now) {
  const Clock::time_point never = now + std::chrono::hours(1);
  if (over_.ok()) {
    const Status poison = links_->poison();
    for (int peer = 0; over_.ok() && endpoint_->transport().failures() > 0 && peer < size();
         ++peer) {
      if (endpoint_->transport().peer_state(WorldRank(peer)) != PeerState::kLost) continue;
      const std::string where =
          queue_.empty() ? "" : fmt::format(" in {}", Place(*queue_.front().operation));
      Fail(Status(StatusCode::kPeerLost,
                  fmt::format("{} was lost: its process ended{}", RankName(peer), where)));
    }
    if (over_.ok() && !poison.ok()) Fail(poison);
  }
  if (queue_.empty()) return never;
  Operation& head = *queue_.front().operation;
  if (InspectPeers(head)) return now;
  Clock::time_point next = never;
  for (const Queued& queued : queue_) {
    Operation& operation = *queued.operation;
    if (queued.refused) continue;
    if (!operation.deadline.has_value()) operation.deadline = now + operation.timeout;
    if (*operation.deadline <= now) {
      Fail(Late(operation));
      return now;
    }
    next = std::min(next, *operation.deadline);
  }
  return next;
}

bool GroupCore::InspectPeers(Operation& head) {
  const std::vector<Executor::Wait> waits = head.plan->executor->Waits();
  return std::any_of(waits.begin(), waits.end(),
                     [&](const Executor::Wait& wait) { return InspectPeer(head, wait); });
}

bool GroupCore::InspectPeer(Operation& head, const Executor::Wait& wait) {
  const int peer = wait.peer;
  // First what the peer says, then once more whether it has sent: what it sent came before.
  const bool departed = links_->Departed(peer) ||
                        endpoint_->transport().peer_state(WorldRank(peer)) == PeerState::kLeft;
  const std::uint64_t published = departed ? 0 : links_->Published(peer);
  const CallRecord record = departed ? CallRecord() : links_->Record(peer, head.sequence);
  const std::vector<Executor::Wait> waits = head.plan->executor->Waits();
  const bool still = std::any_of(waits.begin(), waits.end(), [&](const Executor::Wait& other) {
    return other.peer == peer && other.sending == wait.sending;
  });
  if (!still) return false;
  if (departed) {
    // It may have left because of something that it told us before it went.
    const Status poison = links_->poison();
    if (!poison.ok()) {
      Fail(poison);
      return true;
    }
    Fail(Status(StatusCode::kPeerLost, fmt::format("{} has left the group; {} waits for it in {}",
                                                   RankName(peer), RankName(rank()), Place(head))));
    return true;
  }
  const bool gave_up = record.state == CallRecord::State::kRefused ||
                       record.state == CallRecord::State::kFailed || published > head.sequence;
  if (gave_up && GaveUp(head, peer)) return true;
  if (record.state == CallRecord::State::kRunning &&
      record.fingerprint != Fingerprint(head, head.plan->plan)) {
    Fail(MismatchWith(RecordOf(head, CallRecord::State::kRunning, -1), peer, head.sequence));
    return true;
  }
  return false;
}

bool GroupCore::GaveUp(Operation& head, int peer) {
  const CallRecord record = links_->Record(peer, head.sequence);
  const bool refused = record.state == CallRecord::State::kRefused;
  const int culprit = record.state == CallRecord::State::kFailed ? record.culprit : peer;
  if (record.state == CallRecord::State::kRunning) return false;  // it ended there: a mismatch
  const std::string why =
      refused || record.state == CallRecord::State::kNone
          ? fmt::format("{} refused its call; its own error says why", RankName(culprit))
          : fmt::format("{} gave up because {} refused its call", RankName(peer),
                        RankName(culprit));
  FailCall(InvalidArgument(fmt::format("{}: {}", Place(head), why)), CallRecord::State::kFailed,
           culprit);
  return true;
}

// "rank 2 waited 2000 ms for rank 0 in all_reduce #17 (group world, 4096 B)".
Status GroupCore::Late(const Operation& operation) const {
  const Operation& head = *queue_.front().operation;
  std::set<int> peers;
  for (const Executor::Wait& wait : head.plan->executor->Waits()) peers.insert(wait.peer);
  std::vector<std::string> names;
  for (const int peer : peers) names.push_back(RankName(peer));
  const std::string whom = peers.empty() ? "itself" : fmt::format("{}", fmt::join(names, ", "));
  return Status(StatusCode::kDeadlineExceeded,
                fmt::format("{} waited {} ms for {} in {}", RankName(rank()),
                            operation.timeout.count(), whom, Place(head)));
}

Traffic GroupCore::traffic() {
  if (endpoint_->InForkedChild()) return {};  // it has sent nothing itself
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  return traffic_;
}

void GroupCore::Abort(const std::string& reason) {
  if (endpoint_->InForkedChild()) return;
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  if (!over_.ok()) return;
  Fail(Status(StatusCode::kAborted,
              fmt::format("{} aborted group {}: {}", RankName(rank()), settings_.name, reason)));
}

int GroupCore::NextSplit() {
  if (endpoint_->InForkedChild()) return 0;  // the exchange will be refused
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  return ++splits_;
}

Group MakeGroup(std::shared_ptr<Endpoint> endpoint, std::unique_ptr<Links> links,
                GroupSettings settings) {
  auto core =
      std::make_shared<GroupCore>(std::move(endpoint), std::move(links), std::move(settings));
  return Group(std::make_shared<Group::Impl>(std::move(core)));
}

}  // namespace chorus
