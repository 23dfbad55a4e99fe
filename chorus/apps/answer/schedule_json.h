// A schedule as JSON, for programs and pages.
#pragma once

#include <nlohmann/json.hpp>

#include "chorus/schedule/expansion.h"
#include "chorus/schedule/step.h"

namespace chorus::answer {

// {"label", "verb", "chunks", "finish", "after"} and of messages "peer" and "message".
nlohmann::ordered_json ToJson(const Step& step);

// {"operation", "order", "group_size", "root", "blocks", "ranks": [[step]]}.
nlohmann::ordered_json ToJson(const Expansion& expansion);

}  // namespace chorus::answer
