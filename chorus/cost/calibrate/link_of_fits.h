// The link of a machine, from what collectives took on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/cost/calibrate/explanation.h"
#include "chorus/cost/calibrate/measurement.h"
#include "chorus/topology/machine.h"

namespace chorus {

// A link, and the measured curve and the algorithms that it was worked out of.
struct LinkOfFits {
  std::string like;  // the machine whose data sheet it was compared with
  std::string op;
  std::int64_t ranks = 0;
  // The best first, whose link it is; at least one.
  std::vector<Explanation> explanations;

  LinkSpec Link() const;
  // The figures of that link, in intervals that hold those of all explanations, and the data
  // sheet's where the link beats it.
  Measured Latency() const;    // s
  Measured Bandwidth() const;  // B/s
  // False if another explanation has another figure, or the sizes leave it open by more than a
  // factor 1.5; also if the interval is unknown or the link beats its data sheet, by a bandwidth of
  // more than 1.1 times or less than half the latency: then it is likelier another machine's.
  bool LatencyDetermined() const;
  bool BandwidthDetermined() const;
  // "370 GB/s per direction (365 GB/s .. 374 GB/s) and 0.9 us (0.9 us .. 0.91 us), with which ring
  // takes what all_gather over 8 ranks took"; and where the log does not determine a figure, a line
  // more that says so and what else it could be: "WARNING: NOT determined: the bandwidth is 1.13 x
  // the data sheet of h100-8; is --like right?"
  std::string ToString() const;
};

// The link with which the formulas of `like` give the measured latency and bandwidth again. A log
// that does not say which algorithm ran has several explanations (ExplanationsOf); of several
// operations that one is taken whose explanations agree best on the bandwidth. `measurements` are
// those of the curves, for the algorithms that they name. Errors: kNotFound if no all_gather,
// reduce_scatter or all_reduce of several ranks was measured, or nodes stand between them, so that
// links and ports cannot be told apart. Thread safety: pure.
Result<LinkOfFits> FindLinkOfFits(const Machine& like, const std::vector<FittedCurve>& fits,
                                  const std::vector<Measurement>& measurements);

}  // namespace chorus
