// Expr: an integer formula over rank, N, root and loop variables: (r - k - 1) % N.
//
// A schedule is written once for all ranks and all N; whatever differs between them is an Expr.
// Builders write formulas with the operators below, so that the source reads like the text:
//
//   const Expr r = Expr::Rank(), n = Expr::GroupSize(), k = Expr::Variable("k");
//   ((r - k) % n).ToString() == "(r - k) % N"
//
// All values are 64-bit. / and % round down, so that (r - k) % N is in [0, N) for negative r - k.
// Comparisons and && || ! give 0 or 1; && || and ?: do not evaluate what they do not need.
// Precedence is that of C. Thread safety: immutable values that share their parts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chorus/base/status.h"

namespace chorus {

// The values of variables while a schedule is expanded: innermost last.
class Bindings {
 public:
  void Push(std::string_view name, std::int64_t value) { values_.emplace_back(name, value); }
  void Pop(std::size_t count) { values_.resize(values_.size() - count); }
  // The value of the innermost variable of that name, or nullptr. Valid until the next Push.
  const std::int64_t* Find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string_view, std::int64_t>> values_;
};

class Expr {
 public:
  enum class Kind : std::uint8_t {
    kLiteral,
    kVariable,
    kNegate,
    kNot,
    kMultiply,
    kDivide,
    kModulo,
    kAdd,
    kSubtract,
    kShiftLeft,
    kShiftRight,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kEqual,
    kNotEqual,
    kBitAnd,
    kBitXor,
    kBitOr,
    kAnd,
    kOr,
    kSelect,  // condition ? a : b
    kMin,
    kMax,
    kCeilLog2,   // least k with 2^k >= x; x >= 1
    kFloorLog2,  // greatest k with 2^k <= x; x >= 1
    kPower,      // power(b, e) = b^e; e >= 0
    kCeilLog,    // ceil_log(b, x): least k with b^k >= x; b >= 2, x >= 1
  };

  Expr() : Expr(0) {}
  Expr(std::int64_t literal);  // NOLINT: implicit, so that r + 1 is an Expr
  static Expr Variable(std::string name);
  static Expr Rank() { return Variable("r"); }
  static Expr GroupSize() { return Variable("N"); }
  static Expr Root() { return Variable("root"); }
  // REQUIRES: as many operands as the kind takes; not for literals and variables.
  static Expr Make(Kind kind, std::vector<Expr> operands);

  // Reads the whole of `text`. An error names the column.
  static Result<Expr> Parse(std::string_view text);

  Kind kind() const;
  std::int64_t literal() const;         // REQUIRES: kind() == kLiteral
  const std::string& variable() const;  // REQUIRES: kind() == kVariable
  const std::vector<Expr>& operands() const;
  int depth() const;  // 1 for a literal or a variable, else 1 more than the deepest operand's

  // The value under `bindings`. Errors: a variable that is not bound, division by zero, overflow, a
  // shift outside [0, 62], the logarithm of a number below 1 or to a base below 2, a negative
  // power.
  Result<std::int64_t> Evaluate(const Bindings& bindings) const;

  // With as few parentheses as can be read without a table: none that precedence makes
  // superfluous, except around the operands of << >> & ^ |. Parse(ToString()) == *this.
  std::string ToString() const;

  // Same formula, not same value: r + 1 != 1 + r.
  friend bool operator==(const Expr& a, const Expr& b);

  friend Expr operator+(Expr a, Expr b) { return Binary(Kind::kAdd, std::move(a), std::move(b)); }
  friend Expr operator-(Expr a, Expr b) {
    return Binary(Kind::kSubtract, std::move(a), std::move(b));
  }
  friend Expr operator*(Expr a, Expr b) {
    return Binary(Kind::kMultiply, std::move(a), std::move(b));
  }
  friend Expr operator/(Expr a, Expr b) {
    return Binary(Kind::kDivide, std::move(a), std::move(b));
  }
  friend Expr operator%(Expr a, Expr b) {
    return Binary(Kind::kModulo, std::move(a), std::move(b));
  }
  friend Expr operator<<(Expr a, Expr b) {
    return Binary(Kind::kShiftLeft, std::move(a), std::move(b));
  }
  friend Expr operator>>(Expr a, Expr b) {
    return Binary(Kind::kShiftRight, std::move(a), std::move(b));
  }
  friend Expr operator&(Expr a, Expr b) {
    return Binary(Kind::kBitAnd, std::move(a), std::move(b));
  }
  friend Expr operator^(Expr a, Expr b) {
    return Binary(Kind::kBitXor, std::move(a), std::move(b));
  }
  friend Expr operator|(Expr a, Expr b) { return Binary(Kind::kBitOr, std::move(a), std::move(b)); }
  // == compares formulas, so conditions have names.
  friend Expr Eq(Expr a, Expr b) { return Binary(Kind::kEqual, std::move(a), std::move(b)); }
  friend Expr Ne(Expr a, Expr b) { return Binary(Kind::kNotEqual, std::move(a), std::move(b)); }
  friend Expr Lt(Expr a, Expr b) { return Binary(Kind::kLess, std::move(a), std::move(b)); }
  friend Expr Le(Expr a, Expr b) { return Binary(Kind::kLessEqual, std::move(a), std::move(b)); }
  friend Expr Gt(Expr a, Expr b) { return Binary(Kind::kGreater, std::move(a), std::move(b)); }
  friend Expr Ge(Expr a, Expr b) { return Binary(Kind::kGreaterEqual, std::move(a), std::move(b)); }
  friend Expr And(Expr a, Expr b) { return Binary(Kind::kAnd, std::move(a), std::move(b)); }
  friend Expr Or(Expr a, Expr b) { return Binary(Kind::kOr, std::move(a), std::move(b)); }
  friend Expr Not(Expr a) { return Make(Kind::kNot, {std::move(a)}); }
  friend Expr Min(Expr a, Expr b) { return Binary(Kind::kMin, std::move(a), std::move(b)); }
  friend Expr Max(Expr a, Expr b) { return Binary(Kind::kMax, std::move(a), std::move(b)); }
  friend Expr CeilLog2(Expr a) { return Make(Kind::kCeilLog2, {std::move(a)}); }
  friend Expr Power(Expr base, Expr e) {
    return Binary(Kind::kPower, std::move(base), std::move(e));
  }
  friend Expr CeilLog(Expr base, Expr x) {
    return Binary(Kind::kCeilLog, std::move(base), std::move(x));
  }
  friend Expr FloorLog2(Expr a) { return Make(Kind::kFloorLog2, {std::move(a)}); }
  friend Expr Select(Expr condition, Expr a, Expr b) {
    return Make(Kind::kSelect, {std::move(condition), std::move(a), std::move(b)});
  }

 private:
  struct Node;
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Expr Binary(Kind kind, Expr a, Expr b) { return Make(kind, {std::move(a), std::move(b)}); }
  std::string Print(int outer_precedence) const;

  std::shared_ptr<const Node> node_;  // never null
};

}  // namespace chorus
