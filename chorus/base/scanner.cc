#include "chorus/base/scanner.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace chorus {
namespace {

constexpr bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// In UTF-8: false for the second byte of a character and those after it.
constexpr bool BeginsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

std::size_t Scanner::position() {
  while (next_ < text_.size() && IsBlank(text_[next_])) ++next_;
  return next_;
}

bool Scanner::AtEnd() { return position() == text_.size(); }

char Scanner::Peek() { return AtEnd() ? '\0' : text_[next_]; }

bool Scanner::Accept(std::string_view token) {
  if (text_.substr(position(), token.size()) != token) return false;
  next_ += token.size();
  return true;
}

std::string_view Scanner::TakeWhile(bool (*wanted)(char)) {
  const std::size_t begin = next_;
  while (next_ < text_.size() && wanted(text_[next_])) ++next_;
  return text_.substr(begin, next_ - begin);
}

std::string_view Scanner::TakeWord(bool (*first)(char), bool (*rest)(char)) {
  const std::size_t begin = next_;
  if (next_ == text_.size() || !first(text_[next_])) return {};
  ++next_;
  TakeWhile(rest);
  return text_.substr(begin, next_ - begin);
}

std::string_view Scanner::TakeLine() {
  const std::size_t begin = next_;
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  next_ = std::min(end + 1, text_.size());
  return text_.substr(begin, end - begin);
}

Result<std::int64_t> Scanner::TakeCount(std::string_view what) {
  const std::size_t begin = position();
  const std::string_view digits = TakeWhile(IsDigit);
  if (digits.empty()) {
    return ErrorAt(begin, std::string(what) + " must be a whole number, like 4");
  }
  std::int64_t count = 0;
  for (const char c : digits) {
    const std::int64_t digit = c - '0';
    if (count > (std::numeric_limits<std::int64_t>::max() - digit) / 10) {
      return ErrorAt(begin, std::string(what) + " is larger than 2^63-1");
    }
    count = count * 10 + digit;
  }
  return count;
}

Status Scanner::ErrorAt(std::size_t position, std::string_view message) const {
  position = std::min(position, text_.size());
  const std::size_t before =
      position == 0 ? std::string_view::npos : text_.rfind('\n', position - 1);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(text_.find('\n', begin), text_.size());
  std::string text;
  if (const std::size_t end_of_first = text_.find('\n');
      end_of_first != std::string_view::npos && end_of_first + 1 < text_.size()) {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + begin, '\n');
    text = "line " + std::to_string(line) + ": ";
  }
  text.append(message).append("\n  ").append(text_.substr(begin, end - begin));
  // The caret stands below the character, which may be of several bytes.
  const auto characters =
      std::count_if(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                    text_.begin() + static_cast<std::ptrdiff_t>(position), BeginsCharacter);
  text.append("\n  ").append(static_cast<std::size_t>(characters), ' ').append("^");
  return InvalidArgument(std::move(text));
}

std::optional<ErrorPlace> PlaceOf(const Status& error) {
  constexpr std::string_view kIndent = "\n  ";
  const std::string& text = error.message();
  const std::size_t caret = text.rfind(kIndent);
  if (caret == std::string::npos || caret == 0 || text.back() != '^') return std::nullopt;
  const std::size_t line = text.rfind(kIndent, caret - 1);
  if (line == std::string::npos) return std::nullopt;
  std::size_t characters = text.size() - 1 - (caret + kIndent.size());
  if (text.find_first_not_of(' ', caret + kIndent.size()) != text.size() - 1) return std::nullopt;
  const std::size_t begin = line + kIndent.size();
  std::string shown = text.substr(begin, caret - begin);
  std::size_t column = 0;
  for (; characters > 0 && column < shown.size(); --characters) {
    do {
      ++column;
    } while (column < shown.size() && !BeginsCharacter(shown[column]));
  }
  return ErrorPlace{text.substr(0, line), std::move(shown), column};
}

}  // namespace chorus
