#include "chorus/cost/simulate/symmetry.h"

#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace chorus {
namespace {

// What happens to the value of a formula when the rank is moved.
struct Motion {
  enum class Kind : std::uint8_t { kStays, kMoves, kUnknown };
  Kind kind = Kind::kUnknown;
  std::optional<std::int64_t> value;  // kStays: if it is one number for all ranks and turns
  std::int64_t by = 0;                // kMoves: new value == old value + by (mod modulus)
  std::int64_t modulus = 0;
  bool in_range = false;  // kMoves: the value lies in [0, modulus)

  bool stays() const { return kind == Kind::kStays; }
  bool moves() const { return kind == Kind::kMoves; }
  friend bool operator==(const Motion&, const Motion&) = default;
};

Motion Stays(std::optional<std::int64_t> value = {}) {
  return {Motion::Kind::kStays, value, 0, 0, false};
}
Motion Unknown() { return {}; }
Motion Moves(std::int64_t by, std::int64_t modulus, bool in_range) {
  by %= modulus;
  if (by < 0) by += modulus;
  // In range and moved by nothing, it is the same number.
  if (by == 0 && in_range) return Stays();
  return {Motion::Kind::kMoves, {}, by, modulus, in_range};
}

using Kind = Expr::Kind;
using Scope = std::map<std::string, Motion, std::less<>>;

Motion Add(const Motion& a, const Motion& b, std::int64_t sign) {
  if (a.moves() && b.stays()) return Moves(a.by, a.modulus, false);
  if (a.stays() && b.moves()) return Moves(sign * b.by, b.modulus, false);
  if (!a.moves() || !b.moves()) return Unknown();
  return Moves(a.by + sign * b.by, std::gcd(a.modulus, b.modulus), false);
}

// Of a value that moves and a positive constant c.
Motion WithConstant(Kind kind, const Motion& a, std::int64_t c) {
  if (c <= 0 && kind != Kind::kBitAnd && kind != Kind::kBitXor) return Unknown();
  switch (kind) {
    case Kind::kMultiply:
      if (a.modulus > (std::int64_t{1} << 40) / c) return Unknown();
      return Moves(a.by * c, a.modulus * c, false);
    case Kind::kDivide:
      if (a.by % c != 0 || a.modulus % c != 0) return Unknown();
      return Moves(a.by / c, a.modulus / c, a.in_range);
    case Kind::kModulo:
      if (a.modulus % c != 0) return Unknown();
      return Moves(a.by, c, true);
    case Kind::kBitAnd:
    case Kind::kBitXor: {
      // The bits below 2^k stay when whole multiples of 2^k are added.
      if (c < 0 || c >= (std::int64_t{1} << 40)) return Unknown();
      const auto low = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(c) + 1));
      if (a.by % low != 0 || a.modulus % low != 0) return Unknown();
      return kind == Kind::kBitAnd ? Stays() : a;
    }
    default:
      return Unknown();
  }
}

class Prover {
 public:
  Prover(std::int64_t group_size, std::int64_t shift, bool wire_matters)
      : group_size_(group_size), shift_(shift), wire_matters_(wire_matters) {
    scope_["r"] = Moves(shift, group_size, true);
    scope_["N"] = Stays(group_size);
    scope_["root"] = Stays();
  }

  bool Proves(const Body& body) {
    for (const BodyNode& node : body) {
      if (const auto* step = std::get_if<StepFamily>(&node.value)) {
        if (!ProvesStep(*step)) return false;
      } else if (const auto* let = std::get_if<Let>(&node.value)) {
        scope_[let->name] = Of(let->value);  // names are never reused within a body
      } else {
        const Loop& loop = std::get<Loop>(node.value);
        if (!Of(loop.first).stays() || !Of(loop.last).stays()) return false;
        const Scope outer = scope_;
        scope_[loop.variable] = Stays();
        if (!Proves(loop.body)) return false;
        scope_ = outer;
      }
    }
    return true;
  }

  Motion Of(const Expr& e) const {
    if (e.kind() == Kind::kLiteral) return Stays(e.literal());
    if (e.kind() == Kind::kVariable) {
      const auto found = scope_.find(e.variable());
      return found == scope_.end() ? Unknown() : found->second;
    }
    std::vector<Motion> parts;
    bool all_stay = true, all_known = true;
    Bindings none;
    for (const Expr& operand : e.operands()) {
      parts.push_back(Of(operand));
      all_stay = all_stay && parts.back().stays();
      all_known = all_known && parts.back().value.has_value();
    }
    if (all_stay) {
      if (!all_known) return Stays();
      std::vector<Expr> literals;
      for (const Motion& part : parts) literals.emplace_back(*part.value);
      const Result<std::int64_t> value = Expr::Make(e.kind(), literals).Evaluate(none);
      return value.ok() ? Stays(*value) : Unknown();
    }
    return Compound(e.kind(), parts);
  }

 private:
  Motion Compound(Kind kind, const std::vector<Motion>& p) const {
    switch (kind) {
      case Kind::kAdd:
        return Add(p[0], p[1], 1);
      case Kind::kSubtract:
        return Add(p[0], p[1], -1);
      case Kind::kNegate:
        return p[0].moves() ? Moves(-p[0].by, p[0].modulus, false) : Unknown();
      case Kind::kEqual:
      case Kind::kNotEqual:
        // Two numbers of [0, m) that move alike stay equal or different.
        return p[0].moves() && p[0] == p[1] && p[0].in_range ? Stays() : Unknown();
      case Kind::kSelect:
        if (!p[0].stays()) return Unknown();
        if (p[0].value.has_value()) return p[*p[0].value != 0 ? 1 : 2];
        if (p[1].stays() && p[2].stays()) return Stays();
        return p[1] == p[2] ? p[1] : Unknown();
      case Kind::kMultiply:
        if (p[0].value && p[1].moves()) return WithConstant(kind, p[1], *p[0].value);
        [[fallthrough]];
      case Kind::kDivide:
      case Kind::kModulo:
      case Kind::kBitAnd:
      case Kind::kBitXor:
        return p[0].moves() && p[1].value ? WithConstant(kind, p[0], *p[1].value) : Unknown();
      default:
        return Unknown();
    }
  }

  bool ProvesStep(const StepFamily& step) {
    if (step.guard.has_value() && !Of(*step.guard).stays()) return false;
    if (!ProvesLabel(step.label)) return false;
    for (const LabelExpr& label : step.after) {
      if (!label.every && !ProvesLabel(label)) return false;
    }
    for (const ChunkExpr& chunk : step.chunks) {
      if (!ProvesChunk(chunk)) return false;
    }
    if (step.verb != Verb::kSend && step.verb != Verb::kRecv) return true;
    if (!Of(step.message).stays()) return false;
    const Motion peer = Of(step.peer);
    return peer.moves() && peer.modulus % group_size_ == 0 && (peer.by - shift_) % group_size_ == 0;
  }

  // An index that moves must move in the same way wherever a label of this name stands.
  bool ProvesLabel(const LabelExpr& label) {
    std::vector<Motion> index;
    for (const Expr& e : label.index) {
      Motion motion = Of(e);
      if (motion.kind == Motion::Kind::kUnknown || (motion.moves() && !motion.in_range)) {
        return false;
      }
      motion.value.reset();
      index.push_back(motion);
    }
    const auto [known, is_new] = labels_.emplace(label.name, index);
    return is_new || known->second == index;
  }

  // What a chunk weighs must not depend on the rank: whether accumulators or elements are meant,
  // and how many chunks a range is.
  bool ProvesChunk(const ChunkExpr& chunk) {
    if (chunk.range != nullptr) {
      const ChunkExpr::Range& range = *chunk.range;
      if (!Of(range.first).stays() || !Of(range.last).stays()) return false;
      const Scope outer = scope_;
      scope_[range.variable] = Stays();
      const bool proved = Of(range.condition).stays() && ProvesChunk(range.chunk);
      scope_ = outer;
      return proved;
    }
    if (chunk.choice == nullptr) return true;
    const ChunkExpr& a = chunk.choice->then;
    const ChunkExpr& b = chunk.choice->otherwise;
    if (Of(chunk.choice->condition).stays()) return ProvesChunk(a) && ProvesChunk(b);
    const bool plain =
        a.choice == nullptr && b.choice == nullptr && a.range == nullptr && b.range == nullptr;
    return plain && (!wire_matters_ || HoldsAccumulators(a.buffer) == HoldsAccumulators(b.buffer));
  }

  std::int64_t group_size_;
  std::int64_t shift_;
  bool wire_matters_;
  Scope scope_;
  std::map<std::string, std::vector<Motion>, std::less<>> labels_;
};

}  // namespace

bool IsSymmetric(const Schedule& schedule, std::int64_t group_size, std::int64_t shift,
                 bool wire_matters) {
  if (shift == group_size) return true;
  Prover prover(group_size, shift, wire_matters);
  return prover.Of(schedule.definition().blocks).stays() &&
         prover.Proves(schedule.definition().body);
}

std::int64_t SmallestShift(const Schedule& schedule, std::int64_t group_size, bool wire_matters) {
  for (std::int64_t shift = 1; shift < group_size; ++shift) {
    if (group_size % shift == 0 && IsSymmetric(schedule, group_size, shift, wire_matters)) {
      return shift;
    }
  }
  return group_size;
}

}  // namespace chorus
