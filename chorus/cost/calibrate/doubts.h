// Doubts: what in measurements says that a curve through them is not to be relied on.
#pragma once

#include <string>
#include <vector>

#include "chorus/cost/calibrate/measurement.h"
#include "chorus/topology/machine.h"

namespace chorus {

// Times that part by more than this factor were not made by one machine in one state.
inline constexpr double kDoubtfulFactor = 1.5;
// Times fall by less where a library changes its algorithm, rates where a cache ends.
inline constexpr double kDoubtfulFall = 2;

// A sentence for each doubt:
//
//   logs that contradict each other   at the middle one of the sizes that two logs share their
//                                     times part by more than kDoubtfulFactor; of several such logs
//                                     the two that part most are named, with one size
//   a curve that is far off           by more than kDoubtfulFactor on what was fitted or held out,
//                                     where no logs that contradict each other say why
//   times that fall                   more bytes took less, by more than kDoubtfulFall
//   rates that fall                   more bytes went slower, by more than kDoubtfulFall, although
//   a
//                                     curve has one bandwidth for all that is large
//
// Thread safety: pure.
std::vector<std::string> DoubtsOf(const std::vector<Measurement>& measurements,
                                  const std::vector<FittedCurve>& curves);

// A sentence for each curve on which `check`, another measurement of the machine, contradicts the
// measurements of the curve, as logs contradict each other: then it is not the curve that is wrong
// but the machine that was in another state. Thread safety: pure.
std::vector<std::string> ChangesOf(const std::vector<Measurement>& measurements,
                                   const std::vector<Measurement>& check,
                                   const std::vector<FittedCurve>& curves);

// True if no size was measured twice: intervals cannot know how much times scatter.
bool MeasuredOnce(const std::vector<Measurement>& measurements);

}  // namespace chorus
