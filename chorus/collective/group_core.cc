#include "chorus/collective/group_core.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "chorus/collective/flight.h"
#include "chorus/collective/member_name.h"

namespace chorus {
namespace {

// Operations kept for the next calls; more may be in flight, but those are then made anew.
constexpr std::size_t kPool = 16;

// Calls after which the history of a group begins anew.
constexpr std::uint64_t kHistory = 64;

// Of calls that are not large, every so many is timed in its record.
constexpr std::uint64_t kTimedEvery = 16;

constexpr std::size_t kReportedRows = 12;

std::int64_t ClockTime() {
  return std::chrono::nanoseconds(GroupCore::Clock::now().time_since_epoch()).count();
}

// A rank that waits for room in a lane is not rung when there is some: it looks again.
constexpr std::chrono::microseconds kRoomPatience{100};

}  // namespace

GroupCore::GroupCore(std::shared_ptr<Endpoint> endpoint, std::unique_ptr<Links> links,
                     GroupSettings settings)
    : endpoint_(std::move(endpoint)),
      settings_(std::move(settings)),
      links_(std::move(links)),
      shapes_(links_.get(), &endpoint_->transport(), settings_.kernels, settings_.ways,
              settings_.choices.get()),
      direct_(links_.get(), &endpoint_->transport(), memory_, settings_.name,
              [this](Operation& operation, const Status& status) { Finish(operation, status); }),
      counted_(links_->sent()) {
  // As much as calls that do not pile up ever need.
  queue_.reserve(kPool);
  pool_.reserve(kPool);
  inspected_.reserve(2 * static_cast<std::size_t>(size()));
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  endpoint_->Add(this);
}

GroupCore::~GroupCore() {
  // In the child of a fork the mutex may be held by a thread that does not exist there.
  if (endpoint_->InForkedChild()) return;
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  endpoint_->Remove(this);
  if (!idle() && front().operation->started) front().operation->shape->executor->Stop();
  links_.reset();
}

std::string GroupCore::Title(const Operation& operation) {
  std::string title = fmt::format(
      "{} #{}", operation.call.is_split ? "split" : Name(operation.call.op), operation.sequence);
  if (operation.list != nullptr) title += ", " + operation.list->Describe(operation.part);
  return title;
}

std::string GroupCore::RankName(int member) const { return MemberName(*links_, member); }

std::string GroupCore::RankNames(const std::vector<int>& members) const {
  constexpr std::size_t kFew = 4;
  if (members.size() > kFew) return NameMembers(members);
  std::vector<std::string> names;
  for (const int member : members) names.push_back(RankName(member));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string GroupCore::Place(const Operation& operation) const {
  return fmt::format("{} (group {}, {} B)", Title(operation), settings_.name,
                     operation.call.total() * SizeOf(operation.call.in.dtype));
}

Status GroupCore::CheckProcess(std::string_view what) const {
  if (!endpoint_->InForkedChild()) return OkStatus();
  return Status(StatusCode::kAborted,
                fmt::format("{}: this process was forked from rank {} and is no rank itself; use "
                            "the group in the parent, or Join anew",
                            what, rank()));
}

std::shared_ptr<Operation> GroupCore::Submit(Call call) {
  if (Status status = CheckProcess(Name(call.op)); !status.ok()) {
    auto operation = std::make_shared<Operation>();
    operation->done = true;
    operation->status = std::move(status);
    return operation;
  }
  call.group_size = size();
  Status checked = CheckCall(call, rank(), size());
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  return Enqueue(std::move(call), std::move(checked));
}

Status GroupCore::Run(Call call) {
  CHORUS_RETURN_IF_ERROR(CheckProcess(Name(call.op)));
  call.group_size = size();
  Status checked = CheckCall(call, rank(), size());
  std::unique_lock<std::mutex> lock(endpoint_->mutex());
  const std::shared_ptr<Operation> operation = Enqueue(std::move(call), std::move(checked));
  return endpoint_->Wait(*operation, lock);
}

std::shared_ptr<Operation> GroupCore::FreshOperation() {
  for (const std::shared_ptr<Operation>& operation : pool_) {
    // Only this list holds it, so no other thread can come by it: they would have to copy a handle
    // that nobody has.
    if (operation.use_count() != 1) continue;
    operation->Reset();
    return operation;
  }
  auto operation = MakeKept<Operation>(memory_);
  if (pool_.size() < kPool) pool_.push_back(operation);
  return operation;
}

std::shared_ptr<Operation> GroupCore::Enqueue(Call call, Status checked,
                                              std::shared_ptr<ListOperation> list,
                                              std::size_t part) {
  std::shared_ptr<Operation> operation = FreshOperation();
  operation->call = std::move(call);
  operation->list = std::move(list);
  operation->part = part;
  operation->sequence = ++last_sequence_;
  operation->timeout = TimeoutOf(operation->call.timeout);
  if (!over_.ok()) {
    operation->shape.reset();
    operation->done = true;
    operation->status = over_;
    if (operation->list != nullptr) EndPart(*operation, over_);
    return operation;
  }
  if (checked.ok()) {
    // Whatever else can be refused, before an operation in front of it could hide it.
    checked = GiveShape(*operation);
  }
  if (!checked.ok()) {
    operation->shape.reset();
    operation->KeepCounts();
    operation->done = true;
    operation->status =
        Status(checked.code(), fmt::format("{} (refused, as {} of group {})", checked.message(),
                                           Title(*operation), settings_.name));
    if (operation->list != nullptr) EndPart(*operation, operation->status);
  }
  queue_.push_back({operation, !checked.ok()});
  Advance();
  if (!operation->done && !operation->started) {
    links_->Publish(RecordOf(*operation, CallRecord::State::kPosted, -1));
  }
  return operation;
}

// Most calls are as the one before, whose shape the operation still has.
Status GroupCore::GiveShape(Operation& operation) {
  if (operation.shape == nullptr || !operation.shape->IsOf(operation.call)) {
    CHORUS_ASSIGN_OR_RETURN(operation.shape, shapes_.For(operation.call));
  }
  operation.call.BorrowFrom(operation.shape->call);
  return OkStatus();
}

std::chrono::milliseconds GroupCore::TimeoutOf(std::chrono::milliseconds wanted) const {
  return std::min(wanted.count() > 0 ? wanted : settings_.timeout, kLongestTimeout);
}

std::shared_ptr<Operation> GroupCore::PopFront(CallRecord::End end) {
  const Operation& head = *front().operation;
  const std::int64_t now = head.is_timed ? ClockTime() : 0;
  links_->Finish(head.sequence, end, now);
  if (endpoint_->trace() != nullptr && head.is_timed) Trace(head, end, now);
  std::shared_ptr<Operation> popped = std::move(queue_[first_].operation);
  ++first_;
  if (idle()) {
    queue_.clear();
    first_ = 0;
  } else if (first_ > 64 && first_ > queue_.size() / 2) {
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  return popped;
}

void GroupCore::Trace(const Operation& operation, CallRecord::End end, std::int64_t now) const {
  TraceRecorder::Span span;
  span.name = Title(operation);
  span.group = settings_.name;
  span.algorithm = links_->LabelOf(rank(), operation.shape->record.label);
  span.bytes = operation.call.total() * SizeOf(operation.call.in.dtype);
  span.failed = end != CallRecord::End::kOk;
  span.begin = std::chrono::nanoseconds(operation.began);
  span.end = std::chrono::nanoseconds(now);
  endpoint_->trace()->Add(std::move(span));
}

void GroupCore::Begin(Operation& operation) {
  operation.started = true;
  ++TrafficOf(operation).calls;
  const Call& call = operation.call;
  // Forgotten now and then, so that ranks which a refused call has set apart meet again.
  if (operation.sequence % kHistory == 0) history_ = 0;
  history_ = Chain(history_, operation.shape->binding.fingerprint);
  CallMemory memory = {call.in.data, call.out.data, operation.sequence, history_};
  if (NeedsDetour(call, rank())) {
    operation.detour.resize(static_cast<std::size_t>(call.out.count * SizeOf(call.out.dtype)));
    memory.out = operation.detour.data();
  }
  if (call.packed != nullptr) {
    memory.in = memory.out = Pack(operation);
    links_->PublishParts(operation.sequence, operation.shape->part_counts);
  }
  operation.is_timed = operation.sequence % kTimedEvery == 0 || operation.shape->is_large ||
                       endpoint_->trace() != nullptr;
  CallRecord record = RecordOf(operation, CallRecord::State::kRunning, -1);
  if (operation.is_timed) record.started = operation.began = ClockTime();
  links_->Publish(record);
  operation.shape->executor->Start(operation.shape->binding, memory);
}

CallRecord GroupCore::RecordOf(const Operation& operation, CallRecord::State state,
                               int culprit) const {
  CallRecord record;
  if (operation.shape != nullptr) {
    record = operation.shape->record;
  } else {
    record.what = PackCall(operation.call);
    record.count = operation.call.total();
  }
  record.sequence = operation.sequence;
  record.state = state;
  record.culprit = culprit;
  return record;
}

bool GroupCore::Advance() {
  bool moved = direct_.busy() && direct_.Advance();
  while (!idle()) {
    Operation& head = *front().operation;
    if (front().refused) {
      links_->Publish(RecordOf(head, CallRecord::State::kRefused, rank()));
      links_->RingAll();
      PopFront(CallRecord::End::kFailed);
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
    const Executor::Progress progress = head.shape->executor->Advance();
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
  const std::shared_ptr<Operation> head = PopFront(CallRecord::End::kOk);
  if (head->call.packed != nullptr) {
    Unpack(*head);
  } else if (!head->detour.empty()) {
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
  if (operation.list != nullptr) EndPart(operation, status);
}

void GroupCore::FailCall(const Status& status, CallRecord::State state, int culprit) {
  const std::shared_ptr<Operation> head = front().operation;
  head->shape->executor->Stop();
  links_->Publish(RecordOf(*head, state, culprit));
  PopFront(CallRecord::End::kFailed);
  links_->RingAll();
  Finish(*head, status);
}

void GroupCore::Fail(const Status& status) {
  over_ = status;
  Report(status);
  // Even if the news came from another: whoever sees this rank leave must find the reason.
  links_->Poison(status);
  if (!idle() && front().operation->started) {
    front().operation->shape->executor->Stop();
    endpoint_->PutMemoryAside();
  }
  while (!idle()) {
    Finish(*front().operation, status);
    PopFront(CallRecord::End::kFailed);
  }
  direct_.FailAll(status);
}

void GroupCore::HandleTrouble() {
  Operation& head = *front().operation;
  const Executor::Trouble& trouble = head.shape->executor->trouble();
  if (trouble.kind == Executor::Trouble::Kind::kUnreadable) {
    Fail(Internal(fmt::format("{}: {}", Place(head), trouble.why)));
    return;
  }
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
    Fail(Status(
        StatusCode::kInternal,
        fmt::format("{}: {} sent message {} of {} B, which {} does not expect: the "
                    "schedule {} does not fit together",
                    Place(head), RankName(trouble.peer), trouble.header.id, trouble.header.bytes,
                    RankName(rank()), head.shape->plan->plan.algorithm)));
    return;
  }
  const bool left_over = trouble.kind == Executor::Trouble::Kind::kLeftOver;
  const CallRecord mine = left_over ? links_->Record(rank(), trouble.header.sequence)
                                    : RecordOf(head, CallRecord::State::kRunning, -1);
  Fail(MismatchWith(mine, trouble.peer, trouble.header.sequence));
}

// "all_reduce #17: rank 0 calls f32 x 10 sum, rank 2 calls f32 x 8 sum".
Status GroupCore::MismatchWith(CallRecord mine, int peer, std::uint64_t their_sequence) const {
  CallRecord theirs = links_->Record(peer, their_sequence);
  const std::string which = FirstThatDiffers(mine, theirs, peer);
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
                fmt::format("{} #{}{}: {}, {} (group {})", title, mine.sequence, which, sides[0],
                            sides[1], settings_.name));
}

GroupCore::Clock::time_point GroupCore::Inspect(Clock::time_point now) {
  const Clock::time_point never = now + std::chrono::hours(1);
  if (over_.ok()) {
    const Status poison = links_->poison();
    for (int peer = 0; over_.ok() && endpoint_->transport().failures() > 0 && peer < size();
         ++peer) {
      if (endpoint_->transport().peer_state(WorldRank(peer)) != PeerState::kLost) continue;
      const std::string where = idle() ? "" : fmt::format(" in {}", Place(*front().operation));
      Fail(Status(StatusCode::kPeerLost,
                  fmt::format("{} was lost: its process ended{}", RankName(peer), where)));
    }
    if (over_.ok() && !poison.ok()) Fail(poison);
  }
  Clock::time_point next = never;
  if (over_.ok()) {
    if (const Status status = direct_.Inspect(now, &next); !status.ok()) {
      Fail(status);
      return now;
    }
  }
  if (idle()) return next;
  Operation& head = *front().operation;
  if (InspectPeers(head)) return now;
  const std::vector<Executor::Wait>& waits = head.shape->executor->Waits();
  if (waits.empty()) return now;  // what was missing has come since, and need not have rung
  if (std::any_of(waits.begin(), waits.end(), [](const auto& wait) { return wait.sending; })) {
    next = std::min(next, now + kRoomPatience);
  }
  for (std::size_t i = first_; i < queue_.size(); ++i) {
    Operation& operation = *queue_[i].operation;
    if (queue_[i].refused) continue;
    if (!operation.deadline.has_value()) {
      operation.deadline = now + operation.timeout;
      // It takes long, so it can be timed too.
      if (operation.started && !operation.is_timed) {
        operation.is_timed = true;
        operation.began = std::chrono::nanoseconds(now.time_since_epoch()).count();
        links_->AddStart(operation.sequence, operation.began);
      }
    }
    if (*operation.deadline <= now) {
      Fail(Late(operation));
      return now;
    }
    next = std::min(next, *operation.deadline);
  }
  return next;
}

bool GroupCore::InspectPeers(Operation& head) {
  inspected_ = head.shape->executor->Waits();  // a copy, since InspectPeer looks again
  return std::any_of(inspected_.begin(), inspected_.end(),
                     [&](const Executor::Wait& wait) { return InspectPeer(head, wait); });
}

bool GroupCore::InspectPeer(Operation& head, const Executor::Wait& wait) {
  const int peer = wait.peer;
  // First what the peer says, then once more whether it has sent: what it sent came before.
  const bool departed = links_->Departed(peer) ||
                        endpoint_->transport().peer_state(WorldRank(peer)) == PeerState::kLeft;
  const std::uint64_t published = departed ? 0 : links_->Published(peer);
  const CallRecord record = departed ? CallRecord() : links_->Record(peer, head.sequence);
  const std::vector<Executor::Wait>& waits = head.shape->executor->Waits();
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
      record.fingerprint != head.shape->binding.fingerprint) {
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

std::vector<int> GroupCore::Absent(std::uint64_t sequence) const {
  std::vector<int> absent;
  for (int member = 0; member < size(); ++member) {
    if (member != rank() && links_->Published(member) < sequence) absent.push_back(member);
  }
  return absent;
}

// "rank 2 waited 2000 ms for rank 0 in all_reduce #17 (group world, 4096 B); rank 0 has not called
// it". A barrier waits for one message after another, so there who is absent is who it waits for.
Status GroupCore::Late(const Operation& operation) const {
  const Operation& head = *front().operation;
  const std::vector<int> absent = Absent(head.sequence);
  std::set<int> peers;
  for (const Executor::Wait& wait : head.shape->executor->Waits()) peers.insert(wait.peer);
  const bool is_barrier = head.call.op == OpKind::kBarrier && !absent.empty();
  const std::vector<int> awaited = is_barrier ? absent : std::vector(peers.begin(), peers.end());
  std::string text =
      fmt::format("{} waited {} ms for {} in {}", RankName(rank()), operation.timeout.count(),
                  awaited.empty() ? "itself" : RankNames(awaited), Place(head));
  if (!absent.empty()) {
    text += is_barrier ? ", which" : fmt::format("; {}", RankNames(absent));
    text += absent.size() == 1 ? " has not called it" : " have not called it";
  }
  return Status(StatusCode::kDeadlineExceeded, std::move(text));
}

void GroupCore::Report(const Status& status) const {
  const bool is_told =
      status.code() == StatusCode::kDeadlineExceeded || status.code() == StatusCode::kMismatch;
  if (!is_told || !settings_.report || !links_->poison().ok()) return;
  settings_.report(fmt::format("chorus: {}\n{}", status.message(), MergedRecords(kReportedRows)));
}

std::string GroupCore::MergedRecords(std::size_t rows) const {
  std::vector<std::vector<OperationRecord>> records;
  for (int member = 0; member < size(); ++member) {
    records.push_back(ReadRecords(*links_, member, Links::kRecords));
  }
  return MergeRecords(settings_.name, records, std::chrono::nanoseconds(ClockTime()), rows);
}

std::string GroupCore::FlightReport(std::size_t rows) const {
  if (endpoint_->InForkedChild()) return "";
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  return MergedRecords(rows);
}

std::vector<OperationRecord> GroupCore::Records(int member, std::size_t most) const {
  if (endpoint_->InForkedChild() || member < 0 || member >= size()) return {};
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  return ReadRecords(*links_, member, most);
}

Traffic GroupCore::traffic() {
  if (endpoint_->InForkedChild()) return {};  // it has sent nothing itself
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  Traffic traffic = traffic_;
  traffic.point_to_point = direct_.traffic();
  return traffic;
}

void GroupCore::Abort(const std::string& reason) {
  if (endpoint_->InForkedChild()) return;
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  if (!over_.ok()) return;
  Fail(Status(StatusCode::kAborted,
              fmt::format("{} aborted group {}: {}", RankName(rank()), settings_.name, reason)));
}

Status GroupCore::EndForShrink() {
  if (is_shrunk_) {
    return InvalidArgument(fmt::format(
        "shrink: group {} was shrunk before; shrink the group that came of it", settings_.name));
  }
  is_shrunk_ = true;
  if (over_.ok()) {
    Fail(Status(StatusCode::kAborted,
                fmt::format("{} shrinks group {}", RankName(rank()), settings_.name)));
  }
  return OkStatus();
}

int GroupCore::NextSplit() {
  if (endpoint_->InForkedChild()) return 0;  // the exchange will be refused
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  return ++splits_;
}

const std::shared_ptr<GroupCore>& CoreOf(const Group& group) { return group.impl_->core(); }

Group MakeGroup(std::shared_ptr<Endpoint> endpoint, std::unique_ptr<Links> links,
                GroupSettings settings) {
  auto core =
      std::make_shared<GroupCore>(std::move(endpoint), std::move(links), std::move(settings));
  return Group(std::make_shared<Group::Impl>(std::move(core)));
}

}  // namespace chorus
