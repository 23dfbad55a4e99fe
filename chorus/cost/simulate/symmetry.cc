#include "chorus/cost/simulate/symmetry.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "chorus/cost/simulate/motion.h"
#include "chorus/cost/simulate/waiting.h"

namespace chorus {
namespace {

// Expands the steps of one orbit and proves all of them but what they wait for.
class OrbitProver {
 public:
  OrbitProver(std::int64_t group_size, std::int64_t root, std::int64_t first, std::int64_t shift,
              const WhatTakesTime& what)
      : group_size_(group_size),
        shift_(shift),
        what_(what),
        formulas_(group_size, root, first, shift) {}

  bool Proves(const Schedule::Definition& definition) {
    return formulas_.Of(definition.blocks).IsConstant() && Lists(definition.body) &&
           waiting_.IsAlike(formulas_, what_.local);
  }

 private:
  bool Lists(const Body& body) {
    std::size_t defined = 0;
    for (const BodyNode& node : body) {
      if (const auto* step = std::get_if<StepFamily>(&node.value)) {
        if (!ListsStep(*step)) return false;
      } else if (const auto* let = std::get_if<Let>(&node.value)) {
        formulas_.Push(let->name, formulas_.Of(let->value));
        ++defined;
      } else {
        const Loop& loop = std::get<Loop>(node.value);
        if (!ForEach(loop, [&] { return Lists(loop.body); })) return false;
      }
    }
    formulas_.Pop(defined);
    return true;
  }

  // Turns must be as many for all q; the variable may move.
  template <typename Repetition, typename Turn>
  bool ForEach(const Repetition& loop, const Turn& turn) {
    const Motion first = formulas_.Of(loop.first);
    const Motion turns = formulas_.Of(loop.last - loop.first);
    if (first.kind == Motion::Kind::kUnknown || !turns.IsConstant()) return false;
    for (std::int64_t i = 0; i <= turns.constant(); ++i) {
      if (!With(loop.variable, formulas_.Plus(first, i), turn)) return false;
    }
    return true;
  }

  // The turns of 0 .. m - 1 in another order, which differs from q to q.
  template <typename Turn>
  bool ForEachTurned(const ChunkExpr::Range& range, const Turn& turn) {
    const Motion last = formulas_.Of(range.last);
    if (formulas_.Of(range.first) != formulas_.Of(Expr(0)) || !last.IsConstant()) return false;
    for (std::int64_t i = 0; i <= last.constant(); ++i) {
      if (!With(range.variable, formulas_.Turned(i, last.constant() + 1), turn)) return false;
    }
    return true;
  }

  template <typename Turn>
  bool With(std::string_view variable, const Motion& value, const Turn& turn) {
    const std::size_t outer = formulas_.size();
    formulas_.Push(variable, value);
    const bool proved = turn();
    formulas_.Pop(formulas_.size() - outer);
    return proved;
  }

  bool ListsStep(const StepFamily& step) {
    if (step.guard.has_value()) {
      const Motion exists = formulas_.Truth(formulas_.Of(*step.guard));
      if (!exists.IsConstant()) return false;
      if (exists.constant() == 0) return true;
    }
    const bool is_message = step.verb == Verb::kSend || step.verb == Verb::kRecv;
    if (is_message && !MovesWithTheRank(step)) return false;
    // What takes time is all of a message, and what a local step writes.
    const std::size_t weighed = is_message ? step.chunks.size() : std::size_t{what_.local};
    for (std::size_t i = 0; i < weighed; ++i) {
      if (!WeighsTheSame(step.chunks[i])) return false;
    }
    std::vector<Motion> index;
    if (!Indices(step.label, index)) return false;
    waiting_.Add(step.label.name, index, is_message);
    for (const LabelExpr& after : step.after) {
      if (after.every) {
        waiting_.WaitsForEvery(after.name);
        continue;
      }
      if (!Indices(after, index)) return false;
      waiting_.WaitsFor(after.name, index);
    }
    return true;
  }

  bool Indices(const LabelExpr& label, std::vector<Motion>& index) const {
    index.clear();
    for (const Expr& e : label.index) {
      index.push_back(formulas_.Of(e));
      const Motion::Kind kind = index.back().kind;
      if (kind != Motion::Kind::kLinear && kind != Motion::Kind::kCyclic) return false;
    }
    return true;
  }

  bool MovesWithTheRank(const StepFamily& step) const {
    if (!formulas_.Of(step.message).IsConstant()) return false;
    const Motion peer = formulas_.Of(step.peer);
    return peer.kind != Motion::Kind::kUnknown && peer.modulus % group_size_ == 0 &&
           (shift_ == group_size_ || (peer.a - shift_) % group_size_ == 0);
  }

  // What a chunk weighs must not depend on q: whether accumulators or elements are meant, and how
  // many chunks a range is.
  bool WeighsTheSame(const ChunkExpr& chunk) {
    if (chunk.range != nullptr) {
      const ChunkExpr::Range& range = *chunk.range;
      const auto chunk_of_turn = [&] {
        const Motion there = formulas_.Truth(formulas_.Of(range.condition));
        return there.IsConstant() && (there.constant() == 0 || WeighsTheSame(range.chunk));
      };
      return ForEach(range, chunk_of_turn) || ForEachTurned(range, chunk_of_turn);
    }
    if (chunk.choice == nullptr) return true;
    const ChunkExpr& a = chunk.choice->then;
    const ChunkExpr& b = chunk.choice->otherwise;
    const Motion chosen = formulas_.Truth(formulas_.Of(chunk.choice->condition));
    if (chosen.IsConstant()) return WeighsTheSame(chosen.constant() != 0 ? a : b);
    const bool plain =
        a.choice == nullptr && b.choice == nullptr && a.range == nullptr && b.range == nullptr;
    return plain && (!what_.wire || HoldsAccumulators(a.buffer) == HoldsAccumulators(b.buffer));
  }

  std::int64_t group_size_;
  std::int64_t shift_;
  WhatTakesTime what_;
  OrbitFormulas formulas_;
  Waiting waiting_;
};

}  // namespace

bool IsSymmetric(const Schedule& schedule, std::int64_t group_size, std::int64_t root,
                 std::int64_t shift, const WhatTakesTime& what) {
  if (shift == group_size) return true;
  for (std::int64_t first = 0; first < shift; ++first) {
    OrbitProver prover(group_size, root, first, shift, what);
    if (!prover.Proves(schedule.definition())) return false;
  }
  return true;
}

std::int64_t SmallestShift(const Schedule& schedule, std::int64_t group_size, std::int64_t root,
                           const WhatTakesTime& what) {
  for (std::int64_t shift = 1; shift < group_size; ++shift) {
    if (group_size % shift == 0 && IsSymmetric(schedule, group_size, root, shift, what)) {
      return shift;
    }
  }
  return group_size;
}

}  // namespace chorus
