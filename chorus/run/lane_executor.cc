#include "chorus/run/lane_executor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "chorus/kernel/convert.h"
#include "chorus/run/agreement.h"
#include "chorus/run/block_start.h"

namespace chorus {
LaneExecutor::LaneExecutor(const LoweredPlan* plan, const Binding* binding, Links* links,
                           ScratchMemory* scratch, KernelSet kernels, unsigned first_phase)
    : Executor(plan->group_size),
      plan_(*plan),
      binding_(*binding),
      links_(*links),
      scratch_memory_(*scratch),
      kernels_(kernels),
      is_one_way_(HasRoot(plan->op)),
      slots_(static_cast<std::size_t>(plan->frame.tmp_slots + plan->frame.acc_slots), -1) {
  const auto n = static_cast<std::size_t>(plan->group_size);
  std::vector<unsigned> sent(n, first_phase);
  std::vector<unsigned> taken(n, first_phase);
  const auto bytes_of = [](const std::vector<Part>& parts) {
    std::int64_t bytes = 0;
    for (const Part& part : parts) bytes += part.bytes;
    return bytes;
  };
  std::size_t most = 0;
  for (const Instruction& x : plan_.instructions) {
    Action action;
    action.kind = x.kind;
    action.finish = x.finish;
    for (const Chunk& chunk : x.chunks) action.parts.push_back(PartOf(chunk));
    if (x.kind == Instruction::Kind::kReduce) {
      action.count = action.parts[0].bytes / SizeOf(action.parts[0].dtype);
      for (const Operand& operand : x.operands) {
        Source source;
        source.is_message = operand.is_message;
        source.scaled = operand.chunk.scaled;
        source.part = PartOf(operand.chunk);
        if (operand.is_message) {
          const auto peer = static_cast<std::size_t>(operand.peer);
          source.message = {static_cast<int>(operand.peer), taken[peer]++, source.part.bytes};
        }
        action.sources.push_back(source);
      }
      action.is_copy = !Reduces(plan_.op) && action.sources.size() == 1 &&
                       action.sources[0].part.dtype == action.parts[0].dtype;
      most = std::max(most, action.sources.size());
    } else {
      const auto peer = static_cast<std::size_t>(x.peer);
      unsigned& phase = (x.kind == Instruction::Kind::kSend ? sent : taken)[peer];
      action.message = {static_cast<int>(x.peer), phase++, bytes_of(action.parts)};
    }
    actions_.push_back(std::move(action));
  }
  operands_.resize(most);
}

LaneExecutor::Part LaneExecutor::PartOf(const Chunk& chunk) {
  Part part;
  const bool acc = HoldsAccumulators(chunk.buffer);
  part.dtype = acc ? AccumulatorOf(binding_.dtype) : binding_.dtype;
  part.bytes = binding_.block_elements[static_cast<std::size_t>(chunk.block)] * SizeOf(part.dtype);
  part.buffer = chunk.buffer;
  if (!IsScratch(chunk.buffer)) {
    part.offset = BlockStart(chunk.buffer, chunk.block, binding_) * SizeOf(part.dtype);
    return part;
  }
  part.buffer = BufferKind::kTmp;
  std::int64_t& slot =
      slots_[static_cast<std::size_t>(chunk.slot + (acc ? plan_.frame.tmp_slots : 0))];
  if (slot < 0) {
    // Large enough for whichever block is in it.
    slot = scratch_bytes_;
    scratch_bytes_ += ScratchMemory::RoundUpToLine(binding_.LargestBlock() * SizeOf(part.dtype));
  }
  part.offset = slot;
  return part;
}

void LaneExecutor::Start(const Binding& /*binding*/, const CallMemory& memory) {
  memory_ = memory;
  if (scratch_bytes_ > 0) scratch_ = scratch_memory_.Reserve(scratch_bytes_);
  next_ = next_source_ = first_post_ = 0;
  trouble_.reset();
}

Executor::Progress LaneExecutor::Advance() {
  const std::size_t first = next_;
  while (next_ < actions_.size()) {
    const Action& action = actions_[next_];
    if (action.kind != Instruction::Kind::kSend) WakeReceivers();
    if (!Do(action)) {
      WakeReceivers();
      const int looks = Looks(action);
      for (int look = 1; !Do(action); ++look) {
        if (trouble_.has_value()) return Progress::kTrouble;
        if (look >= looks) return next_ > first ? Progress::kMoved : Progress::kBlocked;
      }
    }
    ++next_;
    next_source_ = 0;
  }
  WakeReceivers();
  return Progress::kDone;
}

void LaneExecutor::WakeReceivers() {
  if (first_post_ == next_) return;
  links_.PostsAreOut();
  for (; first_post_ < next_; ++first_post_) {
    const Action& action = actions_[first_post_];
    if (action.kind == Instruction::Kind::kSend) links_.lane_to(action.message.peer).Wake();
  }
}

std::byte* LaneExecutor::At(const Part& part) const {
  switch (part.buffer) {
    case BufferKind::kIn:  // only ever read
      return static_cast<std::byte*>(const_cast<void*>(memory_.in)) + part.offset;
    case BufferKind::kOut:
      return static_cast<std::byte*>(memory_.out) + part.offset;
    default:
      return scratch_ + part.offset;
  }
}

bool LaneExecutor::Do(const Action& action) {
  switch (action.kind) {
    case Instruction::Kind::kSend:
      return Send(action);
    case Instruction::Kind::kRecv:
      return Recv(action);
    case Instruction::Kind::kReduce:
      break;
  }
  return Reduce(action);
}

bool LaneExecutor::Send(const Action& action) {
  const Message& message = action.message;
  LaneSender& lane = links_.lane_to(message.peer);
  if (!lane.Room(memory_.sequence)) return false;
  std::byte* to = lane.Payload(memory_.sequence, message.phase, message.bytes);
  for (const Part& part : action.parts) {
    if (part.bytes > 0) std::memcpy(to, At(part), static_cast<std::size_t>(part.bytes));
    to += part.bytes;
  }
  lane.Post(memory_.sequence, message.phase, memory_.history, message.bytes);
  return true;
}

const std::byte* LaneExecutor::Find(const Message& message) {
  const LaneLine* const line = AgreedLine(links_, message.peer, message.phase, memory_, trouble_);
  if (line != nullptr && is_one_way_) {
    links_.lane_from(message.peer).LookAhead(memory_.sequence, message.phase);
  }
  return line == nullptr ? nullptr : LaneReceiver::Payload(line, message.bytes);
}

bool LaneExecutor::Recv(const Action& action) {
  const std::byte* from = Find(action.message);
  if (from == nullptr) return false;
  for (const Part& part : action.parts) {
    if (part.bytes > 0) std::memcpy(At(part), from, static_cast<std::size_t>(part.bytes));
    from += part.bytes;
  }
  return true;
}

bool LaneExecutor::Reduce(const Action& action) {
  if (action.is_copy) return Copy(action);
  for (; next_source_ < action.sources.size(); ++next_source_) {
    const Source& source = action.sources[next_source_];
    ReduceSource& operand = operands_[next_source_];
    operand.dtype = source.part.dtype;
    operand.scaled = source.scaled;
    if (source.is_message) {
      operand.data = Find(source.message);
      if (operand.data == nullptr) return false;
    } else if (action.count > 0) {
      operand.data = At(source.part);
    }
  }
  if (action.count == 0) return true;
  const Part& dst = action.parts[0];
  void* const place = At(dst);
  ReduceArgs args = binding_.Args(action.finish, plan_.group_size);
  args.sources = std::span(operands_).first(action.sources.size());
  args.dsts = {&place, 1};
  args.dst_dtype = dst.dtype;
  args.count = action.count;
  chorus::Reduce(kernels_, args);
  return true;
}

bool LaneExecutor::Copy(const Action& action) {
  const Source& source = action.sources[0];
  const std::byte* const from = source.is_message ? Find(source.message) : At(source.part);
  if (source.is_message && from == nullptr) return false;
  std::byte* const to = At(action.parts[0]);
  if (action.count > 0 && from != to)
    std::memcpy(to, from, static_cast<std::size_t>(action.parts[0].bytes));
  return true;
}

bool LaneExecutor::HasCome(const Message& message) const {
  return links_.lane_from(message.peer).Look(memory_.sequence, message.phase) != nullptr;
}

// As few as for any message that is missing.
int LaneExecutor::Looks(const Action& action) const {
  if (action.kind != Instruction::Kind::kReduce) return links_.Looks(action.message.peer);
  int looks = std::numeric_limits<int>::max();
  for (std::size_t s = next_source_; s < action.sources.size(); ++s) {
    const Source& source = action.sources[s];
    if (!source.is_message || HasCome(source.message)) continue;
    looks = std::min(looks, links_.Looks(source.message.peer));
  }
  return looks;
}

const std::vector<Executor::Wait>& LaneExecutor::Waits() {
  waits_.clear();
  if (next_ == actions_.size()) return waits_;
  const Action& action = actions_[next_];
  if (action.kind == Instruction::Kind::kSend) {
    if (!links_.lane_to(action.message.peer).Room(memory_.sequence)) {
      waits_.push_back({action.message.peer, true});
    }
  } else if (action.kind == Instruction::Kind::kRecv) {
    if (!HasCome(action.message)) waits_.push_back({action.message.peer, false});
  }
  for (const Source& source : action.sources) {
    if (source.is_message && !HasCome(source.message)) {
      waits_.push_back({source.message.peer, false});
    }
  }
  return waits_;
}

}  // namespace chorus
