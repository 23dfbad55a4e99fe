#include "chorus/run/mapped_executor.h"

#include <algorithm>
#include <cstring>

#include "chorus/run/agreement.h"
#include "chorus/run/block_start.h"

namespace chorus {
namespace {

// Parts of blocks begin at whole lines of elements of any size.
constexpr std::int64_t kPartElements = 64;

std::int64_t PartBoundary(std::int64_t elements, std::int64_t of_whole) {
  if (of_whole == MappedWork::kWhole) return elements;
  // elements x of_whole / kWhole without a product that is too large.
  const std::int64_t boundary = elements / MappedWork::kWhole * of_whole +
                                elements % MappedWork::kWhole * of_whole / MappedWork::kWhole;
  return boundary / kPartElements * kPartElements;
}

}  // namespace

MappedExecutor::MappedExecutor(const MappedPlan* plan, const MappedPlan* pulled,
                               const Binding* binding, Links* links, Transport* transport,
                               KernelSet kernels, Executor* otherwise)
    : Executor(plan->group_size),
      plan_(*plan),
      binding_(*binding),
      links_(*links),
      transport_(*transport),
      kernels_(kernels),
      otherwise_(*otherwise),
      works_(WorksOf(*plan)),
      can_pull_(pulled != nullptr && CanReadAll()),
      in_bytes_(BytesHeld(true)),
      out_bytes_(BytesHeld(false)),
      streams_own_(out_bytes_ >= kLeastStreamed),
      begun_(static_cast<std::size_t>(plan->group_size)),
      in_(begun_.size()),
      out_(begun_.size()),
      moved_(begun_.size()) {
  if (pulled != nullptr) pulls_ = WorksOf(*pulled);
  std::size_t most_sources = 0;
  std::size_t most_destinations = 0;
  for (const Work& work : works_) {
    most_sources = std::max(most_sources, work.sources.size());
    most_destinations = std::max(most_destinations, work.destinations.size());
  }
  sources_.resize(std::max<std::size_t>(most_sources, 1));
  destinations_.resize(std::max<std::size_t>(most_destinations, 1));
}

std::vector<MappedExecutor::Work> MappedExecutor::WorksOf(const MappedPlan& plan) {
  std::vector<Work> works;
  const std::int64_t size = SizeOf(binding_.dtype);
  for (const MappedWork& each : plan.works) {
    const std::int64_t block = each.sources[0].block;
    const std::int64_t elements = binding_.block_elements[static_cast<std::size_t>(block)];
    const std::int64_t begin = PartBoundary(elements, each.begin);
    const auto place = [&](const MappedPlace& p) {
      const std::int64_t start =
          begin + BlockStartAnywhere(plan.op, plan.group_size, p.buffer, p.block, binding_);
      return Place{static_cast<std::size_t>(p.rank), p.buffer == BufferKind::kIn, p.scaled,
                   start * size};
    };
    Work work;
    work.owner = static_cast<std::size_t>(each.owner);
    work.count = PartBoundary(elements, each.end) - begin;
    work.finish = each.finish;
    work.is_first_part = each.begin == 0;
    for (const MappedPlace& source : each.sources) work.sources.push_back(place(source));
    for (const MappedPlace& to : each.destinations) work.destinations.push_back(place(to));
    works.push_back(std::move(work));
  }
  return works;
}

bool MappedExecutor::CanReadAll() {
  for (int peer = 0; peer < links_.size(); ++peer) {
    if (peer != links_.rank() && !transport_.CanRead(links_.world_rank(peer))) return false;
  }
  return true;
}

// Bytes of `in` or `out` of this rank.
std::int64_t MappedExecutor::BytesHeld(bool is_in) const {
  std::int64_t bytes = 0;
  for (const MappedWork& work : plan_.works) {
    for (const MappedPlace& place : is_in ? work.sources : work.destinations) {
      if (place.rank != plan_.rank) continue;
      const std::int64_t block = binding_.block_elements[static_cast<std::size_t>(place.block)];
      const std::int64_t end = BlockStart(place.buffer, place.block, binding_) + block;
      bytes = std::max(bytes, end * SizeOf(binding_.dtype));
    }
  }
  // A rank whose own block is empty has nothing to do, yet its peers are to reach the other blocks.
  const bool holds_all =
      is_in ? plan_.op == OpKind::kReduceScatter : plan_.op == OpKind::kAllGather;
  const BufferKind buffer = is_in ? BufferKind::kIn : BufferKind::kOut;
  for (std::size_t b = 0; holds_all && b < binding_.block_elements.size(); ++b) {
    const std::int64_t end =
        BlockStart(buffer, static_cast<std::int64_t>(b), binding_) + binding_.block_elements[b];
    bytes = std::max(bytes, end * SizeOf(binding_.dtype));
  }
  return bytes;
}

void MappedExecutor::Start(const Binding& /*binding*/, const CallMemory& memory) {
  memory_ = memory;
  stage_ = Stage::kTell;
  next_peer_ = next_work_ = 0;
  done_elements_ = 0;
  trouble_.reset();
  std::fill(moved_.begin(), moved_.end(), Done());
  const auto in = transport_.Locate(memory.in, in_bytes_);
  const auto out = transport_.Locate(memory.out, out_bytes_);
  may_map_ = (in.has_value() || in_bytes_ == 0) && (out.has_value() || out_bytes_ == 0);
  may_pull_ = can_pull_;
  const auto own = static_cast<std::size_t>(plan_.rank);
  begun_[own] = {may_map_ ? 1U : 0U,
                 may_pull_ ? 1U : 0U,
                 in.has_value() ? in->address : 0,
                 out.has_value() ? out->address : 0,
                 reinterpret_cast<std::uint64_t>(memory.in),
                 reinterpret_cast<std::uint64_t>(memory.out)};
  in_[own] = static_cast<std::byte*>(const_cast<void*>(memory.in));  // only ever read
  out_[own] = static_cast<std::byte*>(memory.out);
}

Executor::Progress MappedExecutor::Advance() {
  switch (stage_) {
    case Stage::kTell:
      if (!Tell()) return Progress::kBlocked;
      if (!may_map_ && !may_pull_) {
        Decide();
        return otherwise_.Advance();
      }
      stage_ = Stage::kHear;
      next_peer_ = 0;
      [[fallthrough]];
    case Stage::kHear:
      if (!Hear()) return trouble_.has_value() ? Progress::kTrouble : Progress::kBlocked;
      Decide();
      if (stage_ == Stage::kOtherwise) return otherwise_.Advance();
      [[fallthrough]];
    case Stage::kWork: {
      const Progress progress = DoPieces();
      if (progress != Progress::kDone) return progress;
      TellDone();
      stage_ = Stage::kHearDone;
      next_peer_ = 0;
      [[fallthrough]];
    }
    case Stage::kHearDone:
      if (HearDone()) return Progress::kDone;
      return trouble_.has_value() ? Progress::kTrouble : Progress::kBlocked;
    case Stage::kOtherwise:
      break;
  }
  return otherwise_.Advance();
}

// The half of the stages that this call may use is free only then.
bool MappedExecutor::MayBegin(LaneSender& lane) const {
  return memory_.sequence <= 2 || lane.HasFinished(memory_.sequence - 2);
}

bool MappedExecutor::Tell() {
  for (; next_peer_ < in_.size(); ++next_peer_) {
    if (next_peer_ == static_cast<std::size_t>(plan_.rank)) continue;
    LaneSender& lane = links_.lane_to(static_cast<int>(next_peer_));
    if (!MayBegin(lane)) return false;
    const Begun& own = begun_[static_cast<std::size_t>(plan_.rank)];
    std::memcpy(lane.Payload(memory_.sequence, 0, sizeof(own)), &own, sizeof(own));
    lane.Signal(memory_.sequence, 0, memory_.history);
  }
  WakePeers();
  return true;
}

void MappedExecutor::WakePeers() {
  links_.PostsAreOut();
  for (std::size_t peer = 0; peer < in_.size(); ++peer) {
    if (peer != static_cast<std::size_t>(plan_.rank)) links_.lane_to(static_cast<int>(peer)).Wake();
  }
}

const LaneLine* MappedExecutor::Find(std::size_t peer, unsigned phase) {
  const int p = static_cast<int>(peer);
  const LaneLine* line = AgreedLine(links_, p, phase, memory_, trouble_);
  const int looks = line == nullptr && !trouble_.has_value() ? links_.Looks(p) : 0;
  for (int look = 0; line == nullptr && look < looks; ++look) {
    line = AgreedLine(links_, p, phase, memory_, trouble_);
    if (trouble_.has_value()) return nullptr;
  }
  return line;
}

bool MappedExecutor::Hear() {
  for (; next_peer_ < in_.size(); ++next_peer_) {
    if (next_peer_ == static_cast<std::size_t>(plan_.rank)) continue;
    const LaneLine* const line = Find(next_peer_, 0);
    if (line == nullptr) return false;
    Begun& begun = begun_[next_peer_];
    std::memcpy(&begun, LaneReceiver::Payload(line, sizeof(begun)), sizeof(begun));
    may_map_ = may_map_ && begun.is_mapped != 0;
    may_pull_ = may_pull_ && begun.can_pull != 0;
    if (!may_map_ && !may_pull_) return true;
  }
  return true;
}

void MappedExecutor::Decide() {
  if (!may_map_ && !may_pull_) {
    stage_ = Stage::kOtherwise;
    otherwise_.Start(binding_, memory_);
    return;
  }
  stage_ = Stage::kWork;
  pulls_now_ = !may_map_;
  if (pulls_now_) return;
  for (std::size_t peer = 0; peer < begun_.size(); ++peer) {
    if (peer == static_cast<std::size_t>(plan_.rank)) continue;
    const int owner = links_.world_rank(static_cast<int>(peer));
    in_[peer] = transport_.Map({owner, begun_[peer].in, 0}).value();
    out_[peer] = transport_.Map({owner, begun_[peer].out, 0}).value();
  }
}

Executor::Progress MappedExecutor::DoPieces() {
  const std::vector<Work>& works = pulls_now_ ? pulls_ : works_;
  const std::int64_t size = SizeOf(binding_.dtype);
  std::int64_t left = kBytesOfTurn;
  while (next_work_ < works.size()) {
    if (left <= 0) return Progress::kMoved;
    const Work& work = works[next_work_];
    const std::int64_t count =
        std::min(work.count - done_elements_, std::max(left / size, kPartElements));
    if (count > 0) {
      if (pulls_now_ && !PullPiece(work, count)) {
        return trouble_.has_value() ? Progress::kTrouble : Progress::kBlocked;
      }
      if (!pulls_now_) DoPiece(work, count);
    }
    left -= count * size;
    done_elements_ += count;
    if (done_elements_ < work.count) continue;
    Count(work);
    ++next_work_;
    done_elements_ = 0;
  }
  return Progress::kDone;
}

bool MappedExecutor::PullPiece(const Work& work, std::int64_t count) {
  const Place& from = work.sources[0];
  const std::int64_t size = SizeOf(binding_.dtype);
  const std::int64_t offset = done_elements_ * size;
  std::byte* const to =
      out_[static_cast<std::size_t>(plan_.rank)] + work.destinations[0].offset + offset;
  const Begun& theirs = begun_[from.rank];
  const std::uint64_t address = (from.is_in ? theirs.own_in : theirs.own_out) +
                                static_cast<std::uint64_t>(from.offset + offset);
  if (from.rank == static_cast<std::size_t>(plan_.rank)) {
    const auto* const own = (from.is_in ? in_ : out_)[from.rank] + from.offset + offset;
    if (own != to) std::memcpy(to, own, static_cast<std::size_t>(count * size));
    return true;
  }
  const int peer = static_cast<int>(from.rank);
  const Status status = transport_.Read(links_.world_rank(peer), address, to, count * size);
  if (!status.ok() && status.code() != StatusCode::kPeerLost) {
    trouble_ = Trouble{Trouble::Kind::kUnreadable, peer, {}, 0, std::string(status.message())};
  }
  return status.ok();
}

void MappedExecutor::DoPiece(const Work& work, std::int64_t count) {
  const std::int64_t size = SizeOf(binding_.dtype);
  const auto at = [&](const Place& place) {
    return (place.is_in ? in_ : out_)[place.rank] + place.offset + done_elements_ * size;
  };
  for (std::size_t s = 0; s < work.sources.size(); ++s) {
    sources_[s] = {at(work.sources[s]), binding_.dtype, work.sources[s].scaled};
  }
  const auto sources = std::span(sources_).first(work.sources.size());
  // Own memory first: only what others will read goes past this core's caches.
  std::size_t stores = 0;
  std::size_t streamed = 0;
  for (const bool own : {true, false}) {
    for (const Place& place : work.destinations) {
      if ((place.rank == static_cast<std::size_t>(plan_.rank)) != own) continue;
      std::byte* const to = at(place);
      if (binding_.IsThere(sources, to)) continue;
      destinations_[stores++] = to;
      if (!own || streams_own_) ++streamed;
    }
  }
  if (stores == 0) return;
  ReduceArgs args = binding_.Args(work.finish, plan_.group_size);
  args.sources = sources;
  args.dsts = std::span(destinations_).first(stores);
  args.dst_dtype = binding_.dtype;
  args.count = count;
  args.streamed = streamed;
  chorus::Reduce(kernels_, args);
}

// What the schedule's messages would have carried: inputs to the owner, its results to the rest.
void MappedExecutor::Count(const Work& work) {
  const Done one = {work.count * SizeOf(binding_.dtype), work.is_first_part ? 1 : 0};
  const auto count = [&](std::size_t from, std::size_t to) {
    if (from == to) return;
    links_.Moved(static_cast<int>(from), static_cast<int>(to), one.bytes);
    moved_[from].bytes += one.bytes;
    moved_[from].messages += one.messages;
  };
  for (const Place& source : work.sources) count(source.rank, work.owner);
  for (const Place& destination : work.destinations) count(work.owner, destination.rank);
}

void MappedExecutor::TellDone() {
  // There is room: everyone has told of this call, so everyone has finished the one before.
  for (std::size_t peer = 0; peer < in_.size(); ++peer) {
    if (peer == static_cast<std::size_t>(plan_.rank)) continue;
    LaneSender& lane = links_.lane_to(static_cast<int>(peer));
    const Done& done = moved_[peer];
    std::memcpy(lane.Payload(memory_.sequence, 1, sizeof(done)), &done, sizeof(done));
    lane.Signal(memory_.sequence, 1, memory_.history);
  }
  WakePeers();
}

bool MappedExecutor::HearDone() {
  for (; next_peer_ < in_.size(); ++next_peer_) {
    Done done = moved_[next_peer_];
    if (next_peer_ != static_cast<std::size_t>(plan_.rank)) {
      const LaneLine* const line = Find(next_peer_, 1);
      if (line == nullptr) return false;
      std::memcpy(&done, LaneReceiver::Payload(line, sizeof(done)), sizeof(done));
    }
    links_.CountSent(done.bytes, done.messages);
  }
  return true;
}

void MappedExecutor::Stop() {
  if (stage_ == Stage::kOtherwise) otherwise_.Stop();
}

const Executor::Trouble& MappedExecutor::trouble() const {
  return stage_ == Stage::kOtherwise ? otherwise_.trouble() : *trouble_;
}

const std::vector<Executor::Wait>& MappedExecutor::Waits() {
  if (stage_ == Stage::kOtherwise) return otherwise_.Waits();
  waits_.clear();
  for (std::size_t peer = next_peer_; peer < in_.size(); ++peer) {
    if (peer == static_cast<std::size_t>(plan_.rank)) continue;
    const int p = static_cast<int>(peer);
    const unsigned phase = stage_ == Stage::kHear ? 0 : 1;
    switch (stage_) {
      case Stage::kTell:
        if (!MayBegin(links_.lane_to(p))) waits_.push_back({p, true});
        break;
      case Stage::kHear:
      case Stage::kHearDone:
        if (links_.lane_from(p).Look(memory_.sequence, phase) == nullptr) {
          waits_.push_back({p, false});
        }
        break;
      default:
        break;
    }
  }
  // Whose memory could not be read, for its process has ended.
  if (stage_ == Stage::kWork && pulls_now_ && next_work_ < pulls_.size()) {
    waits_.push_back({static_cast<int>(pulls_[next_work_].sources[0].rank), false});
  }
  return waits_;
}

}  // namespace chorus
