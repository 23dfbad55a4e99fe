// How deep JSON is nested, asked before it is parsed.
#pragma once

#include <string_view>

namespace chorus::studio {

// True if brackets outside of texts are nested deeper than `most`. Of text that is no JSON the
// answer means nothing.
bool IsDeeperThan(int most, std::string_view json);

}  // namespace chorus::studio
