#include "chorus/cost/simulate/motion.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

namespace chorus {
namespace {

using Kind = Expr::Kind;

// Products of two such numbers and some more are far from overflow.
constexpr std::int64_t kMostOfMotion = std::int64_t{1} << 30;

std::int64_t FloorOf(std::int64_t x, std::int64_t c) {  // of x / c, c > 0
  return x / c - (x % c < 0 ? 1 : 0);
}
std::int64_t RestOf(std::int64_t x, std::int64_t c) { return x - FloorOf(x, c) * c; }

bool IsSmall(std::int64_t x) { return -kMostOfMotion <= x && x <= kMostOfMotion; }

}  // namespace

OrbitFormulas::OrbitFormulas(std::int64_t group_size, std::int64_t root, std::int64_t first,
                             std::int64_t shift)
    : turns_(group_size / shift) {
  Push("N", Linear(0, group_size));
  Push("root", Linear(0, root));
  Push("r", Linear(shift, first));
}

Motion OrbitFormulas::Linear(std::int64_t a, std::int64_t b) const {
  if (turns_ == 1) a = 0;
  if (!IsSmall(a) || !IsSmall(b)) return {};
  return {Motion::Kind::kLinear, a, b, 0, 0};
}

// In the one form that equal values have.
Motion OrbitFormulas::Modular(Motion::Kind kind, std::int64_t a, std::int64_t b,
                              std::int64_t modulus, std::int64_t offset) const {
  if (!IsSmall(a) || !IsSmall(b) || !IsSmall(modulus) || !IsSmall(offset)) return {};
  a = RestOf(a, modulus);
  if (kind == Motion::Kind::kCongruent) return {kind, a, RestOf(b + offset, modulus), modulus, 0};
  b = RestOf(b, modulus);
  // Never as much as the modulus: there is nothing to take off.
  if (a * (turns_ - 1) + b < modulus) return Linear(a, b + offset);
  return {kind, a, b, modulus, offset};
}

OrbitFormulas::Span OrbitFormulas::Range(const Motion& v) const {
  if (v.kind == Motion::Kind::kLinear) {
    const std::int64_t last = v.b + v.a * (turns_ - 1);
    return {std::min(v.b, last), std::max(v.b, last), std::max(std::abs(v.a), std::int64_t{1})};
  }
  const std::int64_t grid = std::gcd(v.a, v.modulus);
  const std::int64_t low = v.offset + v.b % grid;
  return {low, low + v.modulus - grid, grid};
}

Motion OrbitFormulas::Turned(std::int64_t i, std::int64_t modulus) const {
  if (modulus <= 0 || modulus % turns_ != 0) return {};
  return Modular(Motion::Kind::kCyclic, modulus / turns_, i, modulus, 0);
}

Motion OrbitFormulas::Add(const Motion& x, const Motion& y) const {
  using enum Motion::Kind;
  if (x.kind == kUnknown || y.kind == kUnknown) return {};
  if (x.kind == kLinear && y.kind == kLinear) return Linear(x.a + y.a, x.b + y.b);
  if (y.IsConstant()) return Modular(x.kind, x.a, x.b, x.modulus, x.offset + y.b);
  if (x.IsConstant()) return Add(y, x);
  return Modular(kCongruent, x.a + y.a, x.b + x.offset + y.b + y.offset,
                 std::gcd(x.modulus, y.modulus), 0);
}

Motion OrbitFormulas::Times(const Motion& x, std::int64_t c) const {
  using enum Motion::Kind;
  if (x.kind == kUnknown || !IsSmall(c)) return {};
  if (x.kind == kLinear) return Linear(x.a * c, x.b * c);
  if (c == 0) return Linear(0, 0);
  if (c > 0) return Modular(x.kind, x.a * c, x.b * c, x.modulus * c, x.offset * c);
  return Modular(kCongruent, x.a * c, (x.b + x.offset) * c, x.modulus * -c, 0);
}

Motion OrbitFormulas::Quotient(const Motion& x, std::int64_t c) const {
  using enum Motion::Kind;
  if (x.kind == kUnknown || x.kind == kCongruent || c <= 0) return {};
  const auto [low, high, grid] = Range(x);
  if (FloorOf(low, c) == FloorOf(high, c)) return Linear(0, FloorOf(low, c));
  if (x.a % c != 0 || x.modulus % c != 0) return {};
  if (x.kind == kLinear) return Linear(x.a / c, FloorOf(x.b, c));
  // (a q + b) mod m is c times a whole number, and b % c.
  return Modular(kCyclic, x.a / c, x.b / c, x.modulus / c, FloorOf(x.b % c + x.offset, c));
}

Motion OrbitFormulas::Remainder(const Motion& x, std::int64_t c) const {
  using enum Motion::Kind;
  if (x.kind == kUnknown || c <= 0) return {};
  if (x.kind != kCongruent) {
    const auto [low, high, grid] = Range(x);
    const std::int64_t whole = FloorOf(low, c);
    if (whole == FloorOf(high, c)) return Add(x, Linear(0, -whole * c));
  }
  if (x.modulus % c != 0) return {};
  return Modular(kCyclic, x.a, x.b + x.offset, c, 0);
}

// The bits below 2^k stay when whole multiples of 2^k are added.
Motion OrbitFormulas::LowBits(Kind kind, const Motion& x, std::int64_t mask) const {
  if (x.kind == Motion::Kind::kUnknown || mask < 0 || !IsSmall(mask)) return {};
  const auto low = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(mask) + 1));
  if (x.a % low != 0 || x.modulus % low != 0) return {};
  const std::int64_t bits = RestOf(x.b + x.offset, low);
  if (kind == Kind::kBitAnd) return Linear(0, bits & mask);
  return Add(x, Linear(0, (bits ^ mask) - bits));
}

Motion OrbitFormulas::Compare(Kind kind, const Motion& x, const Motion& y) const {
  using enum Motion::Kind;
  const bool same =
      x.kind == kCyclic && y.kind == kCyclic && x.a == y.a && x.b == y.b && x.modulus == y.modulus;
  const Motion d = same ? Linear(0, x.offset - y.offset) : Add(x, Times(y, -1));
  if (d.kind == kUnknown) return {};
  const bool equality = kind == Kind::kEqual || kind == Kind::kNotEqual;
  const std::int64_t grid = std::gcd(d.a, d.modulus);
  if (equality && grid != 0 && RestOf(d.b + d.offset, grid) != 0) {
    return Linear(0, kind == Kind::kNotEqual ? 1 : 0);  // never equal
  }
  // Of two sums of cyclic values the range is that of their ranges.
  std::int64_t low = 0, high = 0;
  if (d.kind != kCongruent) {
    low = Range(d).low;
    high = Range(d).high;
  } else if (x.kind != kCongruent && y.kind != kCongruent) {
    low = Range(x).low - Range(y).high;
    high = Range(x).high - Range(y).low;
  } else {
    return {};
  }
  const auto decided = [&](bool always, bool never) {
    if (!always && !never) return Motion{};
    return Linear(0, always ? 1 : 0);
  };
  switch (kind) {
    case Kind::kLess:
      return decided(high < 0, low >= 0);
    case Kind::kLessEqual:
      return decided(high <= 0, low > 0);
    case Kind::kGreater:
      return decided(low > 0, high <= 0);
    case Kind::kGreaterEqual:
      return decided(low >= 0, high < 0);
    case Kind::kEqual:
      return decided(low == 0 && high == 0, low > 0 || high < 0);
    default:
      return decided(low > 0 || high < 0, low == 0 && high == 0);
  }
}

// && || ?: do not look at what they do not need.
Motion OrbitFormulas::Choice(const Expr& e) const {
  const std::vector<Expr>& operands = e.operands();
  const Motion first = Of(operands[0]);
  if (e.kind() == Kind::kSelect) {
    const Motion condition = Truth(first);
    if (condition.IsConstant()) return Of(operands[condition.b != 0 ? 1 : 2]);
    const Motion then = Of(operands[1]);
    return then == Of(operands[2]) ? then : Motion{};
  }
  const Motion decides = Linear(0, e.kind() == Kind::kOr ? 1 : 0);
  const Motion left = Truth(first);
  if (left == decides) return decides;
  const Motion right = Truth(Of(operands[1]));
  if (right == decides) return decides;
  return left.IsConstant() && right.IsConstant() ? right : Motion{};
}

Motion OrbitFormulas::Binary(Kind kind, const Motion& x, const Motion& y) const {
  switch (kind) {
    case Kind::kAdd:
      return Add(x, y);
    case Kind::kSubtract:
      if (x.kind == Motion::Kind::kCyclic && y.kind == x.kind && x.a == y.a && x.b == y.b &&
          x.modulus == y.modulus) {
        return Linear(0, x.offset - y.offset);
      }
      return Add(x, Times(y, -1));
    case Kind::kMultiply:
      if (x.IsConstant()) return Times(y, x.b);
      return y.IsConstant() ? Times(x, y.b) : Motion{};
    case Kind::kDivide:
      return y.IsConstant() ? Quotient(x, y.b) : Motion{};
    case Kind::kModulo:
      return y.IsConstant() ? Remainder(x, y.b) : Motion{};
    case Kind::kBitAnd:
    case Kind::kBitXor:
      return y.IsConstant() ? LowBits(kind, x, y.b) : Motion{};
    case Kind::kMin:
    case Kind::kMax: {
      const Motion less = Compare(Kind::kLessEqual, x, y);
      if (!less.IsConstant()) return {};
      return (less.b != 0) == (kind == Kind::kMin) ? x : y;
    }
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kGreater:
    case Kind::kGreaterEqual:
    case Kind::kEqual:
    case Kind::kNotEqual:
      return Compare(kind, x, y);
    default:
      return {};
  }
}

Motion OrbitFormulas::Of(const Expr& e) const {
  if (e.kind() == Kind::kLiteral) return Linear(0, e.literal());
  if (e.kind() == Kind::kVariable) {
    for (auto entry = scope_.rbegin(); entry != scope_.rend(); ++entry) {
      if (entry->first == e.variable()) return entry->second;
    }
    return {};
  }
  if (e.kind() == Kind::kSelect || e.kind() == Kind::kAnd || e.kind() == Kind::kOr) {
    return Choice(e);
  }
  const std::vector<Expr>& operands = e.operands();
  const Motion x = Of(operands[0]);
  if (e.kind() == Kind::kNegate) return Times(x, -1);
  if (e.kind() == Kind::kNot) return Compare(Kind::kEqual, x, Linear(0, 0));
  const Motion y = operands.size() == 2 ? Of(operands[1]) : Linear(0, 0);
  const Motion value = Binary(e.kind(), x, y);
  if (value.kind != Motion::Kind::kUnknown || !x.IsConstant() || !y.IsConstant()) return value;
  // Logarithms, powers, shifts: of numbers only.
  std::vector<Expr> numbers = {x.b};
  if (operands.size() == 2) numbers.emplace_back(y.b);
  const Result<std::int64_t> number = Expr::Make(e.kind(), std::move(numbers)).Evaluate(Bindings());
  return number.ok() ? Linear(0, *number) : Motion{};
}

}  // namespace chorus
