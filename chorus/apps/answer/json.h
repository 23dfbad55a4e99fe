// JSON as every answer gives it: members keep the order they were written in.
#pragma once

#include <nlohmann/json.hpp>

namespace chorus::answer {

using Json = nlohmann::ordered_json;

}  // namespace chorus::answer
