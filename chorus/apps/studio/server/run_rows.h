// ReadRows: the rows of a file of results, of which only so much is held as a page shows, however
// long the file is. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "chorus/apps/answer/json.h"

namespace chorus::studio {

inline constexpr std::size_t kMostRows = 20'000;
inline constexpr std::size_t kMostPoints = 2'000;   // of a loss curve: more than a screen is wide
inline constexpr std::size_t kMostParts = 400'000;  // names, numbers, texts, ... of all rows

struct RunRows {
  answer::Json rows = answer::Json::array();
  std::int64_t skipped = 0;  // no JSON, or too many
  std::int64_t unread = 0;   // of these: no JSON
  std::int64_t every = 1;    // above 1: of a loss curve only every so many-th step is here
};

// `text` is one JSON document, which is one row; or a document a line; or a Chrome trace (or a
// list), whose elements are rows. Of a trace these are the events that last (X) or name a thread
// (M), with what a page draws of them; of a loss curve of more than kMostPoints steps, steps that
// are evenly apart and the last, those with a held-out loss and those without by themselves.
RunRows ReadRows(std::string_view text);

}  // namespace chorus::studio
