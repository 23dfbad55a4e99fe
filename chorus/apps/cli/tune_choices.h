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

// Algorithms of `op` that have a schedule for n ranks; empty if there is nothing to choose.
std::vector<const Algorithm*> Candidates(OpKind op, int n);

// One line: "all_reduce 2 4096 direct 3.25"; what the ranks of a measurement hand over.
std::string ToLine(const TunedTime& time);
Result<TunedTime> ParseLine(const std::string& line);

// For each operation, ranks and size the fastest algorithm; the built-in one where another is not
// at least 5 % faster, so that noise decides nothing. Between two sizes with different winners the
// power of two nearest to the middle is where the choice changes; the first holds from 0 B. Where
// the times of an operation end before `largest`, the built-in rule goes on.
Result<Choices> ChooseFastest(const std::vector<TunedTime>& times, Bytes largest);

// What was not measured up to `largest` for those numbers of ranks, a line each: "all_reduce on 2
// ranks: to 64 B", "broadcast on 2 ranks: not at all". Empty if all was.
std::vector<std::string> Unmeasured(const std::vector<TunedTime>& times,
                                    const std::vector<int>& ranks, Bytes largest);

// The text of a file: `head` and what was measured as comments, around the choices.
std::string TuningText(const std::string& head, const Choices& choices,
                       const std::vector<TunedTime>& times);

}  // namespace chorus::cli
