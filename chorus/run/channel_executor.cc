#include "chorus/run/channel_executor.h"

#include <algorithm>
#include <cstring>

#include "chorus/kernel/convert.h"
#include "chorus/kernel/reduce.h"
#include "chorus/run/block_start.h"

namespace chorus {
namespace {

// Blocks that are larger do not stay in the caches anyway.
constexpr std::int64_t kLeastStreamedBlock = std::int64_t{8} << 20;

}  // namespace

ChannelExecutor::ChannelExecutor(const LoweredPlan* plan, Links* links, ScratchMemory* scratch,
                                 KernelSet kernels)
    : Executor(plan->group_size),
      plan_(*plan),
      links_(*links),
      scratch_memory_(*scratch),
      kernels_(kernels),
      statics_(plan->instructions.size()),
      slots_(static_cast<std::size_t>(plan->frame.tmp_slots + plan->frame.acc_slots), -1),
      tiles_(static_cast<std::size_t>(plan->frame.tiles)),
      channels_(static_cast<std::size_t>(plan->group_size)) {
  const auto use = [this](const Chunk& chunk) {
    if (!IsScratch(chunk.buffer)) return;
    const bool acc = HoldsAccumulators(chunk.buffer);
    std::int64_t& slot =
        slots_[static_cast<std::size_t>(chunk.slot + (acc ? plan_.frame.tmp_slots : 0))];
    if (slot < 0) slot = used_slots_++;
  };
  std::size_t most = 0;
  for (std::size_t i = 0; i < statics_.size(); ++i) {
    const Instruction& x = plan_.instructions[i];
    most = std::max(most, x.operands.size());
    for (const Chunk& chunk : x.chunks) use(chunk);
    for (const std::int64_t before : x.after) {
      statics_[static_cast<std::size_t>(before)].successors.push_back(static_cast<std::int64_t>(i));
    }
    const auto channel = [this](std::int64_t peer) -> Channel& {
      return channels_[static_cast<std::size_t>(peer)];
    };
    if (x.kind == Instruction::Kind::kSend) {
      statics_[i].send_position = channel(x.peer).sends_per_tile++;
    } else if (x.kind == Instruction::Kind::kRecv) {
      statics_[i].take_positions.push_back(channel(x.peer).takes_per_tile++);
    }
    for (const Operand& operand : x.operands) {
      if (operand.is_message) {
        statics_[i].take_positions.push_back(channel(operand.peer).takes_per_tile++);
      } else {
        use(operand.chunk);
      }
    }
  }
  sources_.resize(most);
}

void ChannelExecutor::Start(const Binding& binding, const CallMemory& memory) {
  binding_ = &binding;
  memory_ = memory;
  const std::int64_t largest = binding.LargestBlock();
  streams_ = largest * SizeOf(binding.dtype) >= kLeastStreamedBlock;
  const std::int64_t tile = std::min(binding.tile_elements, std::max<std::int64_t>(largest, 1));
  tile_elements_ = tile;
  tile_count_ = std::max<std::int64_t>((largest + tile - 1) / tile, 1);
  slot_bytes_ = ScratchMemory::RoundUpToLine(std::min(tile, largest) *
                                             SizeOf(AccumulatorOf(binding_->dtype)));
  const std::int64_t in_flight = std::min<std::int64_t>(std::ssize(tiles_), tile_count_);
  if (used_slots_ > 0) scratch_ = scratch_memory_.Reserve(in_flight * used_slots_ * slot_bytes_);
  for (Channel& channel : channels_) channel.sent = channel.taken = 0;
  next_tile_ = 0;
  tiles_left_ = tile_count_;
  for (Tile& each : tiles_) each.number = -1;
  for (std::int64_t i = 0; i < in_flight; ++i) {
    StartTile(tiles_[static_cast<std::size_t>(i)], next_tile_++);
  }
}

void ChannelExecutor::StartTile(Tile& tile, std::int64_t number) {
  tile.number = number;
  tile.left = std::ssize(plan_.instructions);
  tile.running.assign(plan_.instructions.size(), Running());
  for (std::size_t i = 0; i < tile.running.size(); ++i) {
    tile.running[i].waits = std::ssize(plan_.instructions[i].after);
  }
}

ChannelExecutor::Progress ChannelExecutor::Advance() {
  bool moved = false;
  for (bool again = true; again && tiles_left_ > 0;) {
    again = false;
    for (Tile& tile : tiles_) {
      if (tile.number < 0) continue;
      const Outcome outcome = AdvanceTile(tile);
      if (outcome == Outcome::kTrouble) return Progress::kTrouble;
      if (outcome != Outcome::kNothing) again = moved = true;
      if (tile.left > 0) continue;
      // Its scratch is free: tile number + tiles may start, and does so on this copy.
      --tiles_left_;
      tile.number = -1;
      if (next_tile_ < tile_count_) StartTile(tile, next_tile_++);
      again = moved = true;
    }
  }
  if (tiles_left_ == 0) return Progress::kDone;
  return moved ? Progress::kMoved : Progress::kBlocked;
}

ChannelExecutor::Outcome ChannelExecutor::AdvanceTile(Tile& tile) {
  Outcome result = Outcome::kNothing;
  for (std::size_t i = 0; i < tile.running.size(); ++i) {
    Running& running = tile.running[i];
    if (running.ended || running.waits > 0 || !IsNext(tile, i)) continue;
    const Outcome outcome = Step(tile, i, running);
    if (outcome == Outcome::kTrouble) return outcome;
    if (outcome == Outcome::kNothing) continue;
    result = Outcome::kMoved;
    if (outcome != Outcome::kEnded) continue;
    running.ended = true;
    --tile.left;
    for (const std::int64_t successor : statics_[i].successors) {
      --tile.running[static_cast<std::size_t>(successor)].waits;
    }
  }
  return result;
}

// Whether the messages of an instruction are the next ones of their channels.
bool ChannelExecutor::IsNext(const Tile& tile, std::size_t i) const {
  const Instruction& x = plan_.instructions[i];
  const Static& facts = statics_[i];
  const auto is_next = [&](std::int64_t peer, std::int64_t position) {
    const Channel& channel = channels_[static_cast<std::size_t>(peer)];
    return channel.taken == tile.number * channel.takes_per_tile + position;
  };
  if (x.kind == Instruction::Kind::kSend) {
    const Channel& channel = channels_[static_cast<std::size_t>(x.peer)];
    return channel.sent == tile.number * channel.sends_per_tile + facts.send_position;
  }
  if (x.kind == Instruction::Kind::kRecv) return is_next(x.peer, facts.take_positions[0]);
  std::size_t taken = 0;
  for (const Operand& operand : x.operands) {
    if (operand.is_message && !is_next(operand.peer, facts.take_positions[taken++])) return false;
  }
  return true;
}

ChannelExecutor::Outcome ChannelExecutor::Step(const Tile& tile, std::size_t i, Running& running) {
  switch (plan_.instructions[i].kind) {
    case Instruction::Kind::kSend:
      return Send(tile, i, running);
    case Instruction::Kind::kRecv:
      return Recv(tile, i, running);
    case Instruction::Kind::kReduce:
      break;
  }
  return Reduce(tile, i, running);
}

ChannelExecutor::Piece ChannelExecutor::PieceOf(const Chunk& chunk, std::int64_t tile) const {
  const std::int64_t size = binding_->block_elements[static_cast<std::size_t>(chunk.block)];
  const std::int64_t begin = std::min(size, tile * tile_elements_);
  Piece piece;
  piece.elements = std::min(tile_elements_, size - begin);
  piece.dtype = HoldsAccumulators(chunk.buffer) ? AccumulatorOf(binding_->dtype) : binding_->dtype;
  if (IsScratch(chunk.buffer)) {
    const bool acc = HoldsAccumulators(chunk.buffer);
    const std::int64_t slot =
        slots_[static_cast<std::size_t>(chunk.slot + (acc ? plan_.frame.tmp_slots : 0))];
    if (slot < 0) return piece;  // a message's chunk that was merged away
    const std::int64_t copy = tile % std::ssize(tiles_);
    piece.data = scratch_ + (copy * used_slots_ + slot) * slot_bytes_;
    return piece;
  }
  const bool is_in = chunk.buffer == BufferKind::kIn;
  const std::int64_t first = BlockStart(chunk.buffer, chunk.block, *binding_);
  // `in` is only ever read.
  auto* const base = static_cast<std::byte*>(is_in ? const_cast<void*>(memory_.in) : memory_.out);
  if (base != nullptr) piece.data = base + (first + begin) * SizeOf(binding_->dtype);
  return piece;
}

std::int64_t ChannelExecutor::BytesOf(const std::vector<Chunk>& chunks, std::int64_t tile) const {
  std::int64_t bytes = 0;
  for (const Chunk& chunk : chunks) bytes += PieceOf(chunk, tile).bytes();
  return bytes;
}

// Copies of a large call go past the caches where this core does not look at them again: an input
// on its way into a channel, and what a channel brings into the result.
void ChannelExecutor::CopyPiece(std::byte* to, const std::byte* from, std::size_t bytes,
                                bool is_last_use) const {
  if (bytes == 0) return;
  void* const dst = to;
  Copy({&dst, 1}, from, static_cast<std::int64_t>(bytes), streams_ && is_last_use ? 1 : 0);
}

ChannelExecutor::Outcome ChannelExecutor::Send(const Tile& tile, std::size_t i, Running& running) {
  const Instruction& x = plan_.instructions[i];
  MessageSender& sender = links_.sender(static_cast<int>(x.peer));
  bool moved = false;
  if (!running.begun) {
    if (!sender.Begin({memory_.sequence, binding_->fingerprint, BytesOf(x.chunks, tile.number),
                       static_cast<std::uint32_t>(x.message)})) {
      return Outcome::kNothing;
    }
    running.begun = moved = true;
  }
  while (sender.remaining() > 0) {
    const std::span<std::byte> space = sender.Writable();
    if (space.empty()) return moved ? Outcome::kMoved : Outcome::kNothing;
    std::size_t filled = 0;
    while (filled < space.size()) {
      const Piece piece = PieceOf(x.chunks[static_cast<std::size_t>(running.chunk)], tile.number);
      const std::size_t length =
          std::min(space.size() - filled, static_cast<std::size_t>(piece.bytes() - running.offset));
      const bool is_input =
          x.chunks[static_cast<std::size_t>(running.chunk)].buffer == BufferKind::kIn;
      CopyPiece(space.data() + filled, piece.data + running.offset, length, is_input);
      filled += length;
      running.offset += static_cast<std::int64_t>(length);
      if (running.offset == piece.bytes()) {
        ++running.chunk;
        running.offset = 0;
      }
    }
    sender.Commit(static_cast<std::int64_t>(filled));
    moved = true;
  }
  ++channels_[static_cast<std::size_t>(x.peer)].sent;
  return Outcome::kEnded;
}

int ChannelExecutor::Expect(std::int64_t peer, std::int64_t message, std::int64_t bytes) {
  MessageReceiver& receiver = links_.receiver(static_cast<int>(peer));
  const MessageHeader* header = receiver.Front();
  // What a call that was given up has left behind. One that ended well leaves nothing.
  while (header != nullptr && header->sequence < memory_.sequence) {
    const CallRecord own = links_.Record(links_.rank(), header->sequence);
    if (own.state == CallRecord::State::kRunning) {
      trouble_ = {Trouble::Kind::kLeftOver, static_cast<int>(peer), *header, bytes};
      return -1;
    }
    if (!receiver.Discard()) return 0;
    header = receiver.Front();
  }
  if (header == nullptr) return 0;
  Trouble::Kind kind;
  if (header->sequence > memory_.sequence) {
    kind = Trouble::Kind::kLaterCall;
  } else if (header->fingerprint != binding_->fingerprint) {
    kind = Trouble::Kind::kOtherCall;
  } else if (header->id != static_cast<std::uint32_t>(message) || header->bytes != bytes) {
    kind = Trouble::Kind::kOtherShape;
  } else {
    return 1;
  }
  trouble_ = {kind, static_cast<int>(peer), *header, bytes};
  return -1;
}

ChannelExecutor::Outcome ChannelExecutor::Recv(const Tile& tile, std::size_t i, Running& running) {
  const Instruction& x = plan_.instructions[i];
  MessageReceiver& receiver = links_.receiver(static_cast<int>(x.peer));
  if (!running.begun) {
    const int front = Expect(x.peer, x.message, BytesOf(x.chunks, tile.number));
    if (front <= 0) return front < 0 ? Outcome::kTrouble : Outcome::kNothing;
    running.begun = true;
    if (receiver.remaining() == 0) receiver.Consume(0);
  }
  bool moved = false;
  while (running.chunk < std::ssize(x.chunks)) {
    const Piece piece = PieceOf(x.chunks[static_cast<std::size_t>(running.chunk)], tile.number);
    if (running.offset == piece.bytes()) {
      ++running.chunk;
      running.offset = 0;
      continue;
    }
    const std::span<const std::byte> arrived = receiver.Readable();
    if (arrived.empty()) return moved ? Outcome::kMoved : Outcome::kNothing;
    const std::size_t length =
        std::min(arrived.size(), static_cast<std::size_t>(piece.bytes() - running.offset));
    const bool is_result =
        x.chunks[static_cast<std::size_t>(running.chunk)].buffer == BufferKind::kOut;
    CopyPiece(piece.data + running.offset, arrived.data(), length, is_result);
    receiver.Consume(static_cast<std::int64_t>(length));
    running.offset += static_cast<std::int64_t>(length);
    moved = true;
  }
  ++channels_[static_cast<std::size_t>(x.peer)].taken;
  return Outcome::kEnded;
}

ChannelExecutor::Outcome ChannelExecutor::Reduce(const Tile& tile, std::size_t i,
                                                 Running& running) {
  const Instruction& x = plan_.instructions[i];
  const Piece dst = PieceOf(x.dst(), tile.number);
  // 1. All messages must have begun to arrive.
  if (!running.begun) {
    for (const Operand& operand : x.operands) {
      if (!operand.is_message) continue;
      const int front =
          Expect(operand.peer, operand.message, PieceOf(operand.chunk, tile.number).bytes());
      if (front <= 0) return front < 0 ? Outcome::kTrouble : Outcome::kNothing;
    }
    running.begun = true;
  }
  // 2. Add up what all of them have.
  const std::span<ReduceSource> sources = std::span(sources_).first(x.operands.size());
  bool moved = false;
  while (running.offset < dst.elements) {
    std::int64_t count = dst.elements - running.offset;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      const Operand& operand = x.operands[s];
      const Piece piece = PieceOf(operand.chunk, tile.number);
      sources[s].dtype = piece.dtype;
      sources[s].scaled = operand.chunk.scaled;
      if (!operand.is_message) {
        sources[s].data = piece.data + running.offset * SizeOf(piece.dtype);
        continue;
      }
      const auto arrived = links_.receiver(static_cast<int>(operand.peer)).Readable();
      sources[s].data = arrived.data();
      count = std::min(count, std::ssize(arrived) / SizeOf(piece.dtype));
    }
    if (count == 0) return moved ? Outcome::kMoved : Outcome::kNothing;
    void* const place = dst.data + running.offset * SizeOf(dst.dtype);
    ReduceArgs args = binding_->Args(x.finish, plan_.group_size);
    args.sources = sources;
    args.dsts = {&place, 1};
    args.dst_dtype = dst.dtype;
    args.count = count;
    chorus::Reduce(kernels_, args);
    for (std::size_t s = 0; s < sources.size(); ++s) {
      if (!x.operands[s].is_message) continue;
      links_.receiver(static_cast<int>(x.operands[s].peer))
          .Consume(count * SizeOf(sources[s].dtype));
    }
    running.offset += count;
    moved = true;
  }
  // 3. Messages without payload are taken off too.
  for (const Operand& operand : x.operands) {
    if (!operand.is_message) continue;
    if (dst.elements == 0) links_.receiver(static_cast<int>(operand.peer)).Consume(0);
    ++channels_[static_cast<std::size_t>(operand.peer)].taken;
  }
  return Outcome::kEnded;
}

void ChannelExecutor::Stop() {
  for (int peer = 0; peer < links_.size(); ++peer) {
    if (peer != links_.rank()) links_.sender(peer).Cut();
  }
  tiles_left_ = 0;
  for (Tile& tile : tiles_) tile.number = -1;
}

// Whether something of this call, or of a later one, is there to be taken from a peer.
bool ChannelExecutor::HasArrived(std::int64_t peer) {
  MessageReceiver& receiver = links_.receiver(static_cast<int>(peer));
  const MessageHeader* header = receiver.Front();
  if (header == nullptr || header->sequence < memory_.sequence) return false;
  return header->bytes == 0 || !receiver.Readable().empty();
}

const std::vector<Executor::Wait>& ChannelExecutor::Waits() {
  waits_.clear();
  const auto add = [&](std::int64_t peer, bool sending) {
    const bool known = std::any_of(waits_.begin(), waits_.end(), [&](const Wait& wait) {
      return wait.peer == peer && wait.sending == sending;
    });
    if (!known) waits_.push_back({static_cast<int>(peer), sending});
  };
  for (const Tile& tile : tiles_) {
    if (tile.number < 0) continue;
    for (std::size_t i = 0; i < tile.running.size(); ++i) {
      const Running& running = tile.running[i];
      if (running.ended || running.waits > 0 || !IsNext(tile, i)) continue;
      const Instruction& x = plan_.instructions[i];
      if (x.kind == Instruction::Kind::kSend &&
          !links_.sender(static_cast<int>(x.peer)).HasRoom()) {
        add(x.peer, true);
      }
      if (x.kind == Instruction::Kind::kRecv && !HasArrived(x.peer)) add(x.peer, false);
      for (const Operand& operand : x.operands) {
        if (operand.is_message && !HasArrived(operand.peer)) add(operand.peer, false);
      }
    }
  }
  return waits_;
}

}  // namespace chorus
