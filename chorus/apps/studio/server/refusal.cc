#include "chorus/apps/studio/server/refusal.h"

#include <algorithm>
#include <cctype>

#include "chorus/base/scanner.h"

namespace chorus::studio {
namespace {

int StatusOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnsupported:
    case StatusCode::kNotFound:
      return 422;
    case StatusCode::kResourceExhausted:
      return 503;
    default:
      return 500;
  }
}

// "accumulator_ratio" as the option "--accumulator-ratio".
std::string OptionOf(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

bool IsWordChar(char c) { return IsAlnum(c) || c == '-' || c == '_'; }

// Every `option` that stands by itself in the message becomes `name`; where the first was.
std::size_t Rename(std::string& message, const std::string& option, const std::string& name) {
  std::size_t first = std::string::npos;
  for (std::size_t at = message.find(option); at != std::string::npos;
       at = message.find(option, at + name.size())) {
    const std::size_t end = at + option.size();
    const bool begins = at == 0 || !IsWordChar(message[at - 1]);
    if (!begins || (end < message.size() && IsWordChar(message[end]))) continue;
    message.replace(at, option.size(), name);
    if (first == std::string::npos) first = at;
  }
  return first;
}

// The characters from `begin` that belong together: an axis, a word, or one character.
std::size_t EndOfWord(const std::string& text, std::size_t begin) {
  if (begin >= text.size()) return text.size();
  std::size_t end = begin + 1;
  if (IsUpper(text[begin])) {
    while (end < text.size() && (IsLower(text[end]) || IsDigit(text[end]))) ++end;
  } else if (IsAlnum(text[begin])) {
    while (end < text.size() && IsAlnum(text[end])) ++end;
  }
  return end;
}

// Characters in the first `bytes` of `text`, which is UTF-8: a page counts them, not bytes.
std::size_t CharactersIn(const std::string& text, std::size_t bytes) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(bytes, text.size()));
  return static_cast<std::size_t>(std::count_if(
      text.begin(), end, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

answer::Json Refusal::ToJson() const {
  answer::Json json = {{"error", error}};
  if (!field.empty()) json["field"] = field;
  if (at) json["at"] = {{"begin", at->first}, {"end", at->second}};
  if (!spellings.empty()) json["spellings"] = spellings;
  return json;
}

Refusal RefusalOf(const Status& error, const answer::Json& given,
                  const std::vector<std::string>& names) {
  Refusal refusal{StatusOf(error.code()), error.message()};
  const std::optional<ErrorPlace> place = PlaceOf(error);
  if (place) refusal.error = place->message;
  std::size_t first = std::string::npos;
  for (const std::string& name : names) {
    const std::string option = OptionOf(name);
    if (refusal.error.compare(0, option.size() + 2, option + ": ") == 0) {
      refusal.error.erase(0, option.size() + 2);
      refusal.field = name;
      first = 0;
    }
    const std::size_t at = Rename(refusal.error, option, name);
    if (at >= first) continue;
    first = at;
    refusal.field = name;
  }
  if (place && given.contains(refusal.field) && given[refusal.field].is_string()) {
    const std::string& text = given[refusal.field].get_ref<const std::string&>();
    if (const std::size_t line = text.find(place->line); line != std::string::npos) {
      const std::size_t begin = line + place->column;
      refusal.at = {CharactersIn(text, begin), CharactersIn(text, EndOfWord(text, begin))};
    }
  }
  return refusal;
}

}  // namespace chorus::studio
