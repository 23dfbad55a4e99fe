// Lexer: the words of schedule text, and the formulas within it.
//
// Shared by Expr::Parse and Schedule::Parse. Line ends are white space; '#' begins a comment that
// ends with its line. Every error points at line:column of the token that is wrong.
// Thread safety: one thread per Lexer. The text must outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chorus/base/status.h"
#include "chorus/schedule/expr.h"

namespace chorus {

class Lexer {
 public:
  enum class TokenKind : std::uint8_t { kName, kNumber, kSymbol, kEnd };
  struct Token {
    TokenKind kind = TokenKind::kEnd;
    std::string_view text;
    int line = 1;
    int column = 1;
  };

  explicit Lexer(std::string_view text) : text_(text) { Advance(); }

  const Token& token() const { return token_; }
  bool AtEnd() const { return token_.kind == TokenKind::kEnd; }
  bool At(std::string_view text) const { return !AtEnd() && token_.text == text; }
  void Advance();

  // Steps over `text` if it is next.
  bool Accept(std::string_view text);
  // Steps over `text`, or the error "line:column: expected 'text' ..., found ...".
  Status Expect(std::string_view text, std::string_view where);
  // Steps over a name that is no reserved word and returns it. `what` is what it names.
  Result<std::string> ExpectName(std::string_view what);

  // Reads the longest formula that starts here.
  Result<Expr> ParseExpr();
  // The same without a ?: at its top, for `(condition ? chunk : chunk)`.
  Result<Expr> ParseCondition();

  // "line:column: message", at `token` or at the next token.
  Status ErrorAt(const Token& token, std::string_view message) const;
  Status Error(std::string_view message) const { return ErrorAt(token_, message); }
  // "'x'" or "the end of the text", for messages.
  std::string Found() const;

 private:
  Result<Expr> ParseBinary(int precedence);
  Result<Expr> ParseUnary();
  Result<Expr> ParsePrimary();
  Result<Expr> ParseCall(Expr::Kind kind, int arity);
  Result<Expr> ParseNumber(bool negative);

  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 1;
  std::size_t line_start_ = 0;
  Token token_;
  int depth_ = 0;  // of nested formulas, bounded so that hostile text cannot exhaust the stack
};

// True for words that mean something in schedule text and so cannot name a variable or a label.
bool IsReservedWord(std::string_view name);

}  // namespace chorus
