// Looking into C++ text without a compiler: its includes, and its words outside comments and
// strings.
#pragma once

#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace chorus::house {

// One #include: what it names, in quotes or angle brackets, and its line (from 1).
struct Include {
  std::string path;
  bool quoted;
  int line;
};

// A match in the code and its line (from 1).
struct Word {
  std::string text;
  int line;
};

std::vector<std::string> LinesOf(std::string_view text);
std::vector<Include> IncludesOf(std::string_view text);
// `code` is what CodeOnly (law.h) returns.
std::vector<Word> WordsMatching(const std::string& code, const std::regex& pattern);

}  // namespace chorus::house
