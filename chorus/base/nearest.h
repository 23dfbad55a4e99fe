// The name that someone meant.
//
// Thread safety: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chorus {

// The candidate with the fewest edits from `word`, empty if none is near.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

// What to say after an unknown name: "did you mean 'h100'?", or "there is a100, h100" if none is
// near.
std::string NearestAdvice(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace chorus
