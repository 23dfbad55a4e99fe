// Batches: which windows of the text a step trains on.
//
// Global sample s of step t starts at a place that is a function of (seed, t, s) and of nothing
// else, so a layout can neither change a batch nor make two ranks train on the same sample.
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/train/text.h"

namespace chorus {

// Windows and what follows each: sample b has tokens [b W, (b+1) W) of `tokens`, and targets[b].
struct Batch {
  std::vector<std::int32_t> tokens;   // (B, W)
  std::vector<std::int32_t> targets;  // (B)

  friend bool operator==(const Batch&, const Batch&) = default;
};

// Samples [begin, begin + count) of step `step`, out of the training part.
Batch TrainingBatch(const Text& text, std::int64_t window, std::uint64_t seed, std::int64_t step,
                    std::int64_t begin, std::int64_t count);

// Samples [begin, begin + count) of `total` spread evenly over the held-out part: always the same
// ones, so that losses of different steps and runs compare. REQUIRES: begin + count <= total.
Batch HeldOutBatch(const Text& text, std::int64_t window, std::int64_t total, std::int64_t begin,
                   std::int64_t count);

}  // namespace chorus
