// Fitting: of measurements of one operation, the three numbers of
//
//   t(n) = latency + saturation sqrt(n) + n / algorithm bandwidth,   none below 0
//
// The middle term is what sizes between the two regimes lose: links that are not yet full,
// protocols that change. What is made small is the mean of |ln(predicted / measured)|, so that a
// microsecond counts at 1 KiB and not at 1 GiB. Thread safety: pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/cost/calibrate/measurement.h"
#include "chorus/topology/machine.h"

namespace chorus {

// exp(mean |ln(predicted / measured)|) - 1: 0.1 says that predictions are 10 % off. 0 for none.
double GeometricError(const FittedCurve& curve, const std::vector<Measurement>& measurements);

// One curve, of the median at each size; its error is that of all measurements, so that what
// contradicts itself is far off. Its intervals reach as far to both sides as the middle 95 % of 200
// resamplings by a fixed seed, wider where few sizes tell how much times scatter (Student's t), and
// unknown if there are no more sizes than numbers (kCurveNumbers): a curve goes through all of
// those, right or wrong. A resampling draws sweeps, since what disturbs or misplaces one size may
// do so to all of its sweep (the k-th measurement of each size in one log is of its k-th sweep),
// and puts each time as far off the curve as times lie off it. That is 1 % at least, surer than
// which no time is: what the sizes do not determine has a wide interval however exact the log.
// REQUIRES: measurements of one operation, ranks and nodes, at least one.
inline constexpr std::int64_t kCurveNumbers = 3;
FittedCurve FitCurve(const std::vector<Measurement>& measurements);

struct Fits {
  std::vector<FittedCurve> curves;
  std::vector<std::string> too_few;  // a sentence for each group that is not fitted
};
// A curve for every (operation, ranks, nodes) of kCurveNumbers sizes or more. Where more than that
// many are left to fit, every other size is held out, smallest first, and the error on those is
// told apart. Errors: no measurement, or too few for any curve.
Result<Fits> FitAll(std::vector<Measurement> measurements);

}  // namespace chorus
