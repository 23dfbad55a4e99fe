#include "chorus/collective/group_core.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
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

std::int64_t ClockTime() {
  return std::chrono::nanoseconds(GroupCore::Clock::now().time_since_epoch()).count();
}

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
  std::string title =
      fmt::format("{} #{}", NameOfPacked(PackCall(operation.call)), operation.sequence);
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

std::shared_ptr<Operation> GroupCore::Submit(const Call& call) {
  if (Status status = CheckProcess(Name(call.op)); !status.ok()) {
    auto operation = std::make_shared<Operation>();
    operation->done = true;
    operation->status = std::move(status);
    return operation;
  }
  Status checked = CheckCall(call, rank(), size());
  const std::lock_guard<std::mutex> lock(endpoint_->mutex());
  return Enqueue(call, std::move(checked));
}

Status GroupCore::Run(const Call& call) {
  if (endpoint_->InForkedChild()) return CheckProcess(Name(call.op));
  std::unique_lock<std::mutex> lock(endpoint_->mutex());
  // By another thread; and a refused one would still stand in the queue when it is used again.
  if (blocking_is_used_ || !idle()) {
    const std::shared_ptr<Operation> operation = Enqueue(call, CheckCall(call, rank(), size()));
    return endpoint_->Wait(*operation, lock);
  }
  blocking_.Reset();
  const bool has_shape = blocking_.HasShapeOf(call);
  const bool is_right = has_shape && blocking_.shape->HasPlainMemory(call);
  if (is_right && over_.ok() && !direct_.busy()) {
    if (RunAtOnce(blocking_, call) == Executor::Progress::kDone) return OkStatus();
  } else {
    Enqueue(blocking_, nullptr, call, has_shape,
            is_right ? OkStatus() : CheckCall(call, rank(), size()));
  }
  blocking_is_used_ = true;
  endpoint_->AdvanceUntilDone(blocking_, lock);
  blocking_is_used_ = false;
  Status status = std::move(blocking_.status);
  endpoint_->Unlock(lock);
  return status;
}

Executor::Progress GroupCore::RunAtOnce(Operation& operation, const Call& call) {
  operation.call.UseMemoryOf(call);
  operation.sequence = ++last_sequence_;
  operation.timeout = TimeoutOf(call.timeout);
  Executor::Progress progress = Executor::Progress::kBlocked;
  if (links_->poison().ok()) {
    Begin(operation);
    progress = operation.shape->executor->Advance();
    Count(operation);
  }
  if (progress == Executor::Progress::kDone) {
    Close(operation, CallRecord::End::kOk);
    Deliver(operation);
    return progress;
  }
  queue_.push_back({&operation, nullptr, false});
  if (progress == Executor::Progress::kTrouble) HandleTrouble();
  return progress;
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

std::shared_ptr<Operation> GroupCore::Enqueue(const Call& call, Status checked,
                                              std::shared_ptr<ListOperation> list,
                                              std::size_t part) {
  std::shared_ptr<Operation> operation = FreshOperation();
  operation->list = std::move(list);
  operation->part = part;
  Enqueue(*operation, operation, call, operation->HasShapeOf(call), std::move(checked));
  return operation;
}

void GroupCore::Enqueue(Operation& operation, std::shared_ptr<Operation> held, const Call& call,
                        bool has_shape, Status checked) {
  operation.sequence = ++last_sequence_;
  operation.timeout = TimeoutOf(call.timeout);
  if (!over_.ok()) {
    operation.call = call;
    operation.shape.reset();
    operation.done = true;
    operation.status = over_;
    if (operation.list != nullptr) EndPart(operation, over_);
    return;
  }
  // Whatever else can be refused, before an operation in front of it could hide it.
  if (checked.ok()) checked = Give(operation, call, has_shape);
  if (!checked.ok()) {
    operation.call = call;
    operation.call.group_size = size();
    operation.shape.reset();
    operation.KeepCounts();
    operation.done = true;
    operation.status =
        Status(checked.code(), fmt::format("{} (refused, as {} of group {})", checked.message(),
                                           Title(operation), settings_.name));
    if (operation.list != nullptr) EndPart(operation, operation.status);
  }
  queue_.push_back({&operation, std::move(held), !checked.ok()});
  Advance();
  if (!operation.done && !operation.started) {
    links_->Publish(RecordOf(operation, CallRecord::State::kPosted, -1));
  }
}

// Most calls are as the one before, whose shape the operation still has: only memory is new.
Status GroupCore::Give(Operation& operation, const Call& call, bool has_shape) {
  if (has_shape) {
    operation.call.UseMemoryOf(call);
    return OkStatus();
  }
  operation.shape.reset();
  operation.call = call;
  operation.call.group_size = size();
  CHORUS_ASSIGN_OR_RETURN(operation.shape, shapes_.For(operation.call));
  operation.call.BorrowFrom(operation.shape->call);
  return OkStatus();
}

std::chrono::milliseconds GroupCore::TimeoutOf(std::chrono::milliseconds wanted) const {
  return std::min(wanted.count() > 0 ? wanted : settings_.timeout, kLongestTimeout);
}

void GroupCore::Close(const Operation& operation, CallRecord::End end) {
  const std::int64_t now = operation.is_timed ? ClockTime() : 0;
  links_->Finish(operation.sequence, end, now);
  if (endpoint_->trace() != nullptr && operation.is_timed) Trace(operation, end, now);
}

GroupCore::Queued GroupCore::PopFront(CallRecord::End end) {
  Close(*front().operation, end);
  Queued popped = std::move(queue_[first_]);
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
  CallRecord& record = operation.shape->record;
  record.sequence = operation.sequence;
  if (operation.is_timed) operation.began = ClockTime();
  record.started = operation.is_timed ? operation.began : 0;
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
  return operation.call.agreement != Agreement::kNone ? traffic_.split
                                                      : traffic_[operation.call.op];
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
  const Queued popped = PopFront(CallRecord::End::kOk);
  Deliver(*popped.operation);
  Finish(*popped.operation, OkStatus());
}

void GroupCore::Deliver(Operation& operation) {
  if (operation.call.packed != nullptr) {
    Unpack(operation);
  } else if (!operation.detour.empty()) {
    std::memcpy(operation.call.out.data, operation.detour.data(), operation.detour.size());
  }
}

void GroupCore::Finish(Operation& operation, const Status& status) {
  if (operation.done) return;  // was refused
  operation.status = status;
  operation.done = true;
  if (!operation.callbacks.empty()) {
    endpoint_->Finished(std::move(operation.callbacks), status);
    operation.callbacks.clear();
  }
  if (operation.list != nullptr) EndPart(operation, status);
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
  std::unique_lock<std::mutex> lock(endpoint_->mutex());
  if (!over_.ok()) return;
  Fail(Status(StatusCode::kAborted,
              fmt::format("{} aborted group {}: {}", RankName(rank()), settings_.name, reason)));
  endpoint_->Unlock(lock);
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
