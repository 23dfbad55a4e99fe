#include "chorus/schedule/lexer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "chorus/schedule/expr_kind.h"

namespace chorus {
namespace {

// The parser calls itself once a level; this much stack is there in any thread.
constexpr int kDeepestFormula = 200;
constexpr int kDeepestTree = 1000;  // what walks a formula takes a stack frame or two a level

constexpr std::array<std::string_view, 9> kTwoCharacterSymbols = {
    "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", ".."};

constexpr std::array<std::string_view, 37> kReservedWords = {
    "r",     "N",    "root", "min",      "max",     "ceil_log2", "floor_log2", "in",
    "out",   "tmp",  "acc",  "schedule", "blocks",  "owns",      "order",      "tiles",
    "begin", "end",  "for",  "let",      "send",    "recv",      "reduce",     "copy",
    "to",    "from", "as",   "after",    "if",      "finish",    "scaled",     "signal",
    "none",  "rank", "any",  "power",    "ceil_log"};

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

bool IsReservedWord(std::string_view name) {
  for (std::string_view word : kReservedWords) {
    if (word == name) return true;
  }
  return false;
}

void Lexer::Advance() {
  while (position_ < text_.size() && (IsSpace(text_[position_]) || text_[position_] == '#')) {
    if (text_[position_] == '#') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
      continue;
    }
    if (text_[position_] == '\n') {
      ++line_;
      line_start_ = position_ + 1;
    }
    ++position_;
  }
  token_.line = line_;
  token_.column = static_cast<int>(position_ - line_start_) + 1;
  const std::size_t start = position_;
  if (start == text_.size()) {
    token_.kind = TokenKind::kEnd;
    token_.text = {};
    return;
  }
  if (IsLetter(text_[start])) {
    token_.kind = TokenKind::kName;
    while (position_ < text_.size() && (IsLetter(text_[position_]) || IsDigit(text_[position_]))) {
      ++position_;
    }
  } else if (IsDigit(text_[start])) {
    token_.kind = TokenKind::kNumber;
    while (position_ < text_.size() && IsDigit(text_[position_])) ++position_;
  } else {
    token_.kind = TokenKind::kSymbol;
    position_ = start + 1;
    for (std::string_view symbol : kTwoCharacterSymbols) {
      if (text_.substr(start, 2) == symbol) position_ = start + 2;
    }
  }
  token_.text = text_.substr(start, position_ - start);
}

bool Lexer::Accept(std::string_view text) {
  if (!At(text)) return false;
  Advance();
  return true;
}

Status Lexer::Expect(std::string_view text, std::string_view where) {
  if (Accept(text)) return OkStatus();
  return Error(fmt::format("expected '{}' {}, found {}", text, where, Found()));
}

Result<std::string> Lexer::ExpectName(std::string_view what) {
  if (token_.kind != TokenKind::kName) {
    return Error(fmt::format("expected the name of {}, found {}", what, Found()));
  }
  if (IsReservedWord(token_.text)) {
    return Error(
        fmt::format("'{}' is a word of the language and cannot name {}", token_.text, what));
  }
  std::string name(token_.text);
  Advance();
  return name;
}

Status Lexer::ErrorAt(const Token& token, std::string_view message) const {
  return InvalidArgument(fmt::format("{}:{}: {}", token.line, token.column, message));
}

std::string Lexer::Found() const {
  return AtEnd() ? "the end of the text" : fmt::format("'{}'", token_.text);
}

Result<Expr> Lexer::ParseExpr() {
  if (++depth_ > kDeepestFormula) return Error("this formula is nested too deeply");
  CHORUS_ASSIGN_OR_RETURN(Expr result, ParseCondition());
  if (Accept("?")) {
    CHORUS_ASSIGN_OR_RETURN(Expr a, ParseExpr());
    CHORUS_RETURN_IF_ERROR(Expect(":", "between the two values of '?'"));
    CHORUS_ASSIGN_OR_RETURN(Expr b, ParseExpr());
    result = Select(std::move(result), std::move(a), std::move(b));
  }
  --depth_;
  return result;
}

Result<Expr> Lexer::ParseCondition() { return ParseBinary(kLoosestBinary); }

// Precedence climbing: operators of one precedence between operands of tighter ones, leftmost
// first.
Result<Expr> Lexer::ParseBinary(int precedence) {
  if (precedence > kTightestBinary) return ParseUnary();
  CHORUS_ASSIGN_OR_RETURN(Expr left, ParseBinary(precedence + 1));
  while (token_.kind == TokenKind::kSymbol) {
    const BinaryOperator* found = nullptr;
    for (const BinaryOperator& op : kBinaryOperators) {
      if (op.precedence == precedence && op.symbol == token_.text) found = &op;
    }
    if (found == nullptr) break;
    Advance();
    CHORUS_ASSIGN_OR_RETURN(Expr right, ParseBinary(precedence + 1));
    left = Expr::Make(found->kind, {std::move(left), std::move(right)});
    // a + b + c + ... nests to the left, without a parenthesis.
    if (left.depth() > kDeepestTree) return Error("this formula is nested too deeply");
  }
  return left;
}

Result<Expr> Lexer::ParseUnary() {
  if (++depth_ > kDeepestFormula) return Error("this formula is nested too deeply");
  const bool negative = At("-");
  Result<Expr> result = Expr();
  if (negative || At("!")) {
    Advance();
    // "-3" is the literal -3; "-x" is a negation.
    if (negative && token_.kind == TokenKind::kNumber) {
      result = ParseNumber(/*negative=*/true);
    } else {
      result = ParseUnary();
      if (!result.ok()) return result;
      result = Expr::Make(negative ? Expr::Kind::kNegate : Expr::Kind::kNot, {*result});
    }
  } else {
    result = ParsePrimary();
  }
  --depth_;
  return result;
}

Result<Expr> Lexer::ParseNumber(bool negative) {
  std::uint64_t magnitude = 0;
  const char* end = token_.text.data() + token_.text.size();
  const std::uint64_t most = (std::uint64_t{1} << 63) - (negative ? 0 : 1);
  if (std::from_chars(token_.text.data(), end, magnitude).ec != std::errc() || magnitude > most) {
    return Error(fmt::format("{} does not fit into 64 bits", token_.text));
  }
  Advance();
  return Expr(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude));
}

Result<Expr> Lexer::ParsePrimary() {
  if (token_.kind == TokenKind::kNumber) return ParseNumber(/*negative=*/false);
  if (Accept("(")) {
    CHORUS_ASSIGN_OR_RETURN(Expr inner, ParseExpr());
    CHORUS_RETURN_IF_ERROR(Expect(")", "to close the parenthesis"));
    return inner;
  }
  for (const Function& function : kFunctions) {
    if (At(function.name)) return ParseCall(function.kind, function.arity);
  }
  if (token_.kind == TokenKind::kName &&
      (At("r") || At("N") || At("root") || !IsReservedWord(token_.text))) {
    Expr variable = Expr::Variable(std::string(token_.text));
    Advance();
    return variable;
  }
  return Error("expected a number, a variable or '(', found " + Found());
}

Result<Expr> Lexer::ParseCall(Expr::Kind kind, int arity) {
  const std::string name(token_.text);
  Advance();
  CHORUS_RETURN_IF_ERROR(Expect("(", "after " + name));
  std::vector<Expr> operands;
  for (int i = 0; i < arity; ++i) {
    if (i > 0) CHORUS_RETURN_IF_ERROR(Expect(",", "between the operands of " + name));
    CHORUS_ASSIGN_OR_RETURN(Expr operand, ParseExpr());
    operands.push_back(std::move(operand));
  }
  CHORUS_RETURN_IF_ERROR(Expect(")", "after the operands of " + name));
  return Expr::Make(kind, std::move(operands));
}

}  // namespace chorus
