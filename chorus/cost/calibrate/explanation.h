// Explanations: which algorithm on which link would have taken the time that was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/topology/machine.h"

namespace chorus {

// An algorithm, and the link on which it takes what was measured.
struct Explanation {
  std::string algorithm;  // "ring"; "one_shot, then direct" of a log that changes between sizes
  Measured latency;       // s
  Measured bandwidth;     // B/s
  // How far the link is from what the machine's data sheet lets one expect, and the algorithm from
  // the one that moves least: 1 less is e times more plausible.
  double surprise = 0;
  // True where the curve leaves the figure open and the data sheet's stands for it.
  bool latency_of_sheet = false;
  bool bandwidth_of_sheet = false;
  // To the data sheet's figure: that of the link, or of what the curve allows nearest to it where
  // the data sheet's stands. 1 where there is no data sheet's, but an assumed one.
  double latency_ratio = 1;
  double bandwidth_ratio = 1;
};

// Explanations that are e^3 = 20 times less plausible than the best are not told.
inline constexpr double kMostSurprise = 3;

// The algorithms of a log that names them: what the smallest and the largest size ran. Empty where
// the log does not say.
struct NamedAlgorithms {
  std::string smallest;
  std::string largest;
};

// The plausible explanations of a curve, the best first; none if the machine's formulas do not know
// the operation.
//
// A link falls short of its data sheet easily and hardly ever beats it: at half the bandwidth the
// surprise is 1, at one and a half times 3; at half the latency 1, at ten times 1. A bandwidth that
// is no data sheet's but assumed, or given by a machine file, is surpassed as easily as missed. An
// algorithm that moves twice as much as another one could has 1 more. What the curve leaves open
// surprises nobody: of an interval the figure counts that is nearest to the data sheet's, and where
// that lies within an interval of more than a factor 2 it is the value, as it is of a bandwidth of
// which only the least is known. Of a log that names its
// algorithms only those are asked. On a torus, where most algorithms have no formula, one of those
// on the data sheet's link is an explanation too, if the best of the others needs a link of less
// than two thirds of it. REQUIRES: 2 <= fit.ranks <= the machine's devices. Thread safety: pure.
std::vector<Explanation> ExplanationsOf(const Machine& like, const FittedCurve& fit,
                                        const NamedAlgorithms& named);

}  // namespace chorus
