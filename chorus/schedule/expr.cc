#include "chorus/schedule/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>

#include "chorus/schedule/expr_kind.h"
#include "chorus/schedule/lexer.h"

namespace chorus {
namespace {

Status Overflow(const Expr& e, std::int64_t a, std::int64_t b) {
  return InvalidArgument(
      fmt::format("{} does not fit into 64 bits (operands {} and {})", e.ToString(), a, b));
}

std::int64_t FloorDivide(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

bool BindsUnexpectedly(Expr::Kind kind) {
  return kind == Expr::Kind::kShiftLeft || kind == Expr::Kind::kShiftRight ||
         kind == Expr::Kind::kBitAnd || kind == Expr::Kind::kBitXor || kind == Expr::Kind::kBitOr;
}

// x >= 1.
std::int64_t Log2Down(std::int64_t x) { return std::bit_width(static_cast<std::uint64_t>(x)) - 1; }
std::int64_t Log2Up(std::int64_t x) { return std::bit_width(static_cast<std::uint64_t>(x - 1)); }

Result<std::int64_t> Divide(const Expr& e, std::int64_t a, std::int64_t b) {
  if (b == 0) return InvalidArgument(fmt::format("{} divides {} by zero", e.ToString(), a));
  if (b == -1) {  // INT64_MIN / -1 and its remainder would trap
    if (e.kind() == Expr::Kind::kModulo) return 0;
    if (a == INT64_MIN) return Overflow(e, a, b);
    return -a;
  }
  const std::int64_t q = FloorDivide(a, b);
  return e.kind() == Expr::Kind::kDivide ? q : a - q * b;
}

Result<std::int64_t> Shift(const Expr& e, std::int64_t a, std::int64_t b) {
  if (b < 0 || b > 62) {
    return InvalidArgument(
        fmt::format("{} shifts by {}; a shift is from 0 to 62", e.ToString(), b));
  }
  if (e.kind() == Expr::Kind::kShiftRight) return a >> b;
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, std::int64_t{1} << b, &result)) return Overflow(e, a, b);
  return result;
}

Result<std::int64_t> PowerOf(const Expr& e, std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    return InvalidArgument(
        fmt::format("{} has the exponent {}; it must not be negative", e.ToString(), exponent));
  }
  // By squares, so that a huge exponent of 1, 0 or -1 ends too.
  std::int64_t result = 1;
  for (std::int64_t square = base;; exponent >>= 1) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, square, &result)) {
      return Overflow(e, base, exponent);
    }
    if (exponent <= 1) return result;
    if (__builtin_mul_overflow(square, square, &square)) return Overflow(e, base, exponent);
  }
}

Result<std::int64_t> LogarithmOf(const Expr& e, std::int64_t base, std::int64_t x) {
  if (base < 2 || x < 1) {
    return InvalidArgument(
        fmt::format("{} takes the logarithm of {} to the base {}; they must be at least 1 and 2",
                    e.ToString(), x, base));
  }
  std::int64_t k = 0;
  for (std::int64_t left = x - 1; left > 0; left /= base) ++k;  // the digits of x - 1
  return k;
}

Result<std::int64_t> Apply(const Expr& e, std::int64_t a) {
  switch (e.kind()) {
    case Expr::Kind::kNot:
      return a == 0 ? 1 : 0;
    case Expr::Kind::kNegate: {
      std::int64_t result = 0;
      if (__builtin_sub_overflow(std::int64_t{0}, a, &result)) return Overflow(e, 0, a);
      return result;
    }
    default:
      break;
  }
  if (a < 1) {
    return InvalidArgument(
        fmt::format("{} takes the logarithm of {}; it must be at least 1", e.ToString(), a));
  }
  return e.kind() == Expr::Kind::kCeilLog2 ? Log2Up(a) : Log2Down(a);
}

Result<std::int64_t> Apply(const Expr& e, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (e.kind()) {
    case Expr::Kind::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return Overflow(e, a, b);
      return result;
    case Expr::Kind::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return Overflow(e, a, b);
      return result;
    case Expr::Kind::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return Overflow(e, a, b);
      return result;
    case Expr::Kind::kDivide:
    case Expr::Kind::kModulo:
      return Divide(e, a, b);
    case Expr::Kind::kShiftLeft:
    case Expr::Kind::kShiftRight:
      return Shift(e, a, b);
    case Expr::Kind::kLess:
      return a < b ? 1 : 0;
    case Expr::Kind::kLessEqual:
      return a <= b ? 1 : 0;
    case Expr::Kind::kGreater:
      return a > b ? 1 : 0;
    case Expr::Kind::kGreaterEqual:
      return a >= b ? 1 : 0;
    case Expr::Kind::kEqual:
      return a == b ? 1 : 0;
    case Expr::Kind::kNotEqual:
      return a != b ? 1 : 0;
    case Expr::Kind::kBitAnd:
      return a & b;
    case Expr::Kind::kBitXor:
      return a ^ b;
    case Expr::Kind::kBitOr:
      return a | b;
    case Expr::Kind::kMin:
      return a < b ? a : b;
    case Expr::Kind::kMax:
      return a < b ? b : a;
    case Expr::Kind::kPower:
      return PowerOf(e, a, b);
    case Expr::Kind::kCeilLog:
      return LogarithmOf(e, a, b);
    default:
      return Internal("Expr::Evaluate met a kind that takes no two operands");
  }
}

}  // namespace

struct Expr::Node {
  Kind kind = Kind::kLiteral;
  std::int64_t literal = 0;
  std::string variable;
  std::vector<Expr> operands;
  int depth = 1;
};

const std::int64_t* Bindings::Find(std::string_view name) const {
  for (std::size_t i = values_.size(); i-- > 0;) {
    if (values_[i].first == name) return &values_[i].second;
  }
  return nullptr;
}

Expr::Expr(std::int64_t literal)
    : node_(std::make_shared<const Node>(Node{Kind::kLiteral, literal, {}, {}, 1})) {}

Expr Expr::Variable(std::string name) {
  return Expr(std::make_shared<const Node>(Node{Kind::kVariable, 0, std::move(name), {}, 1}));
}

Expr Expr::Make(Kind kind, std::vector<Expr> operands) {
  assert(kind != Kind::kLiteral && kind != Kind::kVariable && !operands.empty());
  int deepest = 0;
  for (const Expr& operand : operands) deepest = std::max(deepest, operand.depth());
  return Expr(std::make_shared<const Node>(Node{kind, 0, {}, std::move(operands), deepest + 1}));
}

Result<Expr> Expr::Parse(std::string_view text) {
  Lexer lexer(text);
  CHORUS_ASSIGN_OR_RETURN(Expr result, lexer.ParseExpr());
  if (!lexer.AtEnd()) return lexer.Error("the formula should end here, found " + lexer.Found());
  return result;
}

Expr::Kind Expr::kind() const { return node_->kind; }
std::int64_t Expr::literal() const { return node_->literal; }
const std::string& Expr::variable() const { return node_->variable; }
const std::vector<Expr>& Expr::operands() const { return node_->operands; }
int Expr::depth() const { return node_->depth; }

Result<std::int64_t> Expr::Evaluate(const Bindings& bindings) const {
  const std::vector<Expr>& sub = operands();
  switch (kind()) {
    case Kind::kLiteral:
      return literal();
    case Kind::kVariable: {
      const std::int64_t* value = bindings.Find(variable());
      if (value == nullptr) {
        return InvalidArgument(fmt::format("'{}' has no value here", variable()));
      }
      return *value;
    }
    default:
      break;
  }
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t a, sub[0].Evaluate(bindings));
  if (sub.size() == 1) return Apply(*this, a);
  if (kind() == Kind::kSelect) return sub[a != 0 ? 1 : 2].Evaluate(bindings);
  if (kind() == Kind::kAnd && a == 0) return 0;
  if (kind() == Kind::kOr && a != 0) return 1;
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t b, sub[1].Evaluate(bindings));
  if (kind() == Kind::kAnd || kind() == Kind::kOr) return b != 0 ? 1 : 0;
  return Apply(*this, a, b);
}

std::string Expr::ToString() const { return Print(0); }

std::string Expr::Print(int outer_precedence) const {
  const std::vector<Expr>& sub = operands();
  int precedence = kPrimaryPrecedence;
  std::string text;
  switch (kind()) {
    case Kind::kLiteral:
      // A negative literal is written like a negation, so it binds like one.
      if (literal() < 0) precedence = kUnaryPrecedence;
      text = fmt::format("{}", literal());
      break;
    case Kind::kVariable:
      text = variable();
      break;
    case Kind::kNegate:
    case Kind::kNot:
      precedence = kUnaryPrecedence;
      // "--1" and "-(-1)" differ: parentheses keep a negated literal apart from a literal.
      text = (kind() == Kind::kNot ? "!" : "-") +
             (sub[0].kind() == Kind::kLiteral && kind() == Kind::kNegate
                  ? "(" + sub[0].ToString() + ")"
                  : sub[0].Print(kUnaryPrecedence));
      break;
    case Kind::kSelect:
      precedence = kSelectPrecedence;
      text = sub[0].Print(kLoosestBinary) + " ? " + sub[1].ToString() + " : " +
             sub[2].Print(kSelectPrecedence);
      break;
    default:
      for (const BinaryOperator& op : kBinaryOperators) {
        if (op.kind != kind()) continue;
        precedence = op.precedence;
        // Few know how << and & bind, so what stands beside them is put in parentheses.
        const bool clear = !BindsUnexpectedly(op.kind);
        text = fmt::format("{} {} {}", sub[0].Print(clear ? precedence : kUnaryPrecedence),
                           op.symbol, sub[1].Print(clear ? precedence + 1 : kUnaryPrecedence));
      }
      for (const Function& f : kFunctions) {
        if (f.kind != kind()) continue;
        text = fmt::format("{}({}{}{})", f.name, sub[0].ToString(), f.arity == 2 ? ", " : "",
                           f.arity == 2 ? sub[1].ToString() : "");
      }
  }
  return precedence < outer_precedence ? "(" + text + ")" : text;
}

bool operator==(const Expr& a, const Expr& b) {
  if (a.node_ == b.node_) return true;
  return a.kind() == b.kind() && a.literal() == b.literal() && a.variable() == b.variable() &&
         a.operands() == b.operands();
}

}  // namespace chorus
