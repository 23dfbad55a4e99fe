// The learning rate over a run: a line up, half a cosine down.
//
//   peak      .-''-.
//            /      '-.
//           /          '-._          final = peak * final_fraction
//          /               ''--
//         0  warmup            end   (position in the run)
//
// Thread safety: pure.
#pragma once

#include <cstdint>

namespace chorus {

struct LearningRate {
  double peak = 1e-3;
  double final_fraction = 0.05;   // of the peak, at the end
  std::int64_t warmup_steps = 0;  // steps until the peak is reached

  // The rate of step `step` (from 1) when the run has come `progress` of its way, in [0, 1]: steps
  // done by steps in all, or seconds by seconds when the run has a time instead.
  double At(std::int64_t step, double progress) const;
};

}  // namespace chorus
