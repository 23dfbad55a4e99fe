// Refusal: why a request has no answer, as {"error", "field", "at", "spellings"} and a status.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chorus/apps/answer/json.h"
#include "chorus/base/status.h"

namespace chorus::studio {

struct Refusal {
  int status = 422;
  std::string error;                                           // one line
  std::string field = {};                                      // "" if no field is at fault
  std::optional<std::pair<std::size_t, std::size_t>> at = {};  // characters of the field's text
  std::vector<std::string> spellings = {};

  answer::Json ToJson() const;
};

// What an answer says no with: options in the message ("--accumulator-ratio") become fields of
// `given`'s table, the caret a place, the quoted value a field. `names` are all fields there are.
Refusal RefusalOf(const Status& error, const answer::Json& given,
                  const std::vector<std::string>& names);

}  // namespace chorus::studio
