// What can be asked for: operations with their algorithms, hardware, models, element types.
#pragma once

#include <string>

#include "chorus/apps/answer/json.h"

namespace chorus::answer {

// All of it; `version` is that of the tool. Made once a process, since it does not change.
Json CatalogueJson(const std::string& version);

}  // namespace chorus::answer
