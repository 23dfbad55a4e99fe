// From measured times to choices.
#pragma once

#include <string>
#include <vector>

#include "chorus/algorithm/choices.h"

namespace chorus::cli {

// How long one call took with one algorithm.
struct TunedTime {
  OpKind op = OpKind::kAllReduce;
  std::int64_t ranks = 2;
  Bytes bytes;                           // V of one rank
  const Algorithm* algorithm = nullptr;  // a member of AllAlgorithms
  double us = 0;

  friend bool operator==(const TunedTime&, const TunedTime&) = default;
};

// One line: "all_reduce 2 4096 direct 3.25"; what the ranks of a measurement hand over.
std::string ToLine(const TunedTime& time);
Result<TunedTime> ParseLine(const std::string& line);

// For each operation, ranks and size the fastest algorithm; the built-in one where another is not
// at least 5 % faster, so that noise decides nothing. Between two sizes with different winners the
// power of two nearest to the middle is where the choice changes; the first holds from 0 B.
Result<Choices> ChooseFastest(const std::vector<TunedTime>& times);

// The text of a file: `head` and what was measured as comments, around the choices.
std::string TuningText(const std::string& head, const Choices& choices,
                       const std::vector<TunedTime>& times);

}  // namespace chorus::cli
