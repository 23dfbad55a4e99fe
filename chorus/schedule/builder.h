// ScheduleBuilder: writes a Schedule in C++ so that it reads like its text.
//
//   ScheduleBuilder s("ring", OpKind::kAllGather);
//   s.Blocks(n);
//   s.Copy(c, Out(r), In(r));
//   s.For(k, 0, n - 2, [&] {
//     s.Send(send[k], {Out((r - k) % n)}).To((r + 1) % n).As(k).After(c, recv[k - 1]);
//     s.Recv(recv[k], {Out((r - k - 1) % n)}).From((r - 1) % n).As(k);
//   });
//   Schedule ring = s.Build();
//
// Thread safety: one thread per builder.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "chorus/schedule/schedule.h"

namespace chorus {

ChunkExpr In(Expr block);
ChunkExpr Out(Expr block);
ChunkExpr Tmp(Expr slot, Expr block);
ChunkExpr Acc(Expr slot, Expr block);
// A step family's name, and as a dependency every step of that name listed before: v[*].
LabelExpr Label(std::string name);
LabelExpr Every(LabelExpr label);
// The chunk multiplied by the caller's pre-scale. REQUIRES: not a choice.
ChunkExpr Scaled(ChunkExpr chunk);
// condition ? then : otherwise.
ChunkExpr Select(Expr condition, ChunkExpr then, ChunkExpr otherwise);
// In a message: chunk for variable = first .. last, where `condition` is not 0.
ChunkExpr Each(const Expr& variable, Expr first, Expr last, ChunkExpr chunk);
ChunkExpr EachIf(const Expr& variable, Expr first, Expr last, Expr condition, ChunkExpr chunk);

class ScheduleBuilder {
 public:
  // Completes the step just added. Valid until the next step is added.
  class Completion {
   public:
    Completion& To(Expr peer) { return Set(&StepFamily::peer, std::move(peer)); }
    Completion& From(Expr peer) { return Set(&StepFamily::peer, std::move(peer)); }
    Completion& As(Expr message) { return Set(&StepFamily::message, std::move(message)); }
    Completion& Finish() { return Set(&StepFamily::finish, true); }
    Completion& When(Expr guard) { return Set(&StepFamily::guard, std::move(guard)); }
    template <typename... Labels>
    Completion& After(Labels... labels) {
      (step_->after.push_back(std::move(labels)), ...);
      return *this;
    }

   private:
    friend class ScheduleBuilder;
    explicit Completion(StepFamily* step) : step_(step) {}
    template <typename Field, typename Value>
    Completion& Set(Field StepFamily::*field, Value value) {
      step_->*field = std::move(value);
      return *this;
    }
    StepFamily* step_;
  };

  ScheduleBuilder(std::string name, OpKind op);

  ScheduleBuilder& Blocks(Expr count);
  ScheduleBuilder& Owns(Expr block);
  ScheduleBuilder& Order(ReduceOrder order);
  ScheduleBuilder& Scratch(Expr tmp_slots, Expr acc_slots);
  ScheduleBuilder& Tiles(std::int64_t in_flight);

  // No chunk makes the message a signal.
  Completion Send(LabelExpr label, std::vector<ChunkExpr> chunks);
  Completion Recv(LabelExpr label, std::vector<ChunkExpr> chunks);
  Completion Reduce(LabelExpr label, ChunkExpr dst, ChunkExpr a, ChunkExpr b);
  Completion Copy(LabelExpr label, ChunkExpr dst, ChunkExpr a);

  // Defines `variable` as `value` for what follows in the same loop.
  void Define(const Expr& variable, Expr value);
  // `body` adds the steps of one turn, variable = first .. last.
  void For(const Expr& variable, Expr first, Expr last, const std::function<void()>& body);

  // REQUIRES: what was built passes Schedule::Make; a builder's test shows that it does.
  Schedule Build() &&;

 private:
  Completion Add(Verb verb, LabelExpr label, std::vector<ChunkExpr> chunks);

  Schedule::Definition definition_;
  std::vector<Body> open_;  // the bodies of the loops being written, outermost first
};

}  // namespace chorus
