// The link of a machine, from what collectives took on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/topology/machine.h"

namespace chorus {

// A link, and the measured curve and the algorithm that it was worked out of.
struct LinkOfFits {
  LinkSpec link;
  std::string op;
  std::int64_t ranks = 0;
  std::string algorithm;
  // "370 GB/s per direction and 0.9 us, with which ring takes what all_gather over 8 ranks took".
  std::string ToString() const;
};

// The link with which the formulas of `like` give the measured latency and bandwidth again. A log
// does not say which algorithm ran, and on a mesh, a torus or a switch that reduces they use one
// link or many. So a ring is compared with what is fastest there: where the two agree it does not
// matter, and such an operation is preferred; else that one is believed whose link is nearest to
// `like`'s own. Errors: kNotFound if no all_gather, reduce_scatter or all_reduce of several ranks
// was measured, or nodes stand between them, so that links and ports cannot be told apart.
// Thread safety: pure.
Result<LinkOfFits> FindLinkOfFits(const Machine& like, const std::vector<FittedCurve>& fits);

}  // namespace chorus
