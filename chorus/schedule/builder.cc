#include "chorus/schedule/builder.h"

namespace chorus {
namespace {

ChunkExpr Plain(BufferKind buffer, Expr slot, Expr block) {
  ChunkExpr chunk;
  chunk.buffer = buffer;
  chunk.slot = std::move(slot);
  chunk.block = std::move(block);
  return chunk;
}

}  // namespace

ChunkExpr In(Expr block) { return Plain(BufferKind::kIn, 0, std::move(block)); }
ChunkExpr Out(Expr block) { return Plain(BufferKind::kOut, 0, std::move(block)); }
ChunkExpr Tmp(Expr slot, Expr block) {
  return Plain(BufferKind::kTmp, std::move(slot), std::move(block));
}
ChunkExpr Acc(Expr slot, Expr block) {
  return Plain(BufferKind::kAcc, std::move(slot), std::move(block));
}

LabelExpr Label(std::string name) { return LabelExpr{std::move(name), {}, false}; }
LabelExpr Every(LabelExpr label) {
  label.every = true;
  return label;
}

ChunkExpr Scaled(ChunkExpr chunk) {
  chunk.scaled = true;
  return chunk;
}

ChunkExpr Select(Expr condition, ChunkExpr then, ChunkExpr otherwise) {
  ChunkExpr chunk;
  chunk.choice = std::make_shared<const ChunkExpr::Choice>(
      ChunkExpr::Choice{std::move(condition), std::move(then), std::move(otherwise)});
  return chunk;
}

ChunkExpr EachIf(const Expr& variable, Expr first, Expr last, Expr condition, ChunkExpr chunk) {
  ChunkExpr range;
  range.range = std::make_shared<const ChunkExpr::Range>(
      ChunkExpr::Range{variable.variable(), std::move(first), std::move(last), std::move(condition),
                       std::move(chunk)});
  return range;
}

ChunkExpr Each(const Expr& variable, Expr first, Expr last, ChunkExpr chunk) {
  return EachIf(variable, std::move(first), std::move(last), 1, std::move(chunk));
}

ScheduleBuilder::ScheduleBuilder(std::string name, OpKind op) : open_(1) {
  definition_.name = std::move(name);
  definition_.op = op;
}

ScheduleBuilder& ScheduleBuilder::Blocks(Expr count) {
  definition_.blocks = std::move(count);
  return *this;
}
ScheduleBuilder& ScheduleBuilder::Owns(Expr block) {
  definition_.owns = std::move(block);
  return *this;
}
ScheduleBuilder& ScheduleBuilder::Order(ReduceOrder order) {
  definition_.order = order;
  return *this;
}
ScheduleBuilder& ScheduleBuilder::Scratch(Expr tmp_slots, Expr acc_slots) {
  definition_.tmp_slots = std::move(tmp_slots);
  definition_.acc_slots = std::move(acc_slots);
  return *this;
}
ScheduleBuilder& ScheduleBuilder::Tiles(std::int64_t in_flight) {
  definition_.tiles = in_flight;
  return *this;
}

ScheduleBuilder::Completion ScheduleBuilder::Add(Verb verb, LabelExpr label,
                                                 std::vector<ChunkExpr> chunks) {
  StepFamily step;
  step.verb = verb;
  step.label = std::move(label);
  step.chunks = std::move(chunks);
  open_.back().push_back({std::move(step)});
  return Completion(&std::get<StepFamily>(open_.back().back().value));
}

ScheduleBuilder::Completion ScheduleBuilder::Send(LabelExpr label, std::vector<ChunkExpr> chunks) {
  return Add(Verb::kSend, std::move(label), std::move(chunks));
}
ScheduleBuilder::Completion ScheduleBuilder::Recv(LabelExpr label, std::vector<ChunkExpr> chunks) {
  return Add(Verb::kRecv, std::move(label), std::move(chunks));
}
ScheduleBuilder::Completion ScheduleBuilder::Reduce(LabelExpr label, ChunkExpr dst, ChunkExpr a,
                                                    ChunkExpr b) {
  return Add(Verb::kReduce, std::move(label), {std::move(dst), std::move(a), std::move(b)});
}
ScheduleBuilder::Completion ScheduleBuilder::Copy(LabelExpr label, ChunkExpr dst, ChunkExpr a) {
  return Add(Verb::kCopy, std::move(label), {std::move(dst), std::move(a)});
}

void ScheduleBuilder::Define(const Expr& variable, Expr value) {
  open_.back().push_back({Let{variable.variable(), std::move(value)}});
}

void ScheduleBuilder::For(const Expr& variable, Expr first, Expr last,
                          const std::function<void()>& body) {
  open_.emplace_back();
  body();
  Loop loop{variable.variable(), std::move(first), std::move(last), std::move(open_.back())};
  open_.pop_back();
  open_.back().push_back({std::move(loop)});
}

Schedule ScheduleBuilder::Build() && {
  definition_.body = std::move(open_.front());
  return Schedule::Make(std::move(definition_)).value();
}

}  // namespace chorus
