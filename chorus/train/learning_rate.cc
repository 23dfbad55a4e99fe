#include "chorus/train/learning_rate.h"

#include <algorithm>
#include <cmath>

namespace chorus {

double LearningRate::At(std::int64_t step, double progress) const {
  if (step < warmup_steps) {
    return peak * static_cast<double>(step) / static_cast<double>(warmup_steps);
  }
  constexpr double kPi = 3.14159265358979323846;
  const double wave = 0.5 * (1.0 + std::cos(kPi * std::clamp(progress, 0.0, 1.0)));
  return peak * (final_fraction + (1.0 - final_fraction) * wave);
}

}  // namespace chorus
