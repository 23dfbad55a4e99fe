// Tables of a schedule for people: who sends which block to whom, round by round.
#pragma once

#include <cstdint>
#include <string>

#include "chorus/schedule/expansion.h"

namespace chorus::cli {

// All ranks: one column a rank, one row a round; a list of messages where columns would not fit
// into `width` characters. Errors: as Rounds (schedule/rounds.h).
Result<std::string> MessageTable(const Expansion& expansion, std::size_t width);

// One rank: every step with what it waits for.
std::string StepTable(const std::vector<Step>& steps);

// "1 element, 2 accumulator blocks": what one rank sends in one tile.
std::string SentSummary(const std::vector<Step>& steps);

}  // namespace chorus::cli
