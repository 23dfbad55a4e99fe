// What a group does about a call that cannot go on: messages that do not fit, ranks that are late,
// have gone or have refused it.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chorus/collective/group_core.h"

namespace chorus {
namespace {

constexpr std::size_t kReportedRows = 12;

// A rank that waits for room in a lane is not rung when there is some: it looks again.
constexpr std::chrono::microseconds kRoomPatience{100};

}  // namespace

void GroupCore::FailCall(const Status& status, CallRecord::State state, int culprit) {
  front().operation->shape->executor->Stop();
  links_->Publish(RecordOf(*front().operation, state, culprit));
  const Queued popped = PopFront(CallRecord::End::kFailed);
  links_->RingAll();
  Finish(*popped.operation, status);
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

}  // namespace chorus
