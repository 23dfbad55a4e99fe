// About: which option of a question a refusal is about. It stands before the message, as in
// "--bytes: 'abc' is no size", unless the message begins with an option already. A command line on
// which the word has no option (an operation) leaves it out, a page shows it at the field.
#pragma once

#include <string_view>
#include <utility>

#include "chorus/base/status.h"

namespace chorus::answer {

inline Status About(std::string_view option, const Status& status) {
  const bool told = status.ok() || status.message().compare(0, 2, "--") == 0;
  return told ? status : status.WithContext(option);
}

template <typename T>
Result<T> About(std::string_view option, Result<T> result) {
  if (result.ok()) return result;
  return About(option, result.status());
}

}  // namespace chorus::answer
