// Scanner: reads a small language left to right and points at the character that is wrong.
//
// The notations of Chorus (specs, meshes, programs, tables) are read with it, so that every
// complaint looks the same: one line that says what is wrong and what would be right, then the
// text, then a caret.
//
//   axis X is used twice: on dimension I and on dimension J; ...
//     A[I_X, J_X]
//              ^
//
// Thread safety: like int. Lifetime: the text must outlive the scanner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chorus/base/status.h"

namespace chorus {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Offset of the next character that is not a blank (space or tab; a line end is no blank).
  std::size_t position();
  // True if only blanks are left.
  bool AtEnd();
  // The next character that is not a blank, '\0' at the end. Takes nothing.
  char Peek();
  // Skips blanks, then takes `token` if it comes next.
  bool Accept(std::string_view token);
  // Takes one character that satisfies `first` and then those that satisfy `rest`, without skipping
  // blanks; "" and nothing taken if the next character is no `first`.
  std::string_view TakeWord(bool (*first)(char), bool (*rest)(char));
  // Takes characters from where the scanner stands, without skipping blanks, while `wanted` holds.
  std::string_view TakeWhile(bool (*wanted)(char));
  // Takes everything up to the end of the line, and the line end.
  std::string_view TakeLine();
  // Takes a whole number >= 0 in 64 bits. `what` names it in the error: "the size of axis X".
  Result<std::int64_t> TakeCount(std::string_view what);

  // An invalid-argument error that shows the line of `position` with a caret below it, and the
  // line's number if the text has several.
  Status ErrorAt(std::size_t position, std::string_view message) const;
  Status Error(std::string_view message) { return ErrorAt(position(), message); }

 private:
  std::string_view text_;
  std::size_t next_ = 0;
};

// What an error of ErrorAt says, taken apart, for who shows the text in another way.
struct ErrorPlace {
  std::string message;     // one line
  std::string line;        // the line of the text that is shown
  std::size_t column = 0;  // of the caret in it, from 0; line.size() is behind its end
};
// Empty if the error shows no place. A context before the message stays in it.
std::optional<ErrorPlace> PlaceOf(const Status& error);

// Letters A-Z, a-z; digits 0-9; both. The notation is ASCII whatever the locale.
constexpr bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsAlnum(char c) { return IsUpper(c) || IsLower(c) || IsDigit(c); }

}  // namespace chorus
