// Numbers of things, in words.
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chorus {

// "1 rank", "8 ranks": `one` is the word for one of them, and an s makes it more.
inline std::string Counted(std::int64_t n, std::string_view one) {
  return std::to_string(n) + " " + std::string(one) + (n == 1 ? "" : "s");
}

}  // namespace chorus
