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

// What an answer says no with: the option before the message ("--mesh: ...",
// chorus/apps/answer/about.h) or the first in it becomes the field, every "--accumulator-ratio" the
// name of a field, the caret a place in the text that `given` has of the field. `names` are all
// fields there are.
Refusal RefusalOf(const Status& error, const answer::Json& given,
                  const std::vector<std::string>& names);

}  // namespace chorus::studio
