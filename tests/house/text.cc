#include "tests/house/text.h"

#include <cctype>

#include "tests/house/law.h"

namespace chorus::house {
namespace {

// The end of the literal or comment that begins at `at`: one past its last character.
std::size_t EndAfter(std::string_view text, std::size_t at, std::string_view closing) {
  const std::size_t found = text.find(closing, at);
  return found == std::string_view::npos ? text.size() : found + closing.size();
}

std::size_t EndOfQuoted(std::string_view text, std::size_t at, char quote) {
  for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// One past the comment or literal that begins at `at`; `at` if none does.
std::size_t EndOfNonCode(std::string_view text, std::size_t at) {
  const std::string_view two = text.substr(at, 2);
  const bool in_word = at > 0 && IsWordCharacter(text[at - 1]);
  if (two == "//") return std::min(text.find('\n', at), text.size());
  if (two == "/*") return EndAfter(text, at + 2, "*/");
  if (two == "R\"" && !in_word) {  // R"x(...)x"
    const std::size_t open = text.find('(', at);
    if (open == std::string_view::npos) return text.size();
    const std::string closing = ")" + std::string(text.substr(at + 2, open - at - 2)) + "\"";
    return EndAfter(text, open, closing);
  }
  if (text[at] == '"') return EndOfQuoted(text, at, '"');
  // In 1'000 the quote stands within a number and begins nothing.
  if (text[at] == '\'' && !in_word) return EndOfQuoted(text, at, '\'');
  return at;
}

}  // namespace

std::string CodeOnly(std::string_view text) {
  std::string code(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = EndOfNonCode(text, at);
    for (std::size_t i = at; i < end; ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
    at = std::max(end, at + 1);
  }
  return code;
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::vector<Include> IncludesOf(std::string_view text) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  static const std::regex directive(R"(^\s*#\s*include\b)");
  std::vector<Include> includes;
  // The path stands in quotes, so it is read from the text; whether the line is code, from the
  // code.
  const std::vector<std::string> lines = LinesOf(text);
  const std::vector<std::string> code = LinesOf(CodeOnly(text));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(code[i], directive)) continue;
    if (!std::regex_search(lines[i], match, pattern)) continue;
    includes.push_back({match[2], match[1] == "\"", static_cast<int>(i) + 1});
  }
  return includes;
}

std::vector<Word> WordsMatching(const std::string& code, const std::regex& pattern) {
  std::vector<Word> words;
  int number = 0;
  for (const std::string& line : LinesOf(code)) {
    ++number;
    for (std::sregex_iterator it(line.begin(), line.end(), pattern), end; it != end; ++it) {
      words.push_back({it->str(), number});
    }
  }
  return words;
}

}  // namespace chorus::house
